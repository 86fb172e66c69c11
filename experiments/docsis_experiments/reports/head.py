# SPDX-License-Identifier: Apache-2.0
"""The head of summary.json: what was run, and on what; the same of one run and of many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docsis_control.topology.models import Topology
from docsis_experiments.experiment.models import Scenario


def head(
    scenario: Scenario,
    topology: Topology,
    *,
    target: str,
    versions: Mapping[str, str],
    timers: Mapping[str, Any],
    note: str = "",
) -> dict[str, Any]:
    """The part of a summary that follows from what was run.

    Args:
        scenario: What was run, with its ramp-up resolved.
        topology: What was built.
        target: Name of the switch target.
        versions: Version by program.
        timers: The machine's own lateness.
        note: The user's own, or "".
    """
    downstream = [group.name for group in scenario.traffic if group.always_downstream()]
    return {
        "name": scenario.name,
        "title": scenario.title,
        "source": None if scenario.source is None else scenario.source.model_dump(),
        "scale": scenario.scale,
        "target": target,
        "topology": topology.name,
        "tier": topology.services,
        "direction": scenario.direction,
        **({"always_downstream": downstream} if downstream else {}),
        "idle_seconds": scenario.idle / 1e9,
        "ramp_up_seconds": scenario.ramp_up_seconds,
        "measured_seconds": scenario.measured / 1e9,
        "versions": dict(versions),
        "timers": dict(timers),
        **({"note": note} if note else {}),
    }
