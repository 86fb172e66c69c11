# SPDX-License-Identifier: Apache-2.0
"""A device with a policer, and what its bucket may and must let through.

Lengths are bytes to the end of the FCS, times microseconds, both whole: so the two bounds are
exact, and there is nothing to be tolerated. A bit/s earns a token a microsecond, and a byte
costs 8,000,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from docsis_labs.exercises.numbered import Offer, left, send
from docsis_labs.p4.packet_device import PacketDevice
from docsis_labs.p4.program import Program

TOKENS_PER_BYTE: Final = 8_000_000
OTHER: Final = {1: 2, 2: 1}
"""The port at which frames from a port leave."""


@dataclass(frozen=True)
class Policer:
    """The configuration of a port's bucket.

    Attributes:
        rate: bit/s.
        burst: Bytes.
    """

    rate: int
    burst: int


def device(program: Program, policers: dict[int, Policer]) -> PacketDevice:
    """The program on a switch, with policers at some ports."""
    switch = PacketDevice(program, (1, 2))
    for port, policer in policers.items():
        switch.add_entry(
            "LabIngress.policer",
            {"ingress_port": port},
            "LabIngress.set_bucket",
            {"rate_bps": policer.rate, "burst_bytes": policer.burst},
        )
    return switch


def passed(switch: PacketDevice, offers: Sequence[Offer], port: int = 1) -> list[int]:
    """Sends frames to a port, and tells which of them came through, by their places."""
    send(switch, port, offers)
    switch.run_until((offers[-1].at_us + 1) * 1000)
    return [one.number for one in left(switch.received(OTHER[port]), offers)]


def at_once(at_us: int, count: int, length: int) -> list[Offer]:
    """Frames that arrive in the same microsecond."""
    return [Offer(at_us, length)] * count


def largest_burst(frames: Sequence[Offer], rate: int) -> int:
    """The smallest burst with which the frames keep to a rate over every interval, in tokens.

    What an interval has above the rate is largest where the bucket that follows it, and that
    never drops, is deepest.
    """
    deepest = level = 0
    for number, frame in enumerate(frames):
        if number:
            level = max(0, level - (frame.at_us - frames[number - 1].at_us) * rate)
        level += frame.length * TOKENS_PER_BYTE
        deepest = max(deepest, level)
    return deepest


def bytes_of(frames: Sequence[Offer]) -> int:
    """Their lengths in sum."""
    return sum(frame.length for frame in frames)
