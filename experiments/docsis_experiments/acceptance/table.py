# SPDX-License-Identifier: Apache-2.0
"""The comparisons for the terminal, from the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.table import Table

from docsis_experiments.acceptance.equivalence import Verdict
from docsis_experiments.acceptance.margins import BY_NAME
from docsis_experiments.acceptance.rows import comparison_table

_HEADINGS: Final = ("Mininet", "virtual", "difference", "margin")

_STYLES: Final[Mapping[str, str]] = {
    Verdict.EQUIVALENT: "green",
    Verdict.NOT_SHOWN: "yellow",
    Verdict.DIFFERENT: "bold red",
    Verdict.TOO_FEW_RUNS: "yellow",
    Verdict.NOT_MEASURED: "dim",
    Verdict.VALUES_MISSING: "bold red",
}


_WITHOUT_FIGURES: Final[Mapping[str, str]] = {
    Verdict.NOT_MEASURED: "not measured, as no run of a stage has a value",
    Verdict.VALUES_MISSING: "fails, as some runs of a stage have no value",
}


def table(case: Mapping[str, Any]) -> Table:
    """One case: a row for each queue manager and quantity."""
    counted = {stage: len(runs["counted"]) for stage, runs in case["runs"].items()}
    return comparison_table(
        f"{case['name']}: {counted['mininet']} runs on Mininet, {counted['virtual']} seeds",
        "below a mean its 95% interval, below a difference its 90% interval",
        _HEADINGS,
        case["comparisons"],
        labels={name: quantity.label for name, quantity in BY_NAME.items()},
        cells=_cells,
        styles=_STYLES,
    )


def _cells(entry: Mapping[str, Any]) -> Sequence[str]:
    if entry["verdict"] in _WITHOUT_FIGURES:
        return ["-"] * len(_HEADINGS)
    return (
        _mean(entry["mininet"]),
        _mean(entry["virtual"]),
        _difference(entry["difference"], entry["interval"]),
        _number(entry["margin"]),
    )


def notes(case: Mapping[str, Any]) -> Iterator[str]:
    """Yields sentences about what a table does not show."""
    name = case["name"]
    for stage, runs in (("Mininet", case["runs"]["mininet"]), ("virtual", case["runs"]["virtual"])):
        if out := runs["not_counted"]:
            last = out[-1]
            yield (
                f"{name}, {stage}: {len(out)} runs do not count, the last, {last['run']}, because "
                f"of {last['why']}."
            )
        if others := runs["of_other_sources"]:
            yield (
                f"{name}, {stage}: {others} runs are of another commit, other inputs or another "
                "build, and are not compared."
            )
    for verdict, words in _WITHOUT_FIGURES.items():
        absent = {e["quantity"] for e in case["comparisons"] if e["verdict"] == verdict}
        for quantity in BY_NAME.values():
            if quantity.name in absent:
                yield f"{name}: {words}: {quantity.label}."


def _mean(sample: Mapping[str, Any]) -> str:
    if sample["interval"] is None:
        return _number(sample["mean"])
    low, high = sample["interval"]
    return f"{_number(sample['mean'])}\n±{(high - low) / 2:.2g}"


def _difference(value: float | None, interval: Sequence[float] | None) -> str:
    if value is None or interval is None:
        return _number(value)
    return f"{value:.3g}\n[{interval[0]:.3g}, {interval[1]:.3g}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
