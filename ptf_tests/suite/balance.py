# SPDX-License-Identifier: Apache-2.0
"""Every frame is counted once as received and once for what became of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from docsis_control.lengths import FCS_BYTES
from docsis_ptf import aqm_test, shaping_test
from docsis_ptf.aqm_test import SLOW_US
from docsis_ptf.classifier_test import CLASSIFIER
from docsis_ptf.docsis_test import FATE_COUNTERS, MAX_FRAME, MODEM, UNKNOWN_MAC, Fates
from docsis_ptf.entities import ACTIVE, Entry
from docsis_ptf.renewal import ONE, PROB_LOW
from docsis_ptf.stream_test import HOLD_FRAME


class Mixture(aqm_test.AqmTest):
    """Forwarded, flooded, dropped for each reason, held: the sums agree, in frames and bytes."""

    comparisons = 1

    def doRunTest(self) -> None:
        held = 6_000
        index = self.aqm_flow(backlog=held, buffer_size=1_000_000)
        full = self.service_flow(buffer_size=1000)
        unprovisioned = self.new_index()
        for port, flow in ((7777, unprovisioned), (7778, full)):
            action = {"service_flow": flow}
            match: dict[str, Any] = {"modem": MODEM, "l4_dst_port": (port, port)}
            self.insert(Entry(CLASSIFIER, "set_service_flow", action, match, 10))
        self.control(index, ACTIVE, drop_prob=ONE, qdelay_old=SLOW_US)
        everything = range(unprovisioned + 1)
        before = self.all_fates(everything)
        ports = self.counts("port_received", self.near, self.far, self.rf)

        rounds, batch = 20, self.params.batch // 2
        # Each of one fate, but for the first; the last is downstream.
        mixture = [
            (self.near, self.upstream(1024), index),  # forwarded, early drops
            (self.near, self.upstream(1001, dst_port=7778), full),  # buffer full
            (self.near, self.upstream(MAX_FRAME + 1), index),  # policed
            (self.near, self.upstream(300, dst_port=7777), unprovisioned),
            (self.rf, replace(self.upstream(200), dst_mac=UNKNOWN_MAC), 0),  # flooded
        ]
        malformed = np.zeros((batch, 20), dtype=np.uint8)
        malformed[:, 12] = 0x08  # EtherType 0x0800: announces IPv4
        octets = 0
        for _ in range(rounds):
            for port, stream, flow in mixture:
                octets += self.burst(port, stream.frames(batch), flow)
            octets += self.burst(self.near, malformed, 0)

        after = self.all_fates(everything)
        frames = rounds * batch * (len(mixture) + 1)
        rise = [after[flow] - before[flow] for flow in everything]
        for flow in everything:
            self.assertEqual(rise[flow].received, rise[flow].finished, f"service flow {flow}")
        self.assertEqual(sum(fates.received for fates in rise), frames)
        quantity = rounds * batch
        self.assertEqual(rise[full].buffer_full, quantity)
        self.assertEqual(rise[index].policed, quantity)
        self.assertEqual(rise[unprovisioned].no_classifier, quantity)
        self.assertEqual((rise[0].malformed, rise[0].flooded), (quantity, quantity))
        self.assertEqual(rise[index].forwarded + rise[index].aqm, quantity)
        # Of each frame's own probability; the sum of both is known already.
        self.assert_share(rise[index].aqm, quantity, PROB_LOW / ONE)
        # Exactly the held frames are still queued.
        self.assertEqual(self.client.state(index).backlog, held)
        now = self.counts("port_received", self.near, self.far, self.rf)
        received = [a - b for a, b in zip(now, ports, strict=True)]
        self.assertEqual(sum(count.packets for count in received), frames)
        self.assertEqual(sum(count.octets for count in received), octets)
        self.assert_bytes(index, held)

    def burst(self, port: int, frames: Any, flow: int) -> int:
        """Sends frames and waits until the switch is done with them; returns their bytes."""
        before = self.fates(flow)
        with self.deaf(), self.injector(port) as injector:
            injector.send(frames)
            done = before.finished + len(frames)
            self.poll("the fates of a burst", lambda: self.fates(flow).finished == done)
        return int(frames.size)

    def all_fates(self, flows: range) -> list[Fates]:
        """Reads the fates of frames by service flow, "none" and those that this test uses."""
        cells = [(name, flow) for flow in flows for name in FATE_COUNTERS]
        counts = [count.packets for count in self.client.counters(cells)]
        width = len(FATE_COUNTERS)
        return [Fates(*counts[width * flow : width * (flow + 1)]) for flow in flows]

    def assert_bytes(self, index: int, held: int) -> None:
        """The same balance in bytes, which v1model's counters have without the FCS."""
        held -= FCS_BYTES * (held // HOLD_FRAME)
        counts = self.client.counters([(name, index) for name in FATE_COUNTERS])
        received, *fates = (count.octets for count in counts[:-1])
        self.assertEqual(received, sum(fates) + held)


class Queued(shaping_test.ShapingTest):
    """While frames wait, received is what was forwarded and dropped and what is queued."""

    def doRunTest(self) -> None:
        length, count = 500, 400
        index = self.shaped_flow(
            max_sustained_rate=1_000_000,
            max_burst=2_000,
            peak_rate=2_000_000,
            initial_tokens=2_000,
            buffer_size=length * count // 2,
        )
        before = self.fates(index)
        stream = self.upstream(length)
        with self.recording(stream, count) as (capture, injector):
            # Nothing leaves until all have come, so about half of them find a full buffer.
            self.block()
            for first in range(0, count, self.params.batch):
                size = min(self.params.batch, count - first)
                injector.send(stream.frames(size, first))
                self.await_received(index, before.received + first + size)
                self.look(index, before, length)
            self.release()
            assert_time_left = self.time_limit("an empty queue in the books", seconds=60)
            while self.client.state(index).backlog:
                assert_time_left()
                self.look(index, before, length)
            self.poll("the last frame", lambda: capture.count() + self.dropped_of(index) == count)
        self.look(index, before, length)
        fates = self.fates(index) - before
        self.assertEqual(fates.received, fates.finished)
        self.assertGreater(fates.buffer_full, 0)

    def dropped_of(self, index: int) -> int:
        return self.fates(index).buffer_full

    def look(self, index: int, before: Fates, length: int) -> None:
        """One reading of the counters is of one moment; the backlog is read on either side."""
        earlier = self.client.state(index)
        fates = self.fates(index) - before
        later = self.client.state(index)
        queued = (fates.received - fates.finished) * length
        most = later.enqueued_bytes - earlier.dequeued_bytes
        least = earlier.enqueued_bytes - later.dequeued_bytes
        self.assertTrue(least <= queued <= most, f"{least} <= {queued} <= {most}")
