# SPDX-License-Identifier: Apache-2.0
"""summary.json of a sweep, in the shape of sweep.schema.json."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from docsis_experiments.measurement.intervals import Estimate, estimate
from docsis_experiments.measurement.metric import UNLIMITED, Limits
from docsis_experiments.measurement.metrics import limits_of
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.reports import document
from docsis_experiments.reports.columns import MAIN, OTHERS, columns
from docsis_experiments.reports.document import finite
from docsis_experiments.reports.plots.subjects import shown_groups
from docsis_experiments.sweeps.axes import AXES
from docsis_experiments.sweeps.expand import Point
from docsis_experiments.sweeps.loader import LoadedSweep
from docsis_experiments.sweeps.table import Cell

VERSION: Final = 1
"""Version of the summary's shape."""

VALUES: Final = tuple(column.value for column in columns(MAIN))
"""Values that are shown of each group, as far as it has them; the table has all of them."""

OTHER_VALUES: Final = (*VALUES, *(column.value for column in columns(OTHERS)))
"""Values that are shown of groups without latency, such as web users."""


def summarise(
    loaded: LoadedSweep,
    cells: Sequence[Cell],
    failures: Sequence[str],
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """The whole of summary.json, validated.

    Args:
        loaded: The sweep.
        cells: Its runs, all of one point in the order of the seeds.
        failures: Runs that have no result, in words.
        versions: Version by program.
    """
    sweep, start = loaded.sweep, loaded.points[0].condition
    by_point: dict[int, list[Cell]] = {id(point): [] for point in loaded.points}
    for cell in cells:
        by_point[id(cell.point)].append(cell)
    figures: dict[str, Any] = document.rounded(
        {
            "experiment": "sweep",
            "version": VERSION,
            "name": sweep.name,
            "title": sweep.title,
            "base": loaded.base.scenario.name,
            "topology": loaded.base.topology.name,
            "direction": start.scenario.direction,
            "ramp_up_seconds": start.scenario.ramp_up_seconds,
            "measured_seconds": start.scenario.measured / 1e9,
            "stage": "virtual",
            "seeds": list(sweep.seeds),
            "axes": {
                name: {"column": axis.column, "title": axis.title}
                for name, axis in AXES.items()
                if name in loaded.points[0].numbers
            },
            "groups": [group.name for group in start.scenario.traffic],
            "shown": shown_groups(start.scenario),
            "runs": loaded.runs,
            "failed": list(failures),
            "versions": dict(versions),
            "points": [_point(point, by_point[id(point)]) for point in loaded.points],
        }
    )
    document.validate(figures)
    return figures


def _point(point: Point, cells: Sequence[Cell]) -> dict[str, Any]:
    scenario = point.condition.scenario
    groups = {}
    for group in scenario.traffic:
        of_group = [cell.outcome.groups[group.name].values for cell in cells]
        groups[group.name] = {
            name: estimated([values[name] for values in of_group], limits_of(name))
            for name in (VALUES if Trace.PACKETS in group.leaves() else OTHER_VALUES)
            if of_group and name in of_group[0]
        }
    along = [
        group.name
        for group in scenario.traffic
        if Trace.GOODPUT in group.leaves()
        and (scenario.direction == "downstream" or not group.always_downstream())
    ]
    total = [
        sum(cell.outcome.groups[name].values["goodput"] for name in along)
        for cell in cells
        if along
    ]
    return {
        "manager": point.manager,
        "written": dict(point.written),
        "numbers": dict(point.numbers),
        "seeds": [cell.seed for cell in cells],
        "keys": [cell.outcome.key for cell in cells],
        "digests": [cell.outcome.digest for cell in cells],
        "goodput": estimated(total, limits_of("goodput")),
        "groups": groups,
    }


def estimated(values: Iterable[float], limits: Limits = UNLIMITED) -> dict[str, Any]:
    """The median of one value of each run, with its interval; runs without one have no part."""
    return estimate_figures(estimate([value for value in values if not math.isnan(value)], limits))


def estimate_figures(one: Estimate) -> dict[str, Any]:
    """An estimate for JSON."""
    interval = one.interval
    return {
        "runs": one.runs,
        "median": finite(one.median),
        "low": None if interval is None else finite(interval.low),
        "high": None if interval is None else finite(interval.high),
        "method": one.method,
        "why": one.why,
    }
