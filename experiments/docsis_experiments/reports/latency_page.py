# SPDX-License-Identifier: Apache-2.0
"""The report of queue managers beside each other."""

from __future__ import annotations

from typing import Any, Final

from docsis_control.queue_managers.names import Preset
from docsis_experiments.measurement import voice
from docsis_experiments.reports.page import Figure, Page, stage_words, time_values
from docsis_experiments.reports.plots import STYLES

LATENCY: Final = Figure(
    "latency-cdf.png",
    "Latency",
    "Cumulative distributions of one-way upstream latency, one line for each queue manager.",
    "Probes are frames of 218 bytes to the end of their CRC, every 20 ms, from the first host to "
    "the first server. "
    "The path's propagation delay is on the way back, so this is what the upstream queue adds.",
)
OVER_TIME: Final = Figure(
    "over-time.png",
    "Over time",
    "Goodput, queue delay and drop probability over time.",
    "All runs laid over each other; zero is the start of the measured time, grey is ramp-up.",
)


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": f"Upstream latency under load: {summary['topology']}, {summary['tier']}",
        "subtitle": f"{details['started']}, {summary['target']} switch{stage_words(summary)}",
        "rows": [
            {
                "run": run,
                "label": STYLES[Preset(run["aqm"])].label,
                "colour": STYLES[Preset(run["aqm"])].colour,
            }
            for run in summary["runs"]
        ],
        "jitter_buffer_ms": voice.JITTER_BUFFER_MS,
        **time_values(
            summary,
            "Queue manager",
            [(STYLES[Preset(run["aqm"])].label, run) for run in summary["runs"]],
        ),
    }


PAGE: Final = Page("latency.html.j2", (LATENCY, OVER_TIME), _values)
