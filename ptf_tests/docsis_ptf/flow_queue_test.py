# SPDX-License-Identifier: Apache-2.0
"""Sixth rung: a service flow whose sessions have sub-queues, all with frames waiting."""

from __future__ import annotations

import itertools
import socket
import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from docsis_ptf.docsis_test import SERVICE_FLOWS
from docsis_ptf.entities import Entry
from docsis_ptf.frames import Stream
from docsis_ptf.shaper import FLOW_QUEUES, SHAPING
from docsis_ptf.shaping_test import ShapingTest

TABLE: Final = "FrameIngress.flow_queue.flow_queues"
MULTIPLIER: Final = 0x9E3779B1
FIRST: Final = 128
"""The first of the service flow's sub-queues in the pool."""
GROUP: Final = 4
RATE: Final = 8_000_000


def session_hash(stream: Stream) -> int:
    """The hash of a session: CRC-32 of the 5-tuple, with room for IPv6 addresses."""
    addresses = socket.inet_aton(stream.src_ip) + socket.inet_aton(stream.dst_ip)
    ports = struct.pack("!HH", stream.src_port, stream.dst_port)
    udp = bytes([socket.IPPROTO_UDP])
    return zlib.crc32(b"\x08\x00" + addresses + bytes(32) + udp + ports)


def place(stream: Stream, places: int, multiplier: int = MULTIPLIER) -> int:
    """The session's place among so many sub-queues or groups of them."""
    return ((session_hash(stream) * multiplier) % (1 << 32) * places) >> 32


class FlowQueueTest(ShapingTest):
    """Sessions of one service flow, which differ in their source ports.

    Attributes:
        queues: How many sub-queues the latest `flow_queues` has.
    """

    needs: ClassVar[tuple[str, ...]] = (SHAPING, FLOW_QUEUES)
    queues: int

    def flow_queues(self, queues: int, *, search: bool = False, **config: Any) -> int:
        """Provisions a service flow with sub-queues; nothing leaves before `release`."""
        self.queues = queues
        index = self.shaped_flow(
            max_sustained_rate=RATE,
            max_burst=1522,
            peak_rate=0,
            initial_tokens=1522,
            flow_queuing=True,
            **{"buffer_size": 10_000_000, **config},
        )
        self.shape = replace(self.shape, sub_queues=queues)
        self.insert(self.flow_queues_entry(index, queues, search=search))
        self.block()
        return index

    def flow_queues_entry(
        self,
        index: int,
        queues: int,
        *,
        search: bool = False,
        multiplier: int = MULTIPLIER,
        queue_limit: int = 10_000_000,
    ) -> Entry:
        """An entry of table flow_queues."""
        action, field, number = (
            ("set_searched", "groups", queues // GROUP)
            if search
            else ("set_hashed", "queues", queues)
        )
        params = {
            "first_queue": FIRST,
            field: number,
            "multiplier": multiplier,
            "queue_limit": queue_limit,
        }
        return Entry(TABLE, action, params, {"service_flow": index})

    def sessions(self, places: int, wanted: Sequence[int], length: int = 100) -> list[Stream]:
        """Streams, one for each place that is wanted, that count as one for a capture."""
        stream = self.upstream(length)
        found = []
        ports = itertools.count(20_000)
        for number in wanted:
            candidates = (replace(stream, src_port=port) for port in ports)
            found.append(next(one for one in candidates if place(one, places) == number))
        return found

    def depths(self) -> list[int]:
        """Bytes that the pipeline takes for queued in each sub-queue."""
        span = range(FIRST, FIRST + self.queues)
        names = ("queue_enqueued_bytes", "queue_dequeued_bytes")
        values = self.client.registers([(name, index) for name in names for index in span])
        pairs = zip(values[: self.queues], values[self.queues :], strict=True)
        return [(enqueued - dequeued) % (1 << 32) for enqueued, dequeued in pairs]

    def set_depth(self, sub_queue: int, octets: int) -> None:
        """Makes the pipeline take so many bytes for queued in a sub-queue."""
        index = FIRST + sub_queue
        dequeued = self.client.register("queue_dequeued_bytes", index)
        self.client.set_register("queue_enqueued_bytes", index, (dequeued + octets) % (1 << 32))

    def state_index(self, sub_queue: int) -> int:
        """The index at which a manager keeps the state of a sub-queue."""
        return SERVICE_FLOWS + FIRST + sub_queue

    def queue_frames(self, index: int, stream: Stream, count: int, first: int = 0) -> None:
        """Sends frames of a session that wait."""
        before = self.fates(index).received
        with self.deaf(), self.injector(self.near) as injector:
            injector.send(stream.frames(count, first))
            self.await_received(index, before + count)

    def chosen(self, index: int, stream: Stream) -> int:
        """The sub-queue that one frame goes to."""
        before = self.depths()
        self.queue_frames(index, stream, 1)
        after = self.depths()
        grown = [n for n in range(self.queues) if after[n] != before[n]]
        self.assertEqual([after[n] - before[n] for n in grown], [stream.length])
        return grown[0]
