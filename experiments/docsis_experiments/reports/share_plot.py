# SPDX-License-Identifier: Apache-2.0
"""The figure of configured and measured shares, from summary.json's content."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.reports.plots import RC

_CONFIGURED: Final = "#8C8C8C"
_MEASURED: Final = "#0072B2"

_LABELLED: Final = 24
"""More service flows than these have no room for words at each."""


def shares(summary: dict[str, Any], path: Path) -> None:
    """Write the bars of every direction, one panel each.

    Args:
        summary: Content of summary.json.
        path: PNG file to write.
    """
    panels = summary["directions"]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(8, 0.6 + 3.1 * len(panels)), layout="constrained")
        for axes, panel in zip(np.atleast_1d(figure.subplots(len(panels), 1)), panels, strict=True):
            _panel(axes, panel)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=2)
        figure.savefig(path)


def _panel(axes: Any, panel: dict[str, Any]) -> None:
    flows = panel["flows"]
    places = np.arange(len(flows))
    configured = [flow["configured_mbps"] for flow in flows]
    measured = [flow["received_mbps"] for flow in flows]
    axes.bar(places - 0.2, configured, 0.38, color=_CONFIGURED, label="configured")
    axes.bar(
        places + 0.2, measured, 0.38, color=_MEASURED, hatch="//", edgecolor="white",
        label="measured at the receiver",
    )  # fmt: skip
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("Mbit/s")
    axes.set_ylim(0, 1.18 * max(*configured, *measured, 1e-9))
    axes.set_title(
        f"{panel['direction'].capitalize()}, a channel of {panel['channel_mbps']:g} Mbit/s"
    )
    if len(flows) > _LABELLED:
        axes.set_xticks([])
        axes.set_xlabel(f"{len(flows)} service flows, in the order of the table")
        return
    axes.set_xticks(places, [_label(flow) for flow in flows])
    for place, flow in zip(places, flows, strict=True):
        axes.annotate(
            f"{flow['received_off_percent']:+.2f}%",
            (place, max(flow["configured_mbps"], flow["received_mbps"])),
            xytext=(0, 3), textcoords="offset points", ha="center", fontsize=9,
        )  # fmt: skip


def _label(flow: dict[str, Any]) -> str:
    name = f"{flow['modem']}, {flow['service_flow_reference']}"
    details = [f"priority {flow['traffic_priority']}"]
    if flow["minimum_reserved_traffic_rate_mbps"]:
        details.append(f"min {flow['minimum_reserved_traffic_rate_mbps']:g}")
    if flow["maximum_sustained_traffic_rate_mbps"]:
        details.append(f"max {flow['maximum_sustained_traffic_rate_mbps']:g}")
    return "\n".join((name, ", ".join(details)))
