# SPDX-License-Identifier: Apache-2.0
"""Configured and measured shares of the channel: in summary.json, in a sentence, in a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from docsis_experiments.measurement.service_flow_shares import MeasuredShares, ServiceFlowShare

Entry = Mapping[str, Any]
"""A part of summary.json."""


def figures(shares: MeasuredShares) -> dict[str, Any]:
    """The entry `shares` of a group that loads all service flows; rates in Mbit/s."""
    return {
        "channel_mbps": shares.plan.channel / 1e6,
        "frame_bytes": shares.plan.frame_bytes,
        "not_loaded": list(shares.plan.left_out),
        "service_flows": [_flow(share) for share in shares.flows],
    }


def _flow(share: ServiceFlowShare) -> dict[str, Any]:
    load, flow = share.load, share.load.flow
    return {
        "modem": flow.modem_name,
        "service_flow_reference": flow.reference,
        "sfid": flow.sfid,
        "primary": flow.primary,
        "transport": load.transport,
        "traffic_priority": flow.traffic_priority,
        "maximum_sustained_traffic_rate_mbps": flow.max_sustained_rate / 1e6,
        "minimum_reserved_traffic_rate_mbps": flow.min_reserved_rate / 1e6,
        "offered_mbps": None if math.isinf(load.offered) else load.offered / 1e6,
        "configured_mbps": load.configured / 1e6,
        "received_mbps": share.received / 1e6,
        "received_off_percent": share.received_off_percent,
        "forwarded_mbps": share.forwarded / 1e6,
        "forwarded_off_percent": share.forwarded_off_percent,
    }


def loaded(summary: Entry) -> Iterator[tuple[Entry, Entry]]:
    """Runs of a single run's summary that loaded all service flows, each with its shares."""
    for run in summary["runs"]:
        for group in run["groups"].values():
            if "shares" in group:
                yield run, group["shares"]


def found(summary: Entry) -> str:
    """Names the service flow farthest from its share, of runs that get a verdict; "" of none."""
    off = [
        (flow[f"{counted}_off_percent"], run["direction"], flow)
        for run, shares in loaded(summary)
        if run["timing"]["judged"] and not run["faults"]
        for flow in shares["service_flows"]
        for counted in ("received", "forwarded")
    ]
    if not off:
        return ""
    far, direction, flow = max(off, key=lambda one: abs(one[0]))
    return (
        f"Of {len(off) // 2} service flows, {direction} service flow "
        f"{flow['service_flow_reference']} of {flow['modem']} is farthest from its configured "
        f"share, by {far:+.2f}%."
    )


def tables(summary: Entry) -> Iterator[Table]:
    """One of each run's shares, for the terminal; rates in Mbit/s."""
    for run, shares in loaded(summary):
        yield _table(run, shares)


def _table(run: Entry, shares: Entry) -> Table:
    words = str(run["timing"]["words"])
    unloaded = shares["not_loaded"]
    result = Table(
        title=f"{run['name']}, a channel of {shares['channel_mbps']:g} Mbit/s",
        title_justify="left",
        caption=Text(f"Without traffic: {'; '.join(unloaded)}.")
        if unloaded
        else Text(f"{words[:1].upper()}{words[1:]}."),
        caption_justify="left",
    )
    for column in ("modem", "flow"):
        result.add_column(column, no_wrap=True)
    for column in ("offered", "configured", "received", "%", "forwarded", "%"):
        result.add_column(column, justify="right", no_wrap=True)
    for flow in shares["service_flows"]:
        offered = flow["offered_mbps"]
        result.add_row(
            flow["modem"],
            str(flow["service_flow_reference"]),
            "TCP" if offered is None else f"{offered:.2f}",
            f"{flow['configured_mbps']:.3f}",
            f"{flow['received_mbps']:.3f}",
            f"{flow['received_off_percent']:+.2f}",
            f"{flow['forwarded_mbps']:.3f}",
            f"{flow['forwarded_off_percent']:+.2f}",
        )
    return result
