# SPDX-License-Identifier: Apache-2.0
"""Rows, figures and whole pages of toy rows, as results.json has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from docsis_experiments.reproduction.circumstances import Circumstances
from docsis_experiments.reproduction.document import counts, row
from docsis_experiments.reproduction.evaluation import Evaluated
from docsis_experiments.reproduction.figure import Axis, Figure, Line, Panel, Published
from docsis_experiments.reproduction.figure_data import as_data
from docsis_experiments.reproduction.judging import judged
from docsis_experiments.reproduction.row import Asked, Level, Measured, Row, Seeds
from toy_rows.made import catalogue

Data = dict[str, Any]

MADE = Circumstances("2026-11-23T12:00:00+00:00", "0123456789", "a machine", {"code": "ab"})


def evaluated(
    row: Row, level: Level, parts: Mapping[str, Measured], problem: str = "", reading: int = 1
) -> Evaluated:
    return Evaluated(row, Asked(level, reading, (1, 2, 3)), parts, 6, 4 if problem else 6, problem)


def entry(
    rows: dict[str, Row],
    name: str,
    level: Level = Level.STUDY,
    seconds: Iterable[float] = (75.0, 76.0, 77.0),
    problem: str = "",
    stage: Any = "virtual",
) -> Data:
    """A row of results.json."""
    rule = catalogue()[name]
    numbers = dict(enumerate(seconds, 1))
    parts = {part.name: Seeds(numbers) for part in rule.parts[:1]}
    found = [evaluated(rows[name], level, parts, problem)] if name in rows else []
    done = judged(rule, found, level, stage, why_not="" if name in rows else "nothing measures it")
    return row(done, level, stage, MADE, ())


def content(
    found: list[Data], level: Level = Level.STUDY, stage: str = "virtual", made: Data | None = None
) -> Data:
    """results.json of a sitting, with a figure."""
    made = MADE.as_data() if made is None else made
    return {
        "experiment": "reproduction", "version": 2, "level": level.value, "stage": stage,
        "made": made,
        "cost": {"works": 6, "kept": 2, "made": 4, "failed": 0, "seconds": 8.0,
                 "estimated_seconds": 9.0},
        "counts": counts(found), "rows": found, "since": None,
        "figures": [drawn(figure(), level, made)],
    }  # fmt: skip


def figure(name: str = "000-1") -> Figure:
    nothing = float("nan")
    return Figure(
        name,
        "A <toy> figure",
        (
            Panel(
                "left",
                Axis("Buffer (ms)", logarithmic=True),
                Axis("Latency (ms)", low=0),
                (
                    Line("pie", (10, 20, 50), (1, nothing, 3), (0.5, nothing, 2), (2, nothing, 4)),
                    Line("steps", (10, 20), (1, 2), shape="steps"),
                    Line("bars", (10, 20), (1, 2), shape="bars"),
                    Line("many", tuple(range(1, 100)), (1.0,) * 99, (0.9,) * 99, (1.1,) * 99),
                ),
                (
                    Published("points", (10, 20), (1, 2), joined=True, line="pie"),
                    Published("band", low=1, high=2),
                    Published("open", low=1),
                    Published("level", low=2, high=2),
                ),
            ),
            Panel("right", Axis("x", ticks=((1, "one"),)), Axis("y", True, 0.1, 10), ()),
            Panel("third", Axis("x"), Axis("y"), ()),
        ),
        "As the paper has it.",
        ("000-A1",),
    )


def drawn(figure: Figure, level: Level = Level.STUDY, made: Data | None = None) -> Data:
    """A figure that is drawn of all of its rows."""
    made = MADE.as_data() if made is None else made
    return {
        **as_data(figure),
        "drawn_of": list(figure.rows),
        "lacks": [],
        "level": level.value,
        "made": made,
    }
