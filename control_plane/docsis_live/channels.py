# SPDX-License-Identifier: Apache-2.0
"""Upstream channels with a request/grant MAC: who has minislots, and the last MAPs."""

from typing import Any, Final

from docsis_control.status.upstream import UpstreamChannel, UpstreamMap

MAPS: Final = 4
"""How many of its last MAPs each channel shows; some describe time to come."""

_MOST_ELEMENTS: Final = 200
_MOST_CHANNELS: Final = 8
_MOST_FLOWS: Final = 300


def channels(found: tuple[UpstreamChannel, ...]) -> list[dict[str, Any]]:
    """Counters and MAPs for the page, in bounded room."""
    return [_channel(one) for one in found[:_MOST_CHANNELS]]


def _channel(one: UpstreamChannel) -> dict[str, Any]:
    counted = one.counters
    delays = one.request_to_grant
    return {
        "name": one.name,
        "profile": one.profile,
        "minislots": counted.minislots,
        "granted": counted.minislots_granted,
        "used": counted.minislots_used,
        "contention": counted.minislots_contention,
        "polls": counted.minislots_polls,
        "maintenance": counted.minislots_maintenance,
        "collided": counted.opportunities_collided,
        "request_to_grant_ms": [delays.p50_ms, delays.p99_ms],
        # SID, whose, minislots granted so far.
        "flows": [
            [flow.sid, f"{flow.modem} {flow.name}", flow.minislots_granted]
            for flow in one.service_flows[:_MOST_FLOWS]
        ],
        "maps": [_map(each) for each in one.last_maps[-MAPS:]],
    }


def _map(one: UpstreamMap) -> dict[str, Any]:
    return {
        "number": one.number,
        "start_ns": one.start_ns,
        "minislots": one.minislots,
        # Usage, SID or 0, first minislot, how many, how many were used (null: still to come).
        "elements": [
            [
                each.usage,
                each.sid or 0,
                each.first,
                each.minislots,
                None if each.burst is None else each.burst.minislots,
            ]
            for each in one.elements[:_MOST_ELEMENTS]
        ],
        "collided": one.requests_collided,
    }
