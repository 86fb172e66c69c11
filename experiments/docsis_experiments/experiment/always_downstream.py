# SPDX-License-Identifier: Apache-2.0
"""The parts of a plan that go downstream whatever its direction is. Pure."""

from __future__ import annotations

from typing import Final

from docsis_experiments.experiment.plan import Plan

PARTS: Final = ("users", "videos", "askers")
"""Attributes of a plan, and keys of it in details.json: what becomes of groups of which
`Group.always_downstream` says so."""


def always_downstream(plan: Plan) -> frozenset[str]:
    """The groups of a plan that go downstream whatever its direction is."""
    return frozenset(one.group for part in PARTS for one in getattr(plan, part))
