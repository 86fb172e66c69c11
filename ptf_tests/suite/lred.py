# SPDX-License-Identifier: Apache-2.0
"""LRED's decision at the head of the queue (001, figure 10c), of depth and of sojourn time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import manager_test, shaping_test
from docsis_ptf.chance import q4_28
from docsis_ptf.entities import Entry
from docsis_ptf.manager_test import SOME

LENGTH: Final = 100
HELD: Final = 200_000
LONG: Final = 1_000_000_000
"""Microseconds that no test takes."""


def curve(
    index: int, action: str, thresholds: tuple[int, int], probabilities: tuple[float, float]
) -> Entry:
    """An entry of LRED's table: bytes or microseconds, and Pmin and Pmax."""
    (low, high), (least, most) = thresholds, probabilities
    params = {
        "min_threshold": low,
        "max_threshold": high,
        "min_probability": q4_28(least),
        "max_probability": q4_28(most),
        "threshold_reciprocal": (1 << 32) // (high - low),
    }
    return Entry("FrameEgress.lred.parameters", action, params, {"service_flow": index})


class DepthThresholds(manager_test.ManagerTest):
    """The queue-depth form to the byte, the frame among them: none below MINth, Pmin at it."""

    manager = QueueManager.LRED

    def cases(self) -> Iterable[dict[str, Any]]:
        depth = HELD + LENGTH
        return [
            {"thresholds": (depth + 1, depth + 9), "probabilities": (1.0, 1.0), "passes": True},
            {"thresholds": (depth, depth + 9), "probabilities": (1.0, 1.0), "passes": False},
            {"thresholds": (depth, depth + 9), "probabilities": (0.0, 1.0), "passes": True},
            {"thresholds": (depth - 9, depth), "probabilities": (0.0, 1.0), "passes": False},
            {"thresholds": (0, 9), "probabilities": (0.0, 1.0), "passes": False},
        ]

    def doRunTest(
        self, thresholds: tuple[int, int], probabilities: tuple[float, float], passes: bool
    ) -> None:
        index = self.managed_flow(HELD)
        # Without parameters there is no LRED.
        self.assertTrue(self.fate(index, LENGTH))
        self.insert(curve(index, "set_depth_curve", thresholds, probabilities))
        before = self.fates(index)
        for _ in range(SOME):
            self.assertEqual(self.fate(index, LENGTH), passes)
        forwarded = SOME if passes else 0
        self.expect_fates(index, before, forwarded=forwarded, aqm=SOME - forwarded)
        # Dropped frames have left the queue all the same.
        self.assertEqual(self.client.state(index).backlog, HELD)


class DepthRates(manager_test.ManagerTest):
    """Pmin at MINth, a line up to MAXth, Pmax above."""

    manager = QueueManager.LRED
    comparisons = 4

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"thresholds": (HELD, 10_000 * HELD), "probability": 0.1},
            {"thresholds": (0, 2 * HELD), "probability": 0.3},
            {"thresholds": (0, 4 * HELD), "probability": 0.2},
            {"thresholds": (HELD // 2, HELD), "probability": 0.5},
        ]

    def doRunTest(self, thresholds: tuple[int, int], probability: float) -> None:
        index = self.managed_flow(HELD)
        self.insert(curve(index, "set_depth_curve", thresholds, (0.1, 0.5)))
        frames = self.params.frames // 5
        # Frames under way deepen the queue.
        low, high = thresholds
        more = 0.4 * self.params.batch * LENGTH / (high - low) if high > HELD else 0.0
        lost = self.lost(index, frames, LENGTH)
        self.assert_share(len(lost), frames, probability, probability + more)


class SojournRates(manager_test.ManagerTest):
    """The sojourn form: Pmin from MINth on, nothing below, Pmax far above."""

    manager = QueueManager.LRED
    comparisons = 1

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"thresholds": (0, LONG), "probability": 0.1},
            {"thresholds": (LONG, 2 * LONG), "probability": 0.0},
        ]

    def doRunTest(self, thresholds: tuple[int, int], probability: float) -> None:
        index = self.managed_flow(HELD)
        self.insert(curve(index, "set_sojourn_curve", thresholds, (0.1, 0.5)))
        frames = self.params.frames // 5
        dropped = len(self.lost(index, frames, LENGTH))
        if probability:
            self.assert_share(dropped, frames, probability)
        else:
            self.assertEqual(dropped, 0)


class Waiting(shaping_test.ShapingTest):
    """Frames that have waited for longer than MAXth go at Pmax, before MINth none does."""

    needs: ClassVar[tuple[str, ...]] = ("shaping",)
    FRAMES: ClassVar[int] = 20

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"thresholds": (1_000, 1_002), "probabilities": (0.0, 1.0), "sent": 0},
            {"thresholds": (1_000, LONG), "probabilities": (1.0, 1.0), "sent": 0},
            {"thresholds": (LONG, LONG + 2), "probabilities": (1.0, 1.0), "sent": 20},
        ]

    def doRunTest(
        self, thresholds: tuple[int, int], probabilities: tuple[float, float], sent: int
    ) -> None:
        index = self.shaped_flow(
            max_sustained_rate=100_000_000,
            max_burst=100_000,
            peak_rate=0,
            initial_tokens=100_000,
            queue_manager=int(QueueManager.LRED),
        )
        self.insert(curve(index, "set_sojourn_curve", thresholds, probabilities))
        before = self.fates(index)
        stream = self.upstream(LENGTH)
        with self.recording(stream, self.FRAMES) as (_, injector):
            self.block()
            injector.send(stream.frames(self.FRAMES))
            self.poll(
                "all frames", lambda: self.fates(index).received - before.received == self.FRAMES
            )
            queued = self.client.state(index).timestamp
            self.poll("a while", lambda: self.client.state(index).timestamp > queued + 1_500)
            self.release()
            self.expect_fates(index, before, forwarded=sent, aqm=self.FRAMES - sent)
        queue = self.queue_state(index)
        dropped, left = queue.egress_dropped.frames, queue.dequeued.frames
        self.assertEqual((dropped, left), (self.FRAMES - sent, sent))
