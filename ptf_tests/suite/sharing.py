# SPDX-License-Identifier: Apache-2.0
"""Service flows that share a channel: minimum reserved rates, then traffic priority, then fairly.

The rules: switch/proto/docsis/tm/v1/traffic_manager.proto, ServiceFlowConfig. All frames wait
when the channel opens, so what leaves when is the scheduler's decision alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from docsis_ptf import sharing_test
from docsis_ptf.docsis_test import MAX_FRAME
from docsis_ptf.sharing_test import Load

CHANNEL = 8_000_000
# The tolerance covers the capture's clock against the switch's, and the frames at either end.
SHARE_TOLERANCE = 0.02


class TrafficPriority(sharing_test.SharingTest):
    """TLV 24/25.7: of what waits the highest priority leaves first, to the last frame."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"priorities": (0, 3, 7)},
            {"priorities": (6, 7, 0, 5)},
            {"priorities": tuple(range(8))},
        ]

    def doRunTest(self, priorities: tuple[int, ...]) -> None:
        loads = [Load(60, 500, traffic_priority=priority) for priority in priorities]
        flows = self.flows_of(self.share(CHANNEL, loads))
        order = sorted(range(len(priorities)), key=lambda flow: -priorities[flow])
        self.assertEqual(flows.tolist(), [flow for flow in order for _ in range(60)])


class EqualShares(sharing_test.SharingTest):
    """Flows of equal priority share in equal bytes, whatever their frames' lengths."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"priority": priority} for priority in (0, 5)]

    def doRunTest(self, priority: int) -> None:
        lengths = (1500, 300, 777)
        loads = [Load(150_000 // n, n, traffic_priority=priority) for n in lengths]
        measured = self.share(CHANNEL, loads)
        sent = self.while_all_wait(measured)
        spread = sent.max(axis=1) - sent.min(axis=1)
        self.assertLessEqual(int(spread.max()), 2 * MAX_FRAME, "bytes that a flow is ahead")
        self.assert_channel(measured, CHANNEL)


class MinimumReservedRate(sharing_test.SharingTest):
    """TLV 24/25.10: a flow gets its minimum rate, whoever has priority for the rest."""

    def cases(self) -> Iterable[dict[str, Any]]:
        mbit = 1_000_000
        return [
            # (minimum rate, priority) of each flow, and the shares of 8 Mbit/s.
            {"flows": ((2 * mbit, 0), (0, 7)), "shares": (2, 6)},
            {"flows": ((1 * mbit, 0), (2 * mbit, 3), (0, 7)), "shares": (1, 2, 5)},
            # The rest of the channel goes by priority, then in equal shares.
            {"flows": ((4 * mbit, 0), (1 * mbit, 0)), "shares": (5.5, 2.5)},
            {"flows": ((3 * mbit, 2), (1 * mbit, 1)), "shares": (7, 1)},
            {"flows": ((6 * mbit, 0), (2 * mbit, 7)), "shares": (6, 2)},
        ]

    def doRunTest(self, flows: tuple[tuple[int, int], ...], shares: tuple[float, ...]) -> None:
        # As many frames as the flow is to send in a second, and some more.
        loads = [
            Load(int(share * 125) + 60, 1000, priority, minimum)
            for (minimum, priority), share in zip(flows, shares, strict=True)
        ]
        sent = self.while_all_wait(self.share(CHANNEL, loads))
        self.assertGreater(int(sent[-1].sum()), 800_000, "a flow was empty too soon")
        measured = sent[-1] / sent[-1].sum()
        for flow, share in enumerate(shares):
            self.assertAlmostEqual(measured[flow], share / 8, delta=SHARE_TOLERANCE)


class MinimumAtAnyTime(sharing_test.SharingTest):
    """The minimum rate holds in every window, not on average: the wait is bounded."""

    def doRunTest(self) -> None:
        minimum, length = 2_000_000, 500
        loads = [Load(300, length, 0, minimum), Load(600, 1500, 7)]
        measured = self.share(CHANNEL, loads)
        flows = self.flows_of(measured)
        end = int(np.flatnonzero(flows == 1)[-1])
        own = measured.only((flows == 0) & (np.arange(len(flows)) <= end))
        self.assertGreater(len(own.arrivals), 100)
        # Less one frame, and what comes while the port sends two frames of each flow
        # with a minimum.
        self.assert_minimum(own, minimum, MAX_FRAME * (1 + 2 * minimum / CHANNEL))


class AssumedPacketSize(sharing_test.SharingTest):
    """TLV 24/25.11: in the minimum rate a shorter frame counts for the assumed size."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"length": 250, "assumed": 0, "share": 2},
            {"length": 250, "assumed": 500, "share": 1},
            {"length": 250, "assumed": 250, "share": 2},
            {"length": 500, "assumed": 250, "share": 2},
            {"length": 100, "assumed": 800, "share": 0.25},
        ]

    def doRunTest(self, length: int, assumed: int, share: float) -> None:
        loads = [
            Load(int(share * 125_000 / length) + 60, length, 0, 2_000_000, assumed),
            Load(1000, 1000, 7),
        ]
        sent = self.while_all_wait(self.share(CHANNEL, loads))
        self.assertAlmostEqual(sent[-1][0] / sent[-1].sum(), share / 8, delta=SHARE_TOLERANCE)


class RatesWithin(sharing_test.SharingTest):
    """A flow's own rates bound it whatever its priority; what it leaves goes to the others."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"max_sustained_rate": 2_000_000, "peak_rate": 0, "minimum": 0},
            {"max_sustained_rate": 0, "peak_rate": 2_000_000, "minimum": 0},
            {"max_sustained_rate": 2_000_000, "peak_rate": 4_000_000, "minimum": 2_000_000},
        ]

    def doRunTest(self, max_sustained_rate: int, peak_rate: int, minimum: int) -> None:
        first = Load(
            310,
            1000,
            7,
            minimum,
            max_sustained_rate=max_sustained_rate,
            peak_rate=peak_rate,
        )
        measured = self.share(CHANNEL, [first, Load(750, 1000)])
        sent = self.while_all_wait(measured)
        self.assertAlmostEqual(sent[-1][0] / sent[-1].sum(), 2 / 8, delta=SHARE_TOLERANCE)
        self.assert_channel(measured, CHANNEL, len(sent))


class OverloadedMinimum(sharing_test.SharingTest):
    """Minimum rates above the channel in sum: nobody starves, and the channel is not exceeded."""

    def doRunTest(self) -> None:
        loads = [Load(700, 1000, priority, 6_000_000) for priority in (0, 7)]
        measured = self.share(CHANNEL, loads)
        sent = self.while_all_wait(measured)
        shares = sent[-1] / sent[-1].sum()
        self.assertGreater(float(shares.min()), 0.4, "shares of two flows with equal minimum rates")
        self.assert_channel(measured, CHANNEL)
