# SPDX-License-Identifier: Apache-2.0
"""The share of a channel that each service flow is configured to get when all want more.

As the traffic manager's port scheduler shares it (docs/switch.md): first what is reserved, then
what is left by strict traffic priority, and in equal parts among equals. A flow never gets more
than its Maximum Sustained Traffic Rate or than it is offered, and what it leaves the others share.
Rates are bit/s of Ethernet frames to the end of their CRC, as DOCSIS counts. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from docsis_control.plan import ServiceFlow


def configured_shares(
    flows: Sequence[ServiceFlow], channel: float, offered: Sequence[float], frame_bytes: int
) -> list[float]:
    """The rate of each service flow of a direction when all are offered traffic at once.

    Args:
        flows: The service flows that share the channel.
        channel: bit/s that it carries.
        offered: bit/s into each flow.
        frame_bytes: Length of the frames to the end of the CRC: of one shorter than a flow's
            assumed packet size, the minimum rate pays the assumed size.

    Raises:
        ValueError: The minimum rates are more than the channel carries; nothing says who yields.
    """
    limits = [min(rate_limit(flow, channel), o) for flow, o in zip(flows, offered, strict=True)]
    shares = [
        min(limit, reserved_rate(flow, frame_bytes))
        for flow, limit in zip(flows, limits, strict=True)
    ]
    left = channel - sum(shares)
    if left < -1e-6 * channel:
        raise ValueError(
            f"minimum reserved rates of {sum(shares):.0f} bit/s in a channel of {channel:.0f}"
        )
    for priority in sorted({flow.traffic_priority for flow in flows}, reverse=True):
        equals = [i for i, flow in enumerate(flows) if flow.traffic_priority == priority]
        more = water_filled(left, [limits[i] - shares[i] for i in equals])
        for i, rate in zip(equals, more, strict=True):
            shares[i] += rate
        left -= sum(more)
    return shares


def rate_limit(flow: ServiceFlow, channel: float) -> float:
    """The most that a flow gets once its burst is spent, bit/s."""
    return min(channel, flow.drain_rate)


def reserved_rate(flow: ServiceFlow, frame_bytes: int) -> float:
    """bit/s of frames of that length that the minimum reserved rate pays for."""
    return flow.min_reserved_rate * frame_bytes / max(frame_bytes, flow.assumed_packet_size)


def water_filled(total: float, wants: Sequence[float]) -> list[float]:
    """Equal parts of a total, none above what is wanted; what that leaves is shared again."""
    got = [0.0] * len(wants)
    left = max(0.0, total)
    # Whoever wants least is satisfied first, so one pass is enough.
    for done, i in enumerate(sorted(range(len(wants)), key=lambda i: wants[i])):
        got[i] = min(max(0.0, wants[i]), left / (len(wants) - done))
        left -= got[i]
    return got
