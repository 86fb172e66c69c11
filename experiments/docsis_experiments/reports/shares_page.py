# SPDX-License-Identifier: Apache-2.0
"""The report of configured and measured shares."""

from __future__ import annotations

from typing import Any, Final

from docsis_experiments.reports.page import Figure, Page, time_values

SHARES: Final = Figure(
    "shares.png",
    "Shares",
    "Bars of the configured and the measured rate of each service flow, one panel a direction.",
    "All service flows of a direction are offered more than their share at once. Above each pair "
    "is how far the measured rate is from the configured one.",
)


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    traffic = "UDP" if summary["transport"] == "udp" else "TCP"
    return {
        "title": f"Shares of the channel: {summary['topology']}, {traffic}",
        "subtitle": f"{details['started']}, {summary['target']} switch",
        **time_values(
            summary,
            "Direction",
            [(panel["direction"].capitalize(), panel) for panel in summary["directions"]],
        ),
    }


PAGE: Final = Page("shares.html.j2", (SHARES,), _values)
