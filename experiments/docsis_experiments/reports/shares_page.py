# SPDX-License-Identifier: Apache-2.0
"""The report of configured and measured shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docsis_experiments.reports.page import Figure, Page, time_values

SHARES: Final = Figure(
    "shares.png",
    "Shares",
    "Bars of the configured and the measured rate of each service flow, one panel a direction.",
    "All service flows of a direction are offered more than their share at once. Above each pair "
    "is how far the measured rate is from the configured one.",
)


def _sentence(summary: Mapping[str, Any]) -> str:
    """Whether every flow had its share, and which was the farthest from it."""
    if summary["passed"] is None:
        return f"There is no verdict: {'; '.join(summary['no_verdict'])}."
    most = f"{summary['tolerance_percent']:g}%"
    start = "All" if summary["passed"] else "Not all"
    off = [
        (flow[f"{counted}_off_percent"], direction["direction"], flow)
        for direction in summary["directions"]
        for flow in direction["flows"]
        for counted in ("received", "forwarded")
    ]
    far, direction, flow = max(off, key=lambda one: abs(one[0]))
    return (
        f"{start} are within {most} of their configured share; farthest from it is {direction} "
        f"service flow {flow['service_flow_reference']} of {flow['modem']}, by {far:+.2f}%."
    )


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    traffic = "UDP" if summary["transport"] == "udp" else "TCP"
    return {
        "title": f"Shares of the channel: {summary['topology']}, {traffic}",
        "subtitle": f"{details['started']}, {summary['target']} switch",
        "opening": [_sentence(summary)],
        "bad_news": summary["passed"] is False,
        **time_values(
            summary,
            "Direction",
            [(panel["direction"].capitalize(), panel) for panel in summary["directions"]],
        ),
    }


PAGE: Final = Page("shares.html.j2", (SHARES,), _values)
