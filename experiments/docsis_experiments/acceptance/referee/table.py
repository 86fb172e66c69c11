# SPDX-License-Identifier: Apache-2.0
"""The comparisons for the terminal, from the document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rich.table import Table

from docsis_experiments.acceptance.referee.rule import QUANTITIES, Verdict
from docsis_experiments.acceptance.rows import comparison_table

_LABELS: Final = {quantity.name: quantity.label for quantity in QUANTITIES}

_STYLES: Final[Mapping[str, str]] = {
    Verdict.WITHIN: "green",
    Verdict.NOT_SHOWN: "yellow",
    Verdict.OUTSIDE: "bold red",
    Verdict.TOO_FEW_RUNS: "yellow",
    Verdict.TOLD: "dim",
}


def table(document: Mapping[str, Any]) -> Table:
    """A row for each queue manager and quantity."""
    first = document["comparisons"][0]
    counts = [len(first[side]["values"]) for side in ("referee", "virtual")]
    name = document["referee"]["referee"]
    return comparison_table(
        f"{document['case']}: {counts[0]} runs of {name}, {counts[1]} seeds",
        f"medians; below each its {document['confidence']:.0%} bootstrap interval",
        (name, "virtual", "ratio"),
        document["comparisons"],
        labels=_LABELS,
        cells=lambda entry: (
            _cell(entry["referee"], _measured),
            _cell(entry["virtual"], _measured),
            _cell(entry["ratio"], _ratio),
        ),
        styles=_STYLES,
    )


def _cell(estimate: Mapping[str, Any], written: Callable[[float], str]) -> str:
    if estimate["value"] is None:
        return "-"
    interval = estimate["interval"]
    below = "" if interval is None else f"\n[{', '.join(map(written, interval))}]"
    return f"{written(estimate['value'])}{below}"


def _measured(value: float) -> str:
    """Three digits, so that a terminal of 80 characters has room for an interval."""
    # 9.996 is 10.0 and not 10.00.
    written = (f"{value:.{digits}f}" for digits in (2, 1, 0))
    return next((one for one in written if sum(map(str.isdigit, one)) <= 3), f"{value:.0f}")


def _ratio(value: float) -> str:
    return f"{value:.3f}"
