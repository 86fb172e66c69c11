# SPDX-License-Identifier: Apache-2.0
"""Configured and measured shares of the channel, a panel for each run that loads all of it."""

from __future__ import annotations

from typing import Final

from matplotlib.figure import Figure

from docsis_experiments.measurement.service_flow_shares import MeasuredShares, ServiceFlowShare
from docsis_experiments.reports.plots import bars
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.subjects import Runs


def _loaded(runs: Runs) -> list[tuple[str, MeasuredShares]]:
    return [(record.name, shares) for record in runs.records for shares in record.shares.values()]


def _draw(runs: Runs) -> Figure:
    """Bars of each service flow's configured share, and of what the receiver got beside it."""
    return bars.drawn(
        [
            (
                f"{name}, {shares.plan.channel / 1e6:g} Mbit/s",
                [
                    bars.Pair(_label(flow), flow.load.configured / 1e6, flow.received / 1e6)
                    for flow in shares.flows
                ],
            )
            for name, shares in _loaded(runs)
        ],
        "measured at the receiver",
    )


def _label(share: ServiceFlowShare) -> str:
    flow = share.load.flow
    details = [f"priority {flow.traffic_priority}"]
    if flow.min_reserved_rate:
        details.append(f"min {flow.min_reserved_rate / 1e6:g}")
    if flow.max_sustained_rate:
        details.append(f"max {flow.max_sustained_rate / 1e6:g}")
    return f"{share.name}\n{', '.join(details)}"


PLOT: Final = Plot(
    place=5,
    file="service-flow-shares.png",
    title="Shares of the channel",
    alt="Bars of the configured and the measured rate of each service flow, one panel a run.",
    caption="All service flows of a direction are offered more than their share at once. Above "
    "each pair is how far the rate at the receiver is from the configured one.",
    applies=lambda runs: bool(_loaded(runs)),
    draw=_draw,
)
