# SPDX-License-Identifier: Apache-2.0
"""The curves of 002's figures: a number against the number of downloads, one a manager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal

from docsis_experiments.reproduction.figure import Axis, Line, Made, over_seeds
from docsis_experiments.reproduction.settings.p002_levels import FLOWS
from docsis_experiments.reproduction.settings.p002_units import Setting
from docsis_experiments.runs.outcome import Outcome

FLOWS_AXIS: Final = Axis("Downloads", low=0)

CALLED: Final[Mapping[str, str]] = {
    "drop-tail": "Drop tail",
    "adaptive-red": "Adaptive RED",
    "codel": "CoDel",
    "pie": "PIE",
    "drr": "DRR",
}
"""What legends call the managers of the rows."""

_PRESET_OF: Final = {"codel": "codel-002", "pie": "pie-002"}


def preset(manager: str) -> str:
    """The preset whose colour a manager has."""
    return _PRESET_OF.get(manager, manager)


def against_flows(
    manager: str,
    made: Made,
    point: Callable[[int], Setting],
    value: Callable[[Outcome, Setting], float],
    shape: Literal["line", "points"] = "line",
) -> Line:
    """A manager's line over the numbers of downloads that were run."""
    found = [(n, point(n), made.results.runs(point(n).work)) for n in FLOWS]
    line = over_seeds(
        CALLED[manager],
        [
            (float(n), {seed: value(one, setting) for seed, one in runs.items()})
            for n, setting, runs in found
            if runs
        ],
        preset=preset(manager),
    )
    return replace(line, shape=shape)
