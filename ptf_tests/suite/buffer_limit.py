# SPDX-License-Identifier: Apache-2.0
"""A service flow's buffer: a frame that does not fit is dropped, to the byte."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docsis_ptf import shaping_test, stream_test

BUFFER = 20_000


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
