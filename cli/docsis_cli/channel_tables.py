# SPDX-License-Identifier: Apache-2.0
"""Upstream channels with a request/grant MAC, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from docsis_cli.status_tables import Row, table
from docsis_control.status.model import Status
from docsis_control.status.upstream import (
    ChannelFlow,
    Delays,
    UpstreamChannel,
    UpstreamMap,
    encode_channels,
)
from docsis_testbed.errors import TestbedError

_NONE: Final = "-"
_MOST_FLOWS: Final = 16
"""Service flows that are shown of each channel, those with the most minislots first. Somebody who
names a channel sees all of it."""


def chosen(status: Status, name: str | None) -> Status:
    """The status with one of its channels, by name; with all of them where none is named.

    Raises:
        TestbedError: There is no such channel, or none at all.
    """
    known = {channel.name: channel for channel in status.upstream_channels}
    if not known:
        raise TestbedError(
            f"topology {status.topology} has no upstream channel with a request/grant MAC, or its "
            "switches do not tell of them"
        )
    if name is None:
        return status
    if name not in known:
        raise TestbedError(f'there is no upstream channel "{name}"; there are {", ".join(known)}')
    return replace(status, upstream_channels=(known[name],))


def encode(status: Status) -> str:
    """The channels of a status as JSON."""
    return encode_channels(status.upstream_channels).decode()


def render(status: Status, *, in_detail: bool = False) -> RenderableType:
    """Tables of what each channel counted, of its service flows and of its last MAPs.

    Args:
        status: Status with the channels that are to be shown.
        in_detail: All service flows, however many they are.
    """
    when = datetime.fromtimestamp(status.time_unix_s).strftime("%H:%M:%S")
    parts: list[RenderableType] = [
        Text.assemble((status.topology, "bold"), f", controller {status.pid}; {when}")
    ]
    for channel in status.upstream_channels:
        parts += _channel(channel, in_detail=in_detail)
    return Group(*parts)


def _channel(channel: UpstreamChannel, *, in_detail: bool) -> Iterator[RenderableType]:
    yield table(
        f"Upstream channel {channel.name}, {channel.profile}, for {channel.time_ns / 1e9:.1f} s",
        "|count|of which",
        _counted(channel),
        left=1,
        also_left=("of which",),
    )
    flows = sorted(channel.service_flows, key=lambda flow: -flow.minislots_granted)
    shown = flows if in_detail else flows[:_MOST_FLOWS]
    yield table(
        f"Service flows of {channel.name}: requests, grants, and minislots of them",
        "SID|modem|flow|contended|lost|polled|in bursts|grants|unused|minislots|wasted|frames"
        "|given up",
        (_flow(flow) for flow in sorted(shown, key=lambda flow: flow.sid)),
        left=3,
    )
    if len(shown) < len(flows):
        yield Text(
            f"The {len(shown)} with the most minislots, of {len(flows)}; all of them: "
            f"docsis-p4 show channel {channel.name}",
            style="italic dim",
        )
    if channel.last_maps:
        yield table(
            f"Last MAPs of {channel.name}, minislots; the last ones are of time to come",
            "MAP|at ms|minislots|contention|polls|grants|granted|used|wasted|requests|collided"
            "|pending",
            (_map(one) for one in channel.last_maps),
            left=0,
        )


def _counted(channel: UpstreamChannel) -> Iterator[Row]:
    counted = channel.counters
    faults = f", {counted.maps_lost} lost: a fault" if counted.maps_lost else ""
    each = counted.map_bytes / counted.maps if counted.maps else 0.0
    yield (
        "MAPs",
        str(counted.maps),
        f"{each:.0f} bytes each, {counted.maps_stretched} stretched{faults}",
    )
    yield (
        "minislots",
        str(counted.minislots),
        f"contention {_share(counted.minislots_contention, counted.minislots)}, maintenance "
        f"{_share(counted.minislots_maintenance, counted.minislots)}, polls "
        f"{_share(counted.minislots_polls, counted.minislots)}, grants "
        f"{_share(counted.minislots_granted, counted.minislots)}",
    )
    yield (
        "granted",
        str(counted.minislots_granted),
        f"used {_share(counted.minislots_used, counted.minislots_granted)}, wasted "
        f"{counted.minislots_wasted} "
        f"({_share(counted.minislots_wasted, counted.minislots_granted)})",
    )
    yield (
        "opportunities",
        str(counted.opportunities),
        f"used {counted.opportunities_used} "
        f"({_share(counted.opportunities_used, counted.opportunities)}), collided "
        f"{counted.opportunities_collided} "
        f"({_share(counted.opportunities_collided, counted.opportunities)})",
    )
    yield (
        "requests",
        str(counted.requests + counted.requests_polled + counted.requests_piggybacked),
        f"contention {counted.requests}, of which collided {counted.requests_collided} "
        f"({_share(counted.requests_collided, counted.requests)}); polls "
        f"{counted.requests_polled}; bursts {counted.requests_piggybacked}",
    )
    missed = f", {counted.missed} missed: a fault" if counted.missed else ""
    yield (
        "grants",
        str(counted.grants),
        f"unsolicited {counted.grants_unsolicited}{missed}; polls {counted.polls}; pending marks "
        f"{counted.pending_marks}",
    )
    yield "frames", str(counted.frames), ""
    yield _delay("request to grant", channel.request_to_grant)
    if channel.maps_late.count:
        yield _delay("MAPs made late", channel.maps_late)


def _delay(what: str, delays: Delays) -> Row:
    told = (
        f"mean {_ms(delays.mean_ms)}, p50 {_ms(delays.p50_ms)}, p90 {_ms(delays.p90_ms)}, "
        f"p99 {_ms(delays.p99_ms)}, longest {_ms(delays.max_ms)} ms"
    )
    return what, str(delays.count), told if delays.count else ""


def _ms(time: float | None) -> str:
    return _NONE if time is None else f"{time:.2f}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else _NONE


def _flow(flow: ChannelFlow) -> Row:
    return (
        str(flow.sid),
        flow.modem or _NONE,
        flow.name.removesuffix(" upstream"),
        *_numbers(
            flow.requests_contention,
            flow.requests_lost,
            flow.requests_polled,
            flow.requests_piggybacked,
            flow.grants,
            flow.grants_unused,
            flow.minislots_granted,
        ),
        _share(flow.minislots_granted - flow.minislots_used, flow.minislots_granted),
        *_numbers(flow.frames, flow.given_up),
    )


def _map(one: UpstreamMap) -> Row:
    grants = sum(element.usage == "grant" for element in one.elements)
    return (
        str(one.number),
        f"{one.start_ns / 1e6:.3f}",
        *_numbers(
            one.minislots,
            one.sum_of("contention"),
            one.sum_of("poll"),
            grants,
            one.sum_of("grant"),
            one.used,
            one.wasted,
            one.requests_sent,
            one.requests_collided,
            len(one.pending),
        ),
    )


def _numbers(*numbers: int) -> Iterable[str]:
    return map(str, numbers)
