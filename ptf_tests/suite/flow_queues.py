# SPDX-License-Identifier: Apache-2.0
"""Sub-queues of a service flow: which one a session has, and what each is owed.

Frames wait while nothing may leave, so the pipeline's books and the traffic manager's can be
compared. At random times they are in `switch/crates/device/tests/it/flow_queues.rs`, which counts
collisions, too.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Final

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from docsis_control.lengths import frame_length
from docsis_control.queue_managers.managers.codel import CONTROL as CODEL
from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import codel_tables, flow_queue_test, sharing_test
from docsis_ptf.aqm_test import SLOW_US
from docsis_ptf.chance import q4_28
from docsis_ptf.docsis_test import MAX_FRAME, NEAR_MAC, NETWORK_MAC
from docsis_ptf.entities import ACTIVE, Control
from docsis_ptf.flow_queue_test import GROUP, RATE, place, session_hash
from docsis_ptf.load_test import Measured
from docsis_ptf.renewal import DROP_PROB_MAX
from docsis_ptf.sharing_test import NUMBERS

PAST: Final = 1
LONG: Final = 1_000_000_000
"""Microseconds that no test takes."""


class HashLaw(flow_queue_test.FlowQueueTest):
    """first_queue + (crc32(5-tuple) * multiplier mod 2^32) * queues / 2^32."""

    needs: ClassVar[tuple[str, ...]] = ("shaping", "flow-queues", "registers")

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"queues": queues} for queues in (2, 32, 255)]

    def doRunTest(self, queues: int) -> None:
        index = self.flow_queues(queues)
        stream = self.upstream(100)
        for port in range(1, 25):
            for one in (
                replace(stream, src_port=port),
                replace(stream, dst_port=port),
                replace(stream, src_ip=f"10.0.{port}.11"),
                replace(stream, dst_ip=f"{port}.1.2.3"),
            ):
                self.assertEqual(self.chosen(index, one), place(one, queues))


class Fragments(flow_queue_test.FlowQueueTest):
    """All fragments of a datagram go to one sub-queue, that of its session without ports."""

    needs: ClassVar[tuple[str, ...]] = ("shaping", "flow-queues", "registers")

    def doRunTest(self) -> None:
        index = self.flow_queues(255)
        for host in range(1, 9):
            src, dst = f"10.0.{host}.11", "203.0.113.7"
            ip = {"src": src, "dst": dst, "proto": socket.IPPROTO_UDP}
            head = Ether(dst=NETWORK_MAC, src=NEAR_MAC)
            body = bytes(UDP(sport=4000 + host, dport=443)) + bytes(92)
            fragments = [
                head / IP(flags="MF", frag=0, **ip) / Raw(body),
                head / IP(flags="MF", frag=12, **ip) / Raw(body),
                head / IP(flags=0, frag=25, **ip) / Raw(body),
            ]
            queues = [self.of_packet(index, bytes(packet)) for packet in fragments]
            without = replace(self.upstream(100), src_ip=src, dst_ip=dst)
            own = place(replace(without, src_port=0, dst_port=0), 255)
            self.assertEqual(queues, [own] * 3)

    def of_packet(self, index: int, frame: bytes) -> int:
        """The sub-queue that a frame goes to."""
        before, received = self.depths(), self.fates(index).received
        self.send(self.near, frame)
        self.await_received(index, received + 1)
        after = self.depths()
        grown = [n for n in range(self.queues) if after[n] != before[n]]
        self.assertEqual([after[n] - before[n] for n in grown], [frame_length(len(frame))])
        return grown[0]


class SerialSearch(flow_queue_test.FlowQueueTest):
    """Four sessions of a group have queues of their own, a fifth shares, an empty one is next."""

    needs: ClassVar[tuple[str, ...]] = ("shaping", "flow-queues", "registers")

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"group": group} for group in (0, 3, 7)]

    def doRunTest(self, group: int) -> None:
        groups = 8
        index = self.flow_queues(groups * GROUP, search=True)
        sessions = self.sessions(groups, [group] * 6)
        own = list(range(group * GROUP, (group + 1) * GROUP))
        self.assertEqual([self.chosen(index, one) for one in sessions[:4]], own)
        self.assertEqual([self.chosen(index, one) for one in reversed(sessions[:4])], own[::-1])
        for one in sessions[4:]:
            shared = group * GROUP + session_hash(one) % GROUP
            self.assertEqual([self.chosen(index, one) for _ in range(2)], [shared] * 2)
        self.release()
        self.poll("an empty queue", lambda: self.client.state(index).backlog == 0)
        self.block()
        # Sessions that had a queue find it again; another takes the first that is empty.
        self.assertEqual([self.chosen(index, sessions[n]) for n in (3, 1)], [own[3], own[1]])
        self.assertEqual(self.chosen(index, sessions[4]), own[0])
        self.assertEqual(self.chosen(index, sessions[0]), own[2])


class EqualShares(flow_queue_test.FlowQueueTest, sharing_test.SharingTest):
    """Sessions share what the service flow sends in equal bytes, whatever their frames' lengths."""

    def doRunTest(self) -> None:
        lengths = (1500, 300, 777)
        index = self.flow_queues(32)
        sessions = [
            replace(one, length=length)
            for one, length in zip(self.sessions(32, (3, 30, 9)), lengths, strict=True)
        ]
        counts = [60_000 // length for length in lengths]
        with (
            self.timed() as timing,
            self.recording(sessions[0], sum(counts)) as (capture, injector),
        ):
            sent = 0
            for position, (one, count) in enumerate(zip(sessions, counts, strict=True)):
                for first in range(0, count, self.params.batch):
                    size = min(self.params.batch, count - first)
                    injector.send(one.frames(size, position * NUMBERS + first))
                    sent += size
                    self.await_received(index, sent)
            offered_ns = time.time_ns()
            self.release()
            self.poll("all frames", lambda: capture.count() == sum(counts), seconds=60)
            arrivals = capture.arrivals()
        measured = Measured(arrivals, timing[0], offered_ns)
        shares = self.while_all_wait(measured)
        self.assertGreater(int(shares[-1].sum()), 150_000, "a session was empty too soon")
        spread = shares.max(axis=1) - shares.min(axis=1)
        self.assertLessEqual(int(spread.max()), 2 * MAX_FRAME, "bytes that a session is ahead")
        self.assert_conforms(measured, RATE, MAX_FRAME, "the service flow's rate")


class OwnLimit(flow_queue_test.FlowQueueTest):
    """A sub-queue that is full takes no more of its service flow's buffer; the others do."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"search": search} for search in (False, True)]

    def doRunTest(self, search: bool) -> None:
        index = self.flow_queues(32, search=search, buffer_size=9_000)
        self.modify(self.flow_queues_entry(index, 32, search=search, queue_limit=5_000))
        greedy, other = self.sessions(8 if search else 32, (3, 4), length=1000)
        before = self.fates(index)
        self.queue_frames(index, greedy, 8)
        self.expect_fates(index, before, received=8, buffer_full=3)
        # The rest of the service flow's buffer, to the byte.
        self.queue_frames(index, other, 3)
        self.queue_frames(index, replace(other, length=500), 1)
        self.expect_fates(index, before, received=12, buffer_full=3)
        self.queue_frames(index, replace(other, length=501), 1)
        self.queue_frames(index, replace(other, length=500), 1)
        self.expect_fates(index, before, received=14, buffer_full=4)
        self.release()
        self.expect_fates(index, before, forwarded=10, buffer_full=4)


class Books(flow_queue_test.FlowQueueTest):
    """The sub-queues' backlogs add up to the service flow's, and to what the switch holds."""

    needs: ClassVar[tuple[str, ...]] = ("shaping", "flow-queues", "registers")

    def cases(self) -> Iterable[dict[str, Any]]:
        # Both counters of each sub-queue, and the service flow's, wrap around on the way.
        starts = (0, (1 << 32) - 150)
        return [{"search": search, "start": start} for search in (False, True) for start in starts]

    def agree(self, index: int) -> int:
        backlog = self.client.state(index).backlog
        queue = self.queue_state(index)
        self.assertEqual((sum(self.depths()), queue.queued.bytes), (backlog, backlog))
        return backlog

    def doRunTest(self, search: bool, start: int) -> None:
        # A few hundred bytes are left to tail drops.
        index = self.flow_queues(32, search=search, buffer_size=20_000)
        sub_queues = range(flow_queue_test.FIRST, flow_queue_test.FIRST + 32)
        self.client.set_registers([
            (f"{whose}_{which}_bytes", at, start)
            for which in ("enqueued", "dequeued")
            for whose, places in (("sf", (index,)), ("queue", sub_queues))
            for at in places
        ])  # fmt: skip
        stream = self.upstream(200)
        for port in range(1, 41):
            one = replace(stream, src_port=port, length=100 + 20 * port)
            self.queue_frames(index, one, 2)
        self.assertGreater(self.fates(index).buffer_full, 0)
        self.assertGreater(self.agree(index), 19_000)
        # Other sub-queues: what waits stays counted where it is.
        self.modify(self.flow_queues_entry(index, 16, search=search))
        fewer = replace(self.shape, max_sustained_rate=8, initial_tokens=0, sub_queues=16)
        self.client.shaper.configure([fewer])
        self.agree(index)
        self.shape = replace(self.shape, sub_queues=16)
        self.release()
        self.poll("an empty queue", lambda: self.client.state(index).backlog == 0)
        self.assertEqual(self.agree(index), 0)
        fates = self.fates(index)
        self.assertEqual(fates.forwarded + fates.buffer_full, 80)


class WithoutEntry(flow_queue_test.FlowQueueTest):
    """A service flow with `flow_queuing` and no entry in flow_queues has a queue like any other."""

    needs: ClassVar[tuple[str, ...]] = ("shaping", "flow-queues", "registers")

    def doRunTest(self) -> None:
        index = self.flow_queues(32, queue_manager=int(QueueManager.PIE))
        self.remove(self.flow_queues_entry(index, 32))
        self.queue_frames(index, self.upstream(1000), 3)
        self.assertEqual(sum(self.depths()), 0)
        self.assertEqual(self.client.state(index).backlog, 3_000)
        # PIE's own depth is the backlog: certain drops.
        force(self, index)
        before = self.fates(index)
        self.queue_frames(index, self.upstream(100), 3)
        self.assertEqual((self.fates(index) - before).aqm, 3)


class ScaledProbability(flow_queue_test.FlowQueueTest):
    """SFQ-PIE (000, section 4.6): drop_prob times the own depth over the longest queue's."""

    comparisons = 5
    needs: ClassVar[tuple[str, ...]] = ("shaping", "flow-queues", "registers")

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"own": 0, "longest": 200_000, "drop_prob": DROP_PROB_MAX / (1 << 28), "rate": 0.0},
            {"own": 50_000, "longest": 200_000, "drop_prob": 0.8, "rate": 0.2},
            {"own": 100_000, "longest": 200_000, "drop_prob": 0.8, "rate": 0.4},
            {"own": 200_000, "longest": 200_000, "drop_prob": 0.3, "rate": 0.3},
            # The longest so far is shorter than the own: then that is the longest.
            {"own": 200_000, "longest": 50_000, "drop_prob": 0.3, "rate": 0.3},
            # Nobody knows whether a longest queue of another generation still is the longest.
            {"own": 50_000, "longest": 200_000, "drop_prob": 0.3, "rate": 0.3, "generation": 7},
        ]

    def doRunTest(
        self, own: int, longest: int, drop_prob: float, rate: float, generation: int = 0
    ) -> None:
        frames, length = 4_000, 64
        index = self.flow_queues(32, queue_manager=int(QueueManager.PIE), generation=generation)
        (session,) = self.sessions(32, [5], length)
        self.believe_nothing(index)
        self.set_depth(5, own)
        self.set_depth(6, longest)
        self.client.set_register("sf_enqueued_bytes", index, 1_000_000)
        self.client.set_register("flow_queue_longest", index, self.state_index(6))
        force(self, index, q4_28(drop_prob))
        # One waits for the one before: nobody deepens the queue.
        self.shape = replace(self.shape, max_sustained_rate=0, max_burst=0, initial_tokens=None)
        self.release()
        before = self.fates(index)
        dropped = frames - len(self.run_stream(session, frames, index, batch=1 if not own else 32))
        self.expect_fates(index, before, forwarded=frames - dropped, aqm=dropped)
        if not own:
            self.assertEqual(dropped, 0)
            return
        # Frames under way deepen both.
        most = rate + drop_prob * 32 * length / max(own, longest)
        self.assert_share(dropped, frames, rate, most)


class StateOfItsOwn(flow_queue_test.FlowQueueTest):
    """CoDel drops of the session that is above the target, and of no other."""

    needs: ClassVar[tuple[str, ...]] = ("shaping", "flow-queues", "registers")

    def doRunTest(self) -> None:
        index = self.flow_queues(32, queue_manager=int(QueueManager.CODEL))
        for entry in codel_tables.inverse_square_roots(CODEL, 1):
            self.insert(entry)
        self.insert(codel_tables.parameters(CODEL, index, 0, LONG))
        upload, game, call = self.sessions(32, (4, 21, 30), 1000)
        for session, frames in ((upload, 6), (game, 6), (call, 2)):
            self.queue_frames(index, session, frames)
        # The service flow's own cell is not theirs, and the call leaves too little behind it.
        for cell in (self.state_index(4), self.state_index(30), index):
            self.client.set_register(f"{CODEL}.first_above_time_", cell, PAST)
        before = self.fates(index)
        self.release()
        self.expect_fates(index, before, received=0, forwarded=13, aqm=1)
        cells = [(f"{CODEL}.count_", self.state_index(n)) for n in (4, 21, 30)]
        self.assertEqual(self.client.registers(cells), [1, 0, 0])


def force(test: flow_queue_test.FlowQueueTest, index: int, drop_prob: int = 1 << 28) -> None:
    """Plays PIE's control path: a probability, long delays, no burst."""
    heartbeat = max(test.client.state(index).timestamp, 1)
    test.client.update(
        index,
        Control(
            drop_prob=drop_prob,
            qdelay_old=SLOW_US,
            control_state=ACTIVE,
            heartbeat=heartbeat,
        ),
    )
