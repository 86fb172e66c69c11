# SPDX-License-Identifier: Apache-2.0
"""Frames of flows, and a switch with the student's flow queues in front of a line."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final

from docsis_labs.errors import SubmissionError
from docsis_labs.p4.packet_device import PacketDevice
from docsis_labs.p4.program import Program

ACCESS, NETWORK, QUEUE = 1, 2, 1
RATE: Final = 10_000_000
FLOW_QUEUES: Final = 32
FLOW_LIMIT: Final = 30_000
QUANTUM: Final = 1522
"""Quantum of the traffic manager's deficit round robin, which is the longest frame, too."""

BUFFER: Final = 150_000
"""The traffic manager's buffer for all sub-queues, bytes."""

FCS: Final = 4
_MACS: Final = bytes.fromhex("020000000001020000000002")
_TCP, _UDP = 6, 17
ICMP: Final = 1
IP_IN_IP: Final = 4
"""A protocol without ports, too: its data are another packet (RFC 2003)."""

_DONT_FRAGMENT: Final = 0x4000
_MORE_FRAGMENTS: Final = 0x2000


@dataclass(frozen=True)
class Flow:
    """A 5-tuple."""

    source_port: int
    destination_port: int = 5201
    source: str = "10.0.0.1"
    destination: str = "10.0.0.2"
    protocol: int = _UDP

    @property
    def tcp(self) -> Flow:
        """The same of TCP."""
        return Flow(self.source_port, self.destination_port, self.source, self.destination, _TCP)


@dataclass(frozen=True)
class Sent:
    """A frame that is sent to the switch.

    Attributes:
        at_us: When.
        flow: Whose; None is no IPv4.
        length: Bytes to the end of the FCS, as a virtual interface hands them over: without the
            padding of frames below 64. 46 at least.
        fragment: None, or where a fragment begins, in 8 bytes; 0 is the first one.
        identification: Identification field of IPv4; the frame's own unless given.
        options: Whether there is an option of IPv4 behind its header, another one in each frame.
        dont_fragment: Whether a packet that is no fragment has the flag DF.
    """

    at_us: int
    flow: Flow | None
    length: int = 1250
    fragment: int | None = None
    identification: int | None = None
    options: bool = False
    dont_fragment: bool = True


@dataclass(frozen=True)
class Came:
    """A frame that left: which one of those sent, and when."""

    number: int
    at_us: float


def bytes_of(number: int, sent: Sent) -> bytes:
    """A frame without its FCS; its last four bytes are its number."""
    length = sent.length - FCS
    if sent.flow is None:
        head = _MACS + b"\x86\xdd"
    else:
        flow = sent.flow
        fragment = _DONT_FRAGMENT if sent.dont_fragment else 0
        if sent.fragment is not None:
            fragment = sent.fragment or _MORE_FRAGMENTS
        identification = number if sent.identification is None else sent.identification
        head = _MACS + b"\x08\x00"
        head += struct.pack(
            "!BBHHHBBH", 0x46 if sent.options else 0x45, 0, length - 14,
            identification & 0xFFFF, fragment, 64, flow.protocol, 0,
        )  # fmt: skip
        head += IPv4Address(flow.source).packed + IPv4Address(flow.destination).packed
        if sent.options:
            # Of a kind for experiments (RFC 4727), of four bytes.
            head += struct.pack("!BBH", 30, 4, 104729 * number & 0xFFFF)
        head += _beginning(number, sent, flow)
    return head.ljust(length - 4, b"\0") + number.to_bytes(4, "big")


def _beginning(number: int, sent: Sent, flow: Flow) -> bytes:
    """The first four bytes behind IPv4's header: ports, or what differs from frame to frame."""
    if sent.fragment:
        return struct.pack("!HH", 7919 * number & 0xFFFF, 104729 * number & 0xFFFF)
    if flow.protocol in (_TCP, _UDP):
        return struct.pack("!HH", flow.source_port, flow.destination_port)
    # An echo request and its checksum, or the first bytes of a packet and its length.
    kind = 0x0800 if flow.protocol == ICMP else 0x4500
    return struct.pack("!HH", kind, 104729 * number & 0xFFFF)


def device(program: Program) -> PacketDevice:
    """The program on a switch whose queue has a rate and sub-queues."""
    switch = PacketDevice(program, (ACCESS, NETWORK))
    switch.configure_queue(
        NETWORK,
        QUEUE,
        max_sustained_rate=RATE,
        max_burst=1522,
        sub_queues=FLOW_QUEUES,
        queue_limit=BUFFER,
    )
    return switch


def play(switch: PacketDevice, sent: Sequence[Sent], wait_us: int = 1_000_000) -> list[Came]:
    """Sends frames, in order, and waits until those that were not dropped have left.

    Raises:
        SubmissionError: A frame left that had not been sent as it is.
    """
    frames = [bytes_of(number, one) for number, one in enumerate(sent)]
    for one, frame in zip(sent, frames, strict=True):
        switch.send(ACCESS, frame, at_ns=one.at_us * 1000)
    switch.run_until((sent[-1].at_us + wait_us) * 1000)
    came: list[Came] = []
    seen: set[int] = set()
    for one_left in switch.received(NETWORK):
        number = int.from_bytes(one_left.data[-4:], "big")
        if number >= len(frames) or one_left.data != frames[number]:
            raise SubmissionError(
                "changes-frames",
                "A frame left the switch that nobody had sent: the program changes frames, which "
                "it is not to do. Does the deparser emit all that the parser extracts?",
            )
        if number in seen:
            raise SubmissionError("copies-frames", "A frame left the switch twice.")
        seen.add(number)
        came.append(Came(number, one_left.at_ns / 1000))
    return came
