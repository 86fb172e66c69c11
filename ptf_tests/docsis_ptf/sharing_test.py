# SPDX-License-Identifier: Apache-2.0
"""Fifth rung: service flows that share a port of limited rate, all with frames waiting."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from docsis_ptf.classifier_test import CLASSIFIER
from docsis_ptf.docsis_test import MAX_FRAME, MODEM
from docsis_ptf.entities import Entry
from docsis_ptf.load_test import LoadTest, Measured
from docsis_ptf.shaper import QueueConfig

# UDP destination port of the first flow's frames; they count up from here.
FIRST_PORT: Final = 7000
# Sequence numbers of a flow begin at its position times this.
NUMBERS: Final = 1_000_000


@dataclass(frozen=True)
class Load:
    """A service flow and what waits in its queue: rates in bit/s, lengths in bytes."""

    frames: int
    length: int
    traffic_priority: int = 0
    min_reserved_rate: int = 0
    assumed_packet_size: int = 0
    max_sustained_rate: int = 0
    max_burst: int = 1522
    peak_rate: int = 0


class SharingTest(LoadTest):
    """The order in which the frames of several service flows leave one port."""

    def share(self, rate: int, loads: Sequence[Load]) -> Measured:
        """Queues all frames, then lets the port send at `rate`; returns them as they came out."""
        queues = [self._queue(position, load) for position, load in enumerate(loads)]
        # A byte a second, and none to begin with: nothing leaves before all wait.
        blocked = [
            replace(queue, max_sustained_rate=8, peak_rate=0, initial_tokens=0, min_reserved_rate=0)
            for queue in queues
        ]
        self.client.shaper.limit_port(self.rf, rate)
        self._undo.append(("the port's rate", lambda: self.client.shaper.limit_port(self.rf, 0)))
        for queue in blocked:
            self.configure(queue)
        stream = self.upstream(loads[0].length)
        total = sum(load.frames for load in loads)
        with self.timed() as timing, self.recording(stream, total) as (capture, injector):
            for position, (queue, load) in enumerate(zip(queues, loads, strict=True)):
                own = replace(stream, length=load.length, dst_port=FIRST_PORT + position)
                before = self.fates(queue.queue_id).received
                for first in range(0, load.frames, self.params.batch):
                    size = min(self.params.batch, load.frames - first)
                    injector.send(own.frames(size, position * NUMBERS + first))
                    self.await_received(queue.queue_id, before + first + size)
            offered_ns = time.time_ns()
            self.client.shaper.configure(queues)
            self.poll("the shared port's frames", lambda: capture.count() == total, seconds=60)
            arrivals = capture.arrivals()
        return Measured(arrivals, timing[0], offered_ns)

    def _queue(self, position: int, load: Load) -> QueueConfig:
        """Provisions a service flow that takes the frames of this position."""
        index = self.new_index()
        self.insert(
            self.queue(
                index,
                queue_id=index,
                buffer_size=100_000_000,
                traffic_priority=load.traffic_priority,
            )
        )
        port = FIRST_PORT + position
        match: Mapping[str, Any] = {"modem": MODEM, "l4_dst_port": (port, port)}
        self.insert(Entry(CLASSIFIER, "set_service_flow", {"service_flow": index}, match, 10))
        return QueueConfig(
            self.rf,
            index,
            load.max_sustained_rate,
            load.max_burst,
            load.peak_rate,
            traffic_priority=load.traffic_priority,
            min_reserved_rate=load.min_reserved_rate,
            assumed_packet_size=load.assumed_packet_size,
        )

    def flows_of(self, measured: Measured) -> npt.NDArray[np.int64]:
        """The position of each frame's flow; within a flow nothing is reordered."""
        sequence = measured.arrivals.sequence
        flows = sequence // NUMBERS
        for position in np.unique(flows):
            own = sequence[flows == position]
            self.assertTrue((np.diff(own) == 1).all(), f"frames of flow {position} were reordered")
        return np.asarray(flows, dtype=np.int64)

    def assert_channel(self, measured: Measured, rate: int, frames: int | None = None) -> None:
        """The port's rate is not exceeded, and used: of the first `frames` that came, or of all.

        A port is a bucket of one frame that is full when the first one leaves.
        """
        count = len(measured.arrivals)
        own = measured.only(np.arange(count) < (count if frames is None else frames))
        self.assert_conforms(own, rate, MAX_FRAME, "the port's rate")
        needed_ns = float(own.arrivals.length.sum() - MAX_FRAME) * 8e9 / rate
        self.assert_no_later(own.lasted_ns, needed_ns, own.timing)

    def assert_minimum(self, measured: Measured, rate: int, slack: float) -> None:
        """A flow that always has frames sends at least (t2 - t1 - L) rate / 8 - slack bytes.

        `measured` has the flow's frames alone; `slack` is in bytes.
        """
        times, sent = measured.arrivals.time_ns, measured.arrivals.length.cumsum()
        earned = (times - times[0]) * (rate / 8e9)
        # The most that is owed before a frame since just after an earlier one.
        before = earned - (sent - measured.arrivals.length)
        owed = before[1:] - np.minimum.accumulate(earned - sent)[:-1]
        allowed = slack + rate / 8e9 * measured.timing.longer_ns
        self.assertLessEqual(
            float(owed.max()), allowed, f"bytes short of {rate} bit/s; {measured.timing}"
        )

    def while_all_wait(self, measured: Measured) -> npt.NDArray[np.int64]:
        """Bytes of each flow after each frame, until one has no more; shape (frames, flows).

        Who is next depends on no clock but the switch's, so no lateness shows in it.
        """
        flows = self.flows_of(measured)
        count = int(flows.max()) + 1
        ends = [int(np.flatnonzero(flows == position)[-1]) for position in range(count)]
        by_flow = np.zeros((min(ends) + 1, count), dtype=np.int64)
        rows = np.arange(len(by_flow))
        by_flow[rows, flows[: len(rows)]] = measured.arrivals.length[: len(rows)]
        return np.asarray(by_flow.cumsum(axis=0))
