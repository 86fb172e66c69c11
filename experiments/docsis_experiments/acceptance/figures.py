# SPDX-License-Identifier: Apache-2.0
"""The comparisons as a document, in the shape of closed-loop.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

import jsonschema

from docsis_experiments.acceptance import equivalence, margins
from docsis_experiments.acceptance.collect import Collected
from docsis_experiments.acceptance.equivalence import Comparison, Sample, Verdict
from docsis_experiments.acceptance.kept import Shelf
from docsis_experiments.measurement.intervals import Interval
from docsis_experiments.reports.document import rounded
from docsis_experiments.stages.virtual.versions import commit
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    file = resources.files("docsis_experiments.acceptance").joinpath("closed-loop.schema.json")
    parsed: dict[str, Any] = json.loads(file.read_text())
    return parsed


def document(cases: Sequence[Collected]) -> dict[str, Any]:
    """All comparisons of these cases, validated.

    Raises:
        TestbedError: A run's files cannot be read.
    """
    compared = [_case(case) for case in cases]
    figures: dict[str, Any] = rounded(
        {
            "test": "closed-loop",
            "commit": commit(ROOT),
            "level": equivalence.LEVEL,
            "least_runs": {"mininet": margins.MININET_RUNS, "virtual": margins.SEEDS},
            "equivalent": all(
                comparison["verdict"] in (Verdict.EQUIVALENT, Verdict.NOT_MEASURED)
                for case in compared
                for comparison in case["comparisons"]
            ),
            "cases": compared,
        }
    )
    try:
        jsonschema.validate(figures, schema())
    except jsonschema.ValidationError as error:
        place = ".".join(str(part) for part in error.absolute_path) or "the top"
        raise TestbedError(f"closed-loop.json: {place}: {error.message}") from None
    return figures


def _case(collected: Collected) -> dict[str, Any]:
    case = collected.case
    shelves = {"mininet": collected.mininet, "virtual": collected.virtual}
    read = {name: _values(collected, shelf) for name, shelf in shelves.items()}
    return {
        "name": case.name,
        "runs": {name: _runs(shelf) for name, shelf in shelves.items()},
        "comparisons": [
            _comparison(
                manager,
                quantity,
                *(
                    [values[manager][quantity.name] for values in read[stage]]
                    for stage in ("mininet", "virtual")
                ),
            )
            for manager in case.managers
            for quantity in margins.QUANTITIES
        ],
    }


def _values(collected: Collected, shelf: Shelf) -> list[dict[str, Any]]:
    case = collected.case
    return [
        {manager: case.values(shelf.path(kept), manager) for manager in case.managers}
        for kept in shelf.runs()
        if kept.counts
    ]


def _runs(shelf: Shelf) -> dict[str, Any]:
    runs = shelf.runs()
    return {
        "counted": [f"{kept.unit}/{kept.folder}" for kept in runs if kept.counts],
        "not_counted": [
            {"run": f"{kept.unit}/{kept.folder}", "why": kept.why}
            for kept in runs
            if not kept.counts
        ],
        "of_other_sources": shelf.others(),
    }


def _comparison(
    manager: str,
    quantity: margins.Quantity,
    mininet: Iterable[float | None],
    virtual: Iterable[float | None],
) -> dict[str, Any]:
    head = {"manager": manager, "quantity": quantity.name}
    samples = [list(mininet), list(virtual)]
    there = [[value for value in sample if value is not None] for sample in samples]
    if any(sample and not values for sample, values in zip(samples, there, strict=True)):
        return {**head, "verdict": Verdict.NOT_MEASURED.value}
    if there != samples:
        return {**head, "verdict": Verdict.VALUES_MISSING.value}
    reference, tested = (Sample(tuple(values)) for values in there)
    mean = reference.mean
    return {
        **head,
        **_figures(
            equivalence.compare(
                reference,
                tested,
                None if mean is None else quantity.margin.of(mean),
                least=(margins.MININET_RUNS, margins.SEEDS),
            )
        ),
    }


def _figures(comparison: Comparison) -> dict[str, Any]:
    return {
        "mininet": _sample(comparison.reference),
        "virtual": _sample(comparison.tested),
        "difference": comparison.difference,
        "interval": _interval(comparison.interval),
        "margin": comparison.margin,
        "verdict": comparison.verdict.value,
    }


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        "values": list(sample.values),
        "mean": sample.mean,
        "interval": _interval(sample.interval),
    }


def _interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
