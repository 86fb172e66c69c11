# SPDX-License-Identifier: Apache-2.0
"""The parts of a report that an experiment brings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from docsis_experiments.measurement.timing import MOST_P99_MS
from docsis_experiments.stages.mininet import timers


@dataclass(frozen=True)
class Figure:
    """A picture of the report.

    Attributes:
        file: Name in plots/.
        title: Heading.
        alt: What it shows, for those who do not see it.
        caption: How to read it.
    """

    file: str
    title: str
    alt: str
    caption: str

    @property
    def chart_file(self) -> str:
        """Name in plots/ of the same as a chart that a reader can zoom, which may not be there."""
        return f"{self.file.removesuffix('.png')}.json"


def time_values(
    summary: dict[str, Any], what: str, timed: Iterable[tuple[str, dict[str, Any]]]
) -> dict[str, Any]:
    """The values for the page's part about time; of a run before it was measured nothing is shown.

    Args:
        summary: Content of summary.json.
        what: What the labels are of.
        timed: Label and entry of what has a measured time of its own.
    """
    return {
        "timed": what,
        "times": [
            {"label": label, "timing": entry["timing"]}
            for label, entry in timed
            if "timing" in entry
        ],
        "machine": timers.words(summary["timers"]) if "timers" in summary else "",
        "most_p99_ms": MOST_P99_MS,
        "stage_options": stage_options(summary),
    }


def stage_words(summary: dict[str, Any]) -> str:
    """Tells where a run was played, to follow what it was of; "" in real time."""
    return f", virtual time, seed {summary['seed']}" if "seed" in summary else ""


def stage_options(summary: dict[str, Any]) -> str:
    """Options of the command that repeat a run on its stage."""
    return f" --virtual --seed {summary['seed']}" if "seed" in summary else ""


@dataclass(frozen=True)
class Page:
    """The report of an experiment.

    Attributes:
        template: File of the package, which extends page.html.j2.
        values: From summary.json and details.json to what the template needs: title and subtitle
            at least.
        kind: Package of its plots, of which it shows those that were drawn.
        has_topology: Whether the run was one of a topology.
    """

    template: str
    values: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]
    kind: ModuleType
    has_topology: bool = True
