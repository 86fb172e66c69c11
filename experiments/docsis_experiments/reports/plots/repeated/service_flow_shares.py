# SPDX-License-Identifier: Apache-2.0
"""Configured shares of the channel, and medians over runs of the measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.figure import Figure

from docsis_experiments.reports.plots import bars
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.subjects import Repeated


def _loaded(repeated: Repeated) -> list[tuple[str, Sequence[Mapping[str, Any]]]]:
    return [
        (run["name"], group["service_flows"])
        for run in repeated.summary["runs"]
        for group in run["groups"].values()
        if group.get("service_flows")
    ]


def _draw(repeated: Repeated) -> Figure:
    """Bars of each service flow's configured share, and of the median that the receiver got."""
    return bars.drawn(
        [
            (
                name,
                [
                    bars.Pair(
                        flow["name"],
                        flow["configured_mbps"],
                        flow["received_mbps"]["median"],
                        _ends(flow["received_mbps"]["interval"]),
                    )
                    for flow in flows
                ],
            )
            for name, flows in _loaded(repeated)
        ],
        "measured at the receiver, median over runs",
    )


def _ends(interval: Sequence[float] | None) -> tuple[float, float] | None:
    return None if interval is None else (interval[0], interval[1])


PLOT: Final = Plot(
    place=5,
    file="service-flow-shares.png",
    title="Shares of the channel",
    alt="Bars of the configured rate of each service flow and the median of the measured one, one "
    "panel a run.",
    caption="All service flows of a direction are offered more than their share at once. A line at "
    "the top of a bar is the 95% interval of the median, where it is wide enough to be seen.",
    applies=lambda repeated: bool(_loaded(repeated)),
    draw=_draw,
)
