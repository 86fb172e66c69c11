# SPDX-License-Identifier: Apache-2.0
"""A service flow's buffer: a frame that does not fit is dropped, to the byte."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from docsis_ptf import shaping_test, stream_test

BUFFER = 20_000
WORD = 1 << 32
"""The byte counters of the backlog count modulo this."""


class TailDrop(stream_test.StreamTest):
    """A frame that just fits is accepted, one byte more is dropped; at any target."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"held": held, "length": length}
            for held in (0, BUFFER - 1500, BUFFER - 64)
            for length in (64, 65, 1500, 1501)
        ]

    def doRunTest(self, held: int, length: int) -> None:
        index = self.service_flow()
        if held:
            self.hold(index, held)
        self.make_primary(index)
        self.modify(self.queue(index, buffer_size=BUFFER))
        before = self.fates(index)
        arrivals = self.run_stream(self.upstream(length), 1, index)
        fits = held + length <= BUFFER
        self.assertEqual(len(arrivals), int(fits))
        self.expect_fates(index, before, **{"forwarded" if fits else "buffer_full": 1})
        self.poll("the backlog as before", lambda: self.client.state(index).backlog == held)


class SmallestBuffer(stream_test.StreamTest):
    """An empty queue takes a frame as large as its buffer, and no larger."""

    def doRunTest(self) -> None:
        index = self.service_flow(buffer_size=1000)
        self.make_primary(index)
        before = self.fates(index)
        arrivals = self.run_stream(self.upstream(1000), 1, index)
        self.assertEqual(len(arrivals), 1)
        arrivals = self.run_stream(self.upstream(1001), 1, index)
        self.assertEqual(len(arrivals), 0)
        self.expect_fates(index, before, forwarded=1, buffer_full=1)


class WaitingFrames(shaping_test.ShapingTest):
    """Frames that really wait: the limit holds to the byte, and all come out when they may."""

    def doRunTest(self) -> None:
        length, fit = 700, 20
        index = self.shaped_flow(
            max_sustained_rate=10_000_000,
            max_burst=1522,
            peak_rate=20_000_000,
            initial_tokens=0,
            buffer_size=length * fit + 69,
        )
        before = self.fates(index)
        stream = self.upstream(length)
        with self.recording(stream, 100) as (capture, injector):
            self.block()
            injector.send(stream.frames(fit + 5))
            injector.send(self.same_stream(stream, 70).frames(1, fit + 5))
            injector.send(self.same_stream(stream, 69).frames(1, fit + 6))
            self.expect_fates(index, before, received=fit + 7, buffer_full=6)
            self.assertEqual(self.client.state(index).backlog, length * fit + 69)
            queue = self.queue_state(index)
            self.assertEqual(
                (queue.queued.frames, queue.queued.bytes), (fit + 1, length * fit + 69)
            )
            self.assertEqual(queue.overflow.frames, 0)
            self.assertEqual(capture.count(), 0)
            self.release()
            self.expect_fates(index, before, forwarded=fit + 1, buffer_full=6)
            self.poll("all frames that waited", lambda: capture.count() == fit + 1)
            arrivals = capture.arrivals()
        self.assertEqual(arrivals.sequence.tolist(), [*range(fit), fit + 6])
        self.assertEqual(self.client.state(index).backlog, 0)


class WrapAround(stream_test.StreamTest):
    """The backlog's byte counters wrap around: backlog, tail drop and counts stay right."""

    needs: ClassVar[tuple[str, ...]] = ("registers",)
    LENGTH: ClassVar[int] = 1000

    def cases(self) -> Iterable[dict[str, Any]]:
        # Just before it, with the first frame, in the middle of one; and where the sign would be.
        starts = (WORD - 1, WORD - self.LENGTH, WORD - 3_333, WORD // 2 - 1)
        return [{"start": start, "held": held} for start in starts for held in (0, 7_000)]

    def doRunTest(self, start: int, held: int) -> None:
        index = self.service_flow(buffer_size=BUFFER)
        self.make_primary(index)
        if held:
            # They never leave, whatever the counters say.
            self.believe_nothing(index)
        self.force(index, start, held)
        before = self.fates(index)
        for sent in range(1, 6):
            self.assertTrue(self.passes(index, self.LENGTH))
            self.assert_counters(index, start + sent * self.LENGTH, held)
        lost, resynchronized = self.books(index)
        self.assertEqual((lost, resynchronized), (0, 0), "frames that the books miss")
        self.expect_fates(index, before, forwarded=5)
        if held:
            self.assert_limit(index, start)

    def assert_limit(self, index: int, start: int) -> None:
        """A frame that just fits leaves, across the wrap and behind it; a byte more does not."""
        room = 1_500
        before = self.fates(index)
        for at in (start, start + 5_000):
            self.force(index, at, BUFFER - room)
            self.assertTrue(self.passes(index, room))
            self.assert_counters(index, at + room, BUFFER - room)
            self.assertFalse(self.passes(index, room + 1))
            self.assert_counters(index, at + room, BUFFER - room)
        self.expect_fates(index, before, forwarded=2, buffer_full=2)

    def force(self, index: int, dequeued: int, backlog: int) -> None:
        """Sets the counters."""
        values = {"sf_dequeued_bytes": dequeued, "sf_enqueued_bytes": dequeued + backlog}
        self.client.set_registers([(name, index, n % WORD) for name, n in values.items()])

    def passes(self, index: int, length: int) -> bool:
        """Whether a frame, alone on its way, leaves."""
        return len(self.run_stream(self.upstream(length), 1, index)) == 1

    def assert_counters(self, index: int, dequeued: int, backlog: int) -> None:
        """The counters, as READ and the registers tell them."""
        state = self.client.state(index)
        wanted = (dequeued + backlog) % WORD, dequeued % WORD
        self.assertEqual((state.enqueued_bytes, state.dequeued_bytes), wanted)
        self.assertEqual(state.backlog, backlog)
        names = ("sf_enqueued_bytes", "sf_dequeued_bytes")
        found = self.client.registers([(name, index) for name in names])
        self.assertEqual(tuple(found), wanted)

    def books(self, index: int) -> tuple[int, int]:
        """Bytes that were taken for lost, and how often."""
        (counts,) = self.counts("sf_resynchronized", index)
        return self.client.register("sf_lost_bytes", index), counts.packets


class WrapWhileWaiting(shaping_test.ShapingTest):
    """The counters wrap around one after the other, while frames really wait between the two."""

    needs: ClassVar[tuple[str, ...]] = ("shaping", "registers")

    def doRunTest(self) -> None:
        length, fit = 700, 20
        index = self.shaped_flow(
            max_sustained_rate=100_000_000,
            max_burst=100_000,
            peak_rate=0,
            initial_tokens=100_000,
            buffer_size=length * fit + 69,
        )
        start = WORD - 3 * length - 1
        for name in ("sf_enqueued_bytes", "sf_dequeued_bytes"):
            self.client.set_register(name, index, start)
        before = self.fates(index)
        stream = self.upstream(length)
        with self.recording(stream, 2 * fit) as (capture, injector):
            self.block()
            injector.send(stream.frames(fit + 3))
            self.expect_fates(index, before, received=fit + 3, buffer_full=3)
            state = self.client.state(index)
            self.assertEqual(state.dequeued_bytes, start)
            self.assertEqual(state.enqueued_bytes, (start + length * fit) % WORD)
            self.assertEqual(state.backlog, self.queue_state(index).queued.bytes)
            self.release()
            self.expect_fates(index, before, forwarded=fit, buffer_full=3)
            self.poll("all frames that waited", lambda: capture.count() == fit)
            self.assertEqual(capture.arrivals().sequence.tolist(), list(range(fit)))
        state = self.client.state(index)
        self.assertEqual((state.backlog, state.dequeued_bytes), (0, (start + length * fit) % WORD))
        (resynchronized,) = self.counts("sf_resynchronized", index)
        self.assertEqual(resynchronized.packets, 0, "times that the books were wrong")
