# SPDX-License-Identifier: Apache-2.0
"""The comparisons as a document, in the shape of referee.schema.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema

from docsis_experiments.acceptance.kept import Shelf
from docsis_experiments.acceptance.referee import comparison, data, rule
from docsis_experiments.acceptance.values import document as read
from docsis_experiments.measurement.intervals import Interval
from docsis_experiments.reports.document import rounded
from docsis_experiments.stages.virtual.versions import commit
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT


def document(results: data.Results, shelf: Shelf, case: str) -> dict[str, Any]:
    """All comparisons, validated.

    Args:
        results: The referee's.
        shelf: Our runs.
        case: What both played.

    Raises:
        TestbedError: A run's files cannot be read.
    """
    kept = [run for run in shelf.runs() if run.counts]
    ours = [_values(shelf.path(run)) for run in kept]
    comparisons = [
        _comparison(results, ours, manager, quantity)
        for manager in results.runs
        for quantity in rule.QUANTITIES
    ]
    figures: dict[str, Any] = rounded(
        {
            "test": "referee",
            "commit": commit(ROOT),
            "case": case,
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


def _values(folder: Path) -> dict[str, dict[str, float]]:
    """By queue manager, the quantities of a run of the demo."""
    found = {}
    for run in read(folder, "summary.json")["runs"]:
        upstream = run["upstream"]
        latency, induced = upstream["latency_ms"], upstream["induced_latency_ms"]
        found[run["aqm"]] = {
            "goodput_mbps": upstream["goodput_mbps"],
            **{f"{name}_ms": latency[name] for name in ("p50", "p90", "p99")},
            "induced_p50_ms": induced["p50"],
            "idle_p50_ms": latency["p50"] - induced["p50"],
        }
    return found


def _comparison(
    results: data.Results,
    ours: list[dict[str, dict[str, float]]],
    manager: str,
    quantity: rule.Quantity,
) -> dict[str, Any]:
    theirs = results.values(manager, quantity.name)
    values = [run[manager][quantity.name] for run in ours]
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
