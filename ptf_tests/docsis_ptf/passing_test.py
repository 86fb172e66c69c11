# SPDX-License-Identifier: Apache-2.0
"""Fourth rung: a stream that passes while the test changes what it passes through."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from docsis_ptf.frames import Stream
from docsis_ptf.shaping_test import ShapingTest
from docsis_ptf.stream_test import StreamTest
from docsis_ptf.wire import Arrivals, Capture, Injector

LENGTH: Final = 100
BATCH: Final = 16
CHANGES: Final = 100
BATCHES_A_CHANGE: Final = 16
"""At the most: then the stream waits for the next change, however long that takes."""
_CAPACITY: Final = 2 * CHANGES * BATCHES_A_CHANGE * BATCH


class Passing:
    """Frames that go into a port, batch by batch, in a thread; all of them should come out.

    A batch follows when no more than `window` frames are under way, so nothing overflows. A frame
    that is lost therefore stops the stream in the end, and the test finds it missing.

    Attributes:
        sent: Frames that are sent or about to be.
    """

    def __init__(self, stream: Stream, capture: Capture, injector: Injector, window: int) -> None:
        self._stream, self._capture, self._injector = stream, capture, injector
        self._window = window
        self._allowed = 0
        self._ended = False
        self._counting = threading.Lock()
        self._turn = threading.Condition()
        self.sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._ended or self.sent < self._allowed)
                if self._ended:
                    return
            if self.arrived() + self._window < self.sent + BATCH:
                # Nobody tells that a frame has arrived in the ring.
                self._turn_off()
                continue
            first = self.sent
            # Before they go: whoever reads it knows that all from there on go later.
            self.sent += BATCH
            self._injector.send(self._stream.frames(BATCH, first))

    def _turn_off(self) -> None:
        with self._turn:
            self._turn.wait(0.0002)

    def arrived(self) -> int:
        """Frames that came out so far; a capture counts for one thread at a time."""
        with self._counting:
            return self._capture.count()

    def allow(self, frames: int) -> None:
        """Lets so many more frames go."""
        with self._turn:
            self._allowed = self.sent + frames
            self._turn.notify()

    def end(self) -> None:
        """Sends no more; everything that was sent has been."""
        with self._turn:
            self._ended = True
            self._turn.notify()
        self._thread.join()


class PassingTest(StreamTest):
    """A stream that passes while entries change, a hundred times."""

    def expect_all(
        self, changes: Sequence[tuple[Callable[[], None], int]], stream: Stream | None = None
    ) -> Arrivals:
        """Makes the changes in turn, many times, while frames pass, and looks at each frame.

        Each change is a call and the TOS byte of frames behind it; the last one is in force at
        the beginning. Every frame has to come out, in order, marked by the setting before a
        change or by the one behind it: so the mark changes once with each change.
        """
        stream = stream or self.upstream(LENGTH)
        marks: list[tuple[int, int]] = []
        with self.recording(stream, _CAPACITY) as (capture, injector):
            passing = Passing(stream, capture, injector, max(self.params.batch, 2 * BATCH))
            try:
                for number in range(CHANGES):
                    change, mark = changes[number % len(changes)]
                    passing.allow(BATCHES_A_CHANGE * BATCH)
                    self._await(passing, passing.sent + 1)
                    change()
                    marks.append((passing.sent, mark))
                    passing.allow(BATCHES_A_CHANGE * BATCH)
                    # One that was sent behind the change has come out.
                    self._await(passing, passing.sent + 1)
            finally:
                passing.end()
            self._await(passing, passing.sent)
            arrivals = capture.arrivals()
        self._assert_marks(arrivals, passing.sent, marks, before=changes[-1][1])
        return arrivals

    def _await(self, passing: Passing, count: int) -> None:
        self.poll(
            lambda: f"{count} frames to come out: {passing.arrived()} did",
            lambda: passing.arrived() >= count,
        )

    def _assert_marks(
        self, arrivals: Arrivals, sent: int, marks: Sequence[tuple[int, int]], before: int
    ) -> None:
        self.assertEqual(arrivals.sequence.tolist(), list(range(sent)), "each frame once, in order")
        tos = arrivals.tos
        places = np.flatnonzero(np.diff(tos)) + 1
        turns = [int(tos[0]), *tos[places].tolist()]
        self.assertEqual(turns, [before, *(mark for _, mark in marks)], "marks in their order")
        # Behind the answer to a change nothing goes by what was before.
        for (behind, mark), place in zip(marks, places.tolist(), strict=True):
            self.assertLessEqual(place, behind, f"the first frame marked {mark:#04x}")


class PassingQueueTest(PassingTest, ShapingTest):
    """The same through a queue of the traffic manager's."""

    def passing_flow(self, mark: int, **shape: Any) -> int:
        """A shaped service flow that marks its frames."""
        return self.shaped_flow(**shape, tos=(0, mark), buffer_size=1_000_000)
