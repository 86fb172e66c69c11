# SPDX-License-Identifier: Apache-2.0
"""Entries change while a stream passes: each frame goes by the old or the new one, none is lost.

Each setting marks its frames in the TOS byte, so a frame tells which one it met.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import grpc
from finsy.proto import p4r

from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import passing_test
from docsis_ptf.classifier_test import CLASSIFIER
from docsis_ptf.docsis_test import MODEM
from docsis_ptf.entities import Entry
from docsis_ptf.messages import DELETE, INSERT, MODIFY, Do, Exact, Match, Names, Ternary, update
from docsis_ptf.rpc import OK, Rpc

UDP = 17
MARKS = (0x20, 0x40, 0x60)


def marked(mark: int) -> dict[str, Any]:
    """The configuration of a service flow that marks its frames."""
    return {"tos": (0, mark)}


class Classifiers(passing_test.PassingTest):
    """A classifier comes, names another service flow, meets a higher one, and goes."""

    def rule(self, index: int, priority: int = 10) -> Entry:
        match: dict[str, Any] = {"modem": MODEM, "ip_protocol": (UDP, 0xFF)}
        params = {"service_flow": index}
        return Entry(CLASSIFIER, "set_service_flow", params, match, priority)

    def doRunTest(self) -> None:
        # Where no rule matches.
        rest = self.service_flow(**marked(0x80))
        self.make_primary(rest)
        flows = [self.service_flow(**marked(mark)) for mark in MARKS]
        before = {flow: self.fates(flow) for flow in (rest, *flows)}
        high = self.rule(flows[2], priority=20)
        arrivals = self.expect_all([
            (lambda: self.client.insert(self.rule(flows[0])), MARKS[0]),
            (lambda: self.client.modify(self.rule(flows[1])), MARKS[1]),
            (lambda: self.client.insert(high), MARKS[2]),
            (lambda: self.client.delete(high), MARKS[1]),
            (lambda: self.client.delete(self.rule(flows[1])), 0x80),
        ])  # fmt: skip
        for flow, mark in zip((rest, *flows), (0x80, *MARKS), strict=True):
            frames = int((arrivals.tos == mark).sum())
            self.expect_fates(flow, before[flow], forwarded=frames)
            state = self.client.state(flow)
            octets = frames * passing_test.LENGTH
            self.assertEqual((state.enqueued_bytes, state.dequeued_bytes), (octets, octets))


class QueueParameters(passing_test.PassingTest):
    """A service flow's buffer, largest frame, marking, queue manager and generation change."""

    def doRunTest(self) -> None:
        index = self.service_flow(**marked(MARKS[2]))
        self.make_primary(index)
        before = self.fates(index)
        settings: tuple[dict[str, Any], ...] = (
            # Not the priority: BMv2 has queues by it, in which frames would overtake each other.
            {"buffer_size": 500_000, "max_frame": 1000},
            # CoDel drops nothing of a queue that is as good as empty.
            {"queue_manager": int(QueueManager.CODEL), "generation": 1},
            {"latency_target": 1, "generation": 2},
        )

        def change(mark: int, setting: dict[str, Any]) -> None:
            self.client.modify(self.queue(index, **marked(mark), **setting))

        arrivals = self.expect_all([
            (lambda mark=mark, setting=setting: change(mark, setting), mark)  # type: ignore[misc]
            for mark, setting in zip(MARKS, settings, strict=True)
        ])  # fmt: skip
        self.expect_fates(index, before, forwarded=len(arrivals))
        octets = len(arrivals) * passing_test.LENGTH
        state = self.client.state(index)
        self.assertEqual((state.enqueued_bytes, state.dequeued_bytes), (octets, octets))
        (resynchronized,) = self.counts("sf_resynchronized", index)
        self.assertEqual(resynchronized.packets, 0, "times that the books were wrong")


class QueueRates(passing_test.PassingQueueTest):
    """The traffic manager's rates of a queue change: frames stay in their order, none is lost."""

    needs: ClassVar[tuple[str, ...]] = ("shaping",)

    def doRunTest(self) -> None:
        index = self.passing_flow(
            MARKS[1],
            max_sustained_rate=1_000_000_000,
            max_burst=100_000,
            peak_rate=0,
            initial_tokens=100_000,
        )
        fast = self.shape
        slow = replace(fast, max_sustained_rate=100_000_000, peak_rate=200_000_000)
        before = self.fates(index)

        def change(mark: int, shape: Any) -> None:
            self.client.shaper.configure([shape])
            # The pipeline marks what comes from now on; what waits has its mark already.
            entry = self.queue(index, queue_id=index, buffer_size=1_000_000, **marked(mark))
            self.client.modify(entry)

        arrivals = self.expect_all([
            (lambda: change(MARKS[0], slow), MARKS[0]),
            (lambda: change(MARKS[1], fast), MARKS[1]),
        ])  # fmt: skip
        self.expect_fates(index, before, forwarded=len(arrivals))
        queue = self.queue_state(index)
        self.assertEqual(queue.dequeued.frames, len(arrivals))
        self.assertEqual((queue.overflow.frames, queue.queued.frames), (0, 0))


class AtomicChange(passing_test.PassingTest):
    """DATAPLANE_ATOMIC, where a target has it: no frame sees a part of a batch.

    A classifier moves to a service flow whose queue comes with it, and whose old queue goes: a
    frame between two of the three updates would find no queue, and be dropped.
    """

    def doRunTest(self) -> None:
        names = Names(self.client.pipeline.schema)
        rpc = Rpc(self.params.grpc, self.params.device_id, self.params.timeout)
        self.addCleanup(rpc.close)
        flows = {mark: self.new_index() for mark in MARKS[:2]}
        entries = {
            mark: self.queue(index, **marked(mark)) for mark, index in flows.items()
        }  # fmt: skip

        def rule(mark: int) -> Any:
            match: dict[str, Match] = {
                "modem": Exact(MODEM),
                "ip_protocol": Ternary(UDP, 0xFF),
            }
            do = Do("set_service_flow", {"service_flow": flows[mark]})
            return names.entry(CLASSIFIER, match, do, 10)

        def queue(mark: int) -> Any:
            entry = entries[mark]
            match = {"service_flow": Exact(flows[mark])}
            return names.entry(entry.table, match, Do(entry.action, entry.params))

        def move(to: int, away: int) -> None:
            batch = [
                update(DELETE, queue(away)),
                update(MODIFY, rule(to)),
                update(INSERT, queue(to)),
            ]
            answer = rpc.write(
                batch, self.params.election_id, atomicity=p4r.WriteRequest.DATAPLANE_ATOMIC
            )
            if grpc.StatusCode.UNIMPLEMENTED in (answer.code, *answer.errors):
                self.skipTest(f"{self.params.target}: DATAPLANE_ATOMIC: {answer}")
            self.assertIs(answer.code, OK, f"{answer}")

        first, second = MARKS[:2]
        rpc_before = [update(INSERT, queue(first)), update(INSERT, rule(first))]
        answer = rpc.write(rpc_before, self.params.election_id)
        self.assertIs(answer.code, OK, f"{answer}")
        before = {index: self.fates(index) for index in flows.values()}
        arrivals = self.expect_all([
            (lambda: move(second, first), second),
            (lambda: move(first, second), first),
        ])  # fmt: skip
        for mark, index in flows.items():
            self.expect_fates(index, before[index], forwarded=int((arrivals.tos == mark).sum()))
