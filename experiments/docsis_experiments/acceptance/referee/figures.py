# SPDX-License-Identifier: Apache-2.0
"""The comparisons as a document, in the shape of referee.schema.json."""

from __future__ import annotations

from typing import Any

import jsonschema

from docsis_experiments.acceptance.cases import Case
from docsis_experiments.acceptance.kept import Shelf
from docsis_experiments.acceptance.referee import comparison, data, rule
from docsis_experiments.acceptance.values import Values
from docsis_experiments.measurement.intervals import Interval
from docsis_experiments.reports.document import rounded
from docsis_experiments.stages.virtual.versions import commit
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT


def document(results: data.Results, shelf: Shelf, case: Case) -> dict[str, Any]:
    """All comparisons, validated.

    Args:
        results: The referee's.
        shelf: Our runs.
        case: What both played.

    Raises:
        TestbedError: A run's files cannot be read.
    """
    kept = [run for run in shelf.runs() if run.counts]
    ours = [
        {manager: case.values(shelf.path(run), manager) for manager in results.runs} for run in kept
    ]
    comparisons = [
        _comparison(results, ours, manager, quantity)
        for manager in results.runs
        for quantity in rule.QUANTITIES
    ]
    figures: dict[str, Any] = rounded(
        {
            "test": "referee",
            "commit": commit(ROOT),
            "case": case.name,
            "referee": results.about,
            "margin": rule.MARGIN,
            "confidence": rule.CONFIDENCE,
            "least_runs": rule.RUNS,
            "within": all(
                comparison["verdict"] in (rule.Verdict.WITHIN, rule.Verdict.TOLD)
                for comparison in comparisons
            ),
            "runs": [f"{run.unit}/{run.folder}" for run in kept],
            "comparisons": comparisons,
        }
    )
    try:
        jsonschema.validate(figures, data.schema("referee"))
    except jsonschema.ValidationError as error:
        place = ".".join(str(part) for part in error.absolute_path) or "the top"
        raise TestbedError(f"referee.json: {place}: {error.message}") from None
    return figures


def _comparison(
    results: data.Results,
    ours: list[dict[str, Values]],
    manager: str,
    quantity: rule.Quantity,
) -> dict[str, Any]:
    theirs = results.values(manager, quantity.name)
    found = [run[manager][quantity.name] for run in ours]
    values = [value for value in found if value is not None]
    if 0 < len(values) < len(found):
        # Left out, a run in which nothing arrived would improve what is compared.
        raise TestbedError(
            f"{manager}: {len(found) - len(values)} of {len(found)} runs have no value of "
            f"{quantity.name}, so nothing can be said of it; look at their reports"
        )
    ratio = comparison.compare(theirs, values, judged=quantity.judged)
    return {
        "manager": manager,
        "quantity": quantity.name,
        "referee": {
            "values": theirs,
            "value": ratio.referee,
            "interval": _interval(ratio.referee_interval),
        },
        "virtual": {
            "values": values,
            "value": ratio.ours,
            "interval": _interval(ratio.ours_interval),
        },
        "ratio": {"value": ratio.value, "interval": _interval(ratio.interval)},
        "verdict": ratio.verdict.value,
    }


def _interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
