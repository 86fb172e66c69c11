# SPDX-License-Identifier: Apache-2.0
"""PIE as 002's appendix has it: the decision to drop, and the departure rate in packets.

Against the slides' own words, at random times, the pipeline runs in
`switch/crates/device/tests/it/pie_002.rs`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from docsis_control.law.pie_002 import RATE_ONE
from docsis_control.queue_managers.managers.pie_002 import PARAMETERS as PIE_002
from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import manager_test
from docsis_ptf.chance import q4_28
from docsis_ptf.entities import Entry
from docsis_ptf.manager_test import SOME
from docsis_ptf.renewal import ONE

THRESHOLD: Final = 16
MAX_BURST_US: Final = 142_000
LONG_BURST_US: Final = 60_000_000
"""Longer than any measurement here takes, so that what is taken of it tells how long that was."""
RECIPROCAL_ERROR: Final = 1.2e-5
"""The pipeline's 1 / x is too small by at most that part of it (p4src/include/reciprocal.p4)."""


def parameters(index: int) -> Entry:
    """A service flow's entry."""
    params = {"dq_threshold": THRESHOLD, "max_burst": LONG_BURST_US}
    return Entry(PIE_002, "set_pie_002", params, {"service_flow": index})


class Rates(manager_test.ManagerTest):
    """The share that is dropped is drop_prob, at any length, and however short the delay was."""

    manager = QueueManager.PIE_002
    comparisons = 2

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"probability": p, "size": size} for p, size in ((0.1, 64), (0.5, 1500))]

    def doRunTest(self, probability: float, size: int) -> None:
        frames = self.params.frames // 5
        index = self.managed_flow()
        self.control(index, drop_prob=q4_28(probability), qdelay_old=0)
        self.assert_share(len(self.lost(index, frames, size)), frames, probability)


class Certain(manager_test.ManagerTest):
    """At 1 every frame is dropped, at 0 none, with a queue of any length in front of it."""

    manager = QueueManager.PIE_002

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"drop_prob": drop_prob, "backlog": backlog, "lost": lost}
            for drop_prob, backlog, lost in ((ONE, 5_000, SOME), (ONE, 64, SOME), (0, 5_000, 0))
        ]

    def doRunTest(self, drop_prob: int, backlog: int, lost: int) -> None:
        index = self.managed_flow(backlog)
        self.control(index, drop_prob=drop_prob)
        self.assertEqual(len(self.lost(index, SOME)), lost)
        self.assertEqual(self.client.state(index).arrivals, SOME)


class EmptyQueue(manager_test.ManagerTest):
    """A frame that finds nothing waiting is not looked at, and wakes no update."""

    manager = QueueManager.PIE_002

    def doRunTest(self) -> None:
        index = self.managed_flow(0)
        self.control(index, drop_prob=ONE)
        for _ in range(SOME):
            self.assertTrue(self.fate(index))
        state = self.client.state(index)
        self.assertEqual(state.arrivals, 0)
        self.assertEqual((state.enqueued_packets, state.dequeued_packets), (SOME, SOME))


class SilentController(manager_test.ManagerTest):
    """A probability that nobody maintains drops nothing, and that is counted."""

    manager = QueueManager.PIE_002

    def doRunTest(self) -> None:
        index = self.managed_flow()
        self.control(index, drop_prob=ONE, heartbeat=0)
        before = self.fates(index)
        self.run_stream(self.upstream(100), SOME, index)
        self.expect_fates(index, before, forwarded=SOME, silent=SOME)


class BurstAllowance(manager_test.ManagerTest):
    """While a burst is allowed nothing is dropped, whatever drop_prob is."""

    manager = QueueManager.PIE_002
    needs: ClassVar[tuple[str, ...]] = ("registers",)

    def doRunTest(self) -> None:
        index = self.managed_flow()
        self.control(index, drop_prob=ONE)
        for allowance, lost in ((MAX_BURST_US, 0), (1, 0), (0, 3)):
            self.client.set_register("pie_002_burst_allowance", index, allowance)
            self.assertEqual(len(self.lost(index, 3)), lost, f"{allowance} us")


class DepartureRate(manager_test.ManagerTest):
    """departure_rate: from dq_threshold packets in the queue on, since the last reset."""

    manager = QueueManager.PIE_002
    needs: ClassVar[tuple[str, ...]] = ("registers",)

    def depart(self, index: int, frames: int) -> tuple[float, int, int]:
        """So many leave one by one: packets a second, the reset, the allowance behind them."""
        arrivals = self.run_stream(self.upstream(1000), frames, index, batch=1)
        self.assertEqual(len(arrivals), frames)
        register = self.client.state(index).departure_rate
        allowance = self.client.register("pie_002_burst_allowance", index)
        return (register & ((1 << 40) - 1)) / RATE_ONE, register >> 40, allowance

    def doRunTest(self) -> None:
        index = self.managed_flow()
        self.insert(parameters(index))
        # A packet less than the threshold stays behind each frame: no measurement.
        self.client.set_register("pie_002_enqueued", index, THRESHOLD - 1)
        self.control(index, 1)
        self.assertEqual(self.depart(index, 2 * THRESHOLD), (0, 1, LONG_BURST_US))
        # The first frame begins one, and is its first; the 16th ends it.
        self.client.set_register("pie_002_dequeued", index, 2 * THRESHOLD - 1)
        before = self.client.state(index).timestamp
        self.assertEqual(self.depart(index, THRESHOLD - 1), (0, 1, LONG_BURST_US))
        rate, _, allowance = self.depart(index, 1)
        elapsed = self.client.state(index).timestamp - before
        taken = LONG_BURST_US - allowance
        self.assertTrue(0 < taken <= elapsed, f"{taken} of {elapsed} us")
        # So many packets in the very time that was taken of the allowance.
        packets = rate * taken / 1e6
        error = f"{packets} packets in {taken} us"
        self.assertLessEqual(packets, THRESHOLD, error)
        # The register's own unit is a part of a packet a second.
        least = THRESHOLD * (1 - RECIPROCAL_ERROR) - taken / 1e6 / RATE_ONE
        self.assertGreaterEqual(packets, least, error)
        # Another number of resets: all afresh with the next frame.
        self.control(index, 2)
        self.assertEqual(self.client.state(index).departure_rate >> 40, 1)
        self.assertEqual(self.depart(index, 1), (0, 2, LONG_BURST_US))
