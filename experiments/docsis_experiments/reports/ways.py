# SPDX-License-Identifier: Apache-2.0
"""Tells from a summary in which direction groups of the traffic go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def direction_of(summary: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """The direction of a run: its own, or else that of all."""
    return str(run.get("direction", summary["direction"]))


def other_way(summary: Mapping[str, Any], run: Mapping[str, Any]) -> frozenset[str]:
    """Groups that go against a run's direction, so that their goodput is not its queue's.

    Older summaries do not tell them.
    """
    if direction_of(summary, run) == "downstream":
        return frozenset()
    return frozenset(summary.get("always_downstream", ()))


def told_way(summary: Mapping[str, Any]) -> str:
    """The words after "goodput" that say which traffic it counts; "" where it counts all."""
    if not any(other_way(summary, run) for run in summary["runs"]):
        return ""
    upstream = all(direction_of(summary, run) == "upstream" for run in summary["runs"])
    return " upstream" if upstream else " in the run's direction"
