# SPDX-License-Identifier: Apache-2.0
"""004-F8: the downstream is never used to more than 65%."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Made, Published
from docsis_experiments.reproduction.row import Row
from docsis_experiments.reproduction.settings.p004_drawn import against_modems
from docsis_experiments.reproduction.settings.p004_outcomes import utilisation
from docsis_experiments.reproduction.settings.p004_points import largest, points
from docsis_experiments.reproduction.settings.p004_readings import TCP
from docsis_experiments.reproduction.settings.p004_rows import Measuring, row


def _measure(made: Measuring) -> None:
    made.part("largest", points(made.level), largest(utilisation))


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 8."""
    if "004-F8" in made:
        yield against_modems(
            "004-8",
            "Downstream channel utilization",
            Axis("Utilisation of the downstream (%)", low=0),
            made["004-F8"],
            utilisation,
            Published("published, less than 65%", high=65),
            ("004-F8",),
        )


ROWS: Final[tuple[Row, ...]] = (row("004-F8", TCP, points, _measure),)
