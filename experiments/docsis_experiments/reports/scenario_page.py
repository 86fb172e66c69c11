# SPDX-License-Identifier: Apache-2.0
"""The report of a scenario: published and measured values beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from docsis_experiments.reports import scenario_plots as plots
from docsis_experiments.reports.page import Figure, Page, stage_words, time_values

FIGURES: Final = (
    Figure(
        plots.AGAINST_BUFFER,
        "Against the size of the buffer",
        "Mean latency, goodput and loss of each kind of traffic against the size of the buffer.",
        "Each point is a run of its own. The dotted line is the wait behind a full buffer.",
        optional=True,
    ),
    Figure(
        plots.LATENCY_CDF,
        "Latency",
        "Cumulative distributions of one-way latency, one line for each run.",
        "Propagation that the topology adds in this direction is taken off, so this is what the "
        "queue adds. Of a grid with several queue managers only the largest buffer is shown.",
        optional=True,
    ),
    Figure(
        plots.OVER_TIME,
        "Over time",
        "Latency over time, one line for each run; drop probability and capacity where there are.",
        "Zero is the start of the measured time. Steps of the channel are shaded in turns.",
        optional=True,
    ),
    Figure(
        plots.FLOWS,
        "Goodput of each flow",
        "Goodput of each flow over time, one panel for each run.",
        f"Mean of {plots.GOODPUT_SECONDS:g} s. Flows of a kind have one colour.",
        optional=True,
    ),
)


def number(value: float | None) -> str:
    """A value in few characters."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def band(values: Sequence[float | None]) -> str:
    """A lowest and a highest value in few characters."""
    low, high = values
    if low is not None and high is not None:
        return number(low) if low == high else f"{number(low)} to {number(high)}"
    return f"at least {number(low)}" if high is None else f"at most {number(high)}"


def measured(entry: dict[str, Any]) -> str:
    """The measured value of an entry of `expectations`."""
    return "never" if entry["never"] else number(entry["measured"])


def outcome(entry: dict[str, Any]) -> str:
    """Whether an entry of `expectations` holds, in words."""
    if entry["holds"] is None:
        return "no verdict"
    return "holds" if entry["holds"] else "fails"


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    source = summary["source"]
    places = [f"{name} {source[name]}" for name in ("section", "figure") if source[name]]
    return {
        "title": summary["title"],
        "subtitle": f"{details['started']}, {summary['target']} switch, {summary['topology']}, "
        f"{summary['direction']}{stage_words(summary)}",
        "source": ", ".join([source["paper"], *places]),
        "number": number,
        "band": band,
        "measured": measured,
        "outcome": outcome,
        "held": sum(entry["holds"] is True for entry in summary["expectations"]),
        "faults": [
            f"{run['label']}: {fault}" for run in summary["runs"] for fault in run.get("faults", ())
        ],
        **time_values(summary, "Run", [(run["label"], run) for run in summary["runs"]]),
    }


PAGE: Final = Page("scenario.html.j2", FIGURES, _values)
