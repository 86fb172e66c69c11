# SPDX-License-Identifier: Apache-2.0
"""Outcomes of runs that were never made, and a scenario that is played in no time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scenario_files import record, write

from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.runs import unit
from docsis_experiments.runs.outcome import Outcome, of_record

QUICK = (
    ("ramp_up: 2 s", "ramp_up: 500 ms"),
    ("measured: 10 s", "measured: 2 s"),
    ("{name: steady, kind: cbr, rate: 1 Mbps, frame: 500 B, start: 2 s, end: 4 s}",
     "{name: steady, kind: cbr, rate: 1 Mbps, frame: 500 B, start: 1 s, end: 2 s}"),
)  # fmt: skip


def quick(folder: Path, *changes: tuple[str, str]) -> Loaded:
    """The small scenario, 2 s long."""
    return load(write(folder, *QUICK, *changes))


def outcome(
    loaded: Loaded, label: str, delay_ms: float, number: int = 1, **changes: Any
) -> Outcome:
    """That of a run whose packets all have one delay; changes are of its record."""
    return of_record(
        record(label, delay_ms, **changes),
        loaded.scenario,
        unit.quantities_of(loaded.scenario).values(),
        key=f"{number:064x}",
        number=number,
    )
