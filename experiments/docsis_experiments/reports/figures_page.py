# SPDX-License-Identifier: Apache-2.0
"""The report of the figures that are made of the pipeline in virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from docsis_experiments.reports.page import Figure, Page

RUN_LENGTHS: Final = Figure(
    "run-lengths.png",
    "Run lengths (000, figures 7 and 9)",
    "Two histograms of the number of frames from one drop to the next: falling from 1 for PIE, "
    "between 85 and 850 for DOCSIS-PIE.",
    "Without de-randomisation drops may follow each other at once or stay away for long; with it "
    "they are 0.85 / p to 8.5 / p frames apart.",
)
THOUSAND: Final = Figure(
    "drops-in-1000.png",
    "Drops in a thousand frames (000, figures 8 and 10)",
    "Histograms of the number of drops in 1000 frames, wide for PIE, narrow for DOCSIS-PIE.",
    "The same p = 0.01 in both; DOCSIS-PIE's effective probability is 0.541 of it.",
)
EFFECTIVE: Final = Figure(
    "effective-probability.png",
    "Effective drop probability (000, figure 16)",
    "Actual against calculated drop probability on logarithmic axes, with steps above 0.1.",
    "Below 0.1 a line at 0.541 p; above steps, as the shortest run is a whole number of frames, "
    "and none between 0.46 and 0.85.",
)
COLLISIONS: Final = Figure(
    "collisions.png",
    "Sessions in one sub-queue (001, figures 8 and 9)",
    "Probability of a collision against the number of sessions for three ways to assign them.",
    "A trial has a collision when at least two of its sessions share a sub-queue while all have "
    "frames queued.",
)


def _sentence(checks: Sequence[Mapping[str, Any]]) -> str:
    """Which of the values are within their bounds."""
    failed = [check for check in checks if not check["passed"]]
    if not failed:
        return f"All {len(checks)} values are within their bounds."
    which = "; ".join(f"{check['figure']}, {check['what']}" for check in failed)
    return f"Of {len(checks)} values, {len(failed)} are not within their bounds: {which}."


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": "Figures of the papers, made of the pipeline",
        "subtitle": f"{details['started']}, {summary['frames']:,} frames and "
        f"{summary['trials']:,} trials in virtual time, seed {summary['seed']}",
        "opening": [_sentence(summary["checks"])],
        "bad_news": not all(check["passed"] for check in summary["checks"]),
    }


PAGE: Final = Page(
    "figures.html.j2", (RUN_LENGTHS, THOUSAND, EFFECTIVE, COLLISIONS), _values, has_topology=False
)
