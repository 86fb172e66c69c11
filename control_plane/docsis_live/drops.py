# SPDX-License-Identifier: Apache-2.0
"""Catches packets that a switch drops, with their traces: for some seconds, when somebody asks.

A switch traces a packet from its start, so packets have to be traced before anybody knows their
fate. A packet that is traced takes longer; hence a bounded time, a rate and a number.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import grpc

from docsis_control.p4rt.connection import channel_options
from docsis_control.status.model import Device

SECONDS: Final = 10.0
_RATE: Final = 500
"""Packets a second that are traced."""

_MOST_CAUGHT: Final = 20
"""At one go."""

_MOST_KEPT: Final = 100
_MOST_BYTES: Final = 40_000
"""The longest trace; what is longer is cut."""

_OVER: Final = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
_METHOD: Final = "/docsis.switch.v1.Switch/Trace"
_COUNTED: Final = re.compile(r"\b(sf_drop_[a-z_]+)\.count\(")
"""A packet that is dropped is in exactly one of these counters (docs/p4-contract.md)."""

_FLOW: Final = re.compile(r"-> metadata_t\.service_flow = (0x[0-9a-fA-F]+|\d+)")
_HEAD: Final = re.compile(r"^packet \d+:", re.MULTILINE)


@dataclass(frozen=True)
class Drop:
    """A packet that was dropped.

    Attributes:
        number: Known by it.
        time_ms: Unix time when it was told, milliseconds.
        device: Name of the switch.
        index: Index of its service flow in the switch; None where the trace does not name it.
        reason: Name of the counter that has it.
        text: Its trace.
    """

    number: int
    time_ms: int
    device: str
    index: int | None
    reason: str
    text: str


class Drops:
    """The drops that were caught; the oldest goes first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Drop] = OrderedDict()
        self._number = 0

    def add(self, device: str, trace: str) -> Drop:
        """Keeps the trace of a dropped packet."""
        self._number += 1
        reason, index = told(trace)
        now = time.time_ns() // 1_000_000
        drop = Drop(self._number, now, device, index, reason, trace[:_MOST_BYTES])
        self._kept[drop.number] = drop
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return drop

    def get(self, number: int) -> Drop | None:
        """The drop of that number, if it is still kept."""
        return self._kept.get(number)

    def listed(self) -> list[dict[str, Any]]:
        """All of them for the page, without their traces."""
        return [
            {
                "id": one.number,
                "t": one.time_ms,
                "device": one.device,
                "index": one.index,
                "reason": one.reason,
            }
            for one in self._kept.values()
        ]


def told(trace: str) -> tuple[str, int | None]:
    """The counter that has a dropped packet, and the index of its service flow, from its trace."""
    reasons = _COUNTED.findall(trace)
    flows = _FLOW.findall(trace)
    return (reasons[-1] if reasons else "dropped"), (int(flows[-1], 0) if flows else None)


def packets(text: str) -> Iterator[str]:
    """The packets in a text of the stream, one block each."""
    starts = [found.start() for found in _HEAD.finditer(text)]
    for start, end in pairwise([*starts, len(text)]):
        yield text[start:end]


def why(error: grpc.RpcError) -> str:
    """The words in which a failed call explains itself."""
    details = getattr(error, "details", None)
    return str(details() if callable(details) else error)


class Catch:
    """One go at the packets of a switch."""

    def __init__(self, device: Device, seconds: float = SECONDS) -> None:
        """Args: the switch, and how long at the most."""
        self._device = device
        self._seconds = seconds
        self._stream: Any = None
        self._count = 0

    def end(self) -> None:
        """Ends it, from another thread."""
        if self._stream is not None:
            self._stream.cancel()

    def run(self, caught: Callable[[str], None]) -> int:
        """Traces packets and hands on those that are dropped; returns when it is over.

        Args:
            caught: Gets the trace of each packet that was dropped.

        Returns:
            How many were dropped.

        Raises:
            grpc.RpcError: The switch refused, or does not answer.
        """
        from docsis_control.gen.docsis.switch.v1 import switch_pb2

        request = switch_pb2.TraceRequest(device_id=self._device.device_id, rate=_RATE)
        address = self._device.address
        with grpc.insecure_channel(address, options=channel_options(address)) as channel:
            trace = channel.unary_stream(
                _METHOD,
                request_serializer=switch_pb2.TraceRequest.SerializeToString,
                response_deserializer=switch_pb2.TraceResponse.FromString,
            )
            self._stream = trace(request, timeout=self._seconds)
            try:
                return self._read(caught)
            except grpc.RpcError as error:
                if error.code() not in _OVER:
                    raise
                return self._count
            finally:
                self._stream.cancel()

    def _read(self, caught: Callable[[str], None]) -> int:
        for answer in self._stream:
            for packet in packets(answer.text):
                if _COUNTED.search(packet) is not None:
                    caught(packet)
                    self._count += 1
                    if self._count >= _MOST_CAUGHT:
                        return self._count
        return self._count
