# SPDX-License-Identifier: Apache-2.0
"""Fifth rung: queue managers other than DOCSIS-PIE, on service flows with a fixed backlog."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from docsis_control.queue_managers.names import QueueManager
from docsis_ptf.aqm_test import HELD, AqmTest
from docsis_ptf.chance import Evenly, Geometric, Uniform, binomial_error
from docsis_ptf.renewal import CONFIDENCE, KOLMOGOROV_QUANTILE, NORMAL_QUANTILE, kolmogorov_distance

# Above what is held and under way: no tail drops.
LARGE_BUFFER: Final = 10_000_000
# Frames of one by one that must all have the same fate.
SOME: Final = 30


class ManagerTest(AqmTest):
    """Decisions of `manager`, one by one or many at a time.

    Attributes:
        manager: The queue manager of `managed_flow`.
    """

    manager: ClassVar[QueueManager]

    def managed_flow(self, backlog: int = HELD, **config: Any) -> int:
        """A service flow under `manager` with `backlog` bytes held in it."""
        config = {"buffer_size": LARGE_BUFFER, "queue_manager": int(self.manager), **config}
        return self.aqm_flow(backlog, **config)

    def fate(self, index: int, length: int = 100) -> bool:
        """Whether one frame, alone on its way, is forwarded."""
        return len(self.run_stream(self.upstream(length), 1, index, batch=1)) == 1

    def lost(self, index: int, frames: int, length: int = 100) -> npt.NDArray[np.int64]:
        """The positions of those that are dropped of so many frames, all by the manager."""
        before = self.fates(index)
        arrivals = self.run_stream(self.upstream(length), frames, index)
        dropped = self.dropped(arrivals, frames)
        self.expect_fates(index, before, forwarded=len(arrivals), aqm=len(dropped))
        return dropped

    def assert_rate(self, dropped: int, frames: int, low: float, high: float | None = None) -> None:
        """So many drops may come of a probability between `low` and `high`."""
        high = low if high is None else high
        least = frames * low - binomial_error(low, frames)
        most = frames * high + binomial_error(high, frames)
        said = f"{dropped} of {frames} dropped, {CONFIDENCE} confidence"
        self.assertTrue(least <= dropped <= most, f"{said}: {least:.1f} to {most:.1f}")

    def assert_distances(
        self, found: npt.NDArray[np.int64], model: Evenly | Geometric | Uniform
    ) -> None:
        """Distances between drops have a distribution, and its mean."""
        self.assertGreater(len(found), 100, "too few drops to say anything")
        error = NORMAL_QUANTILE * model.deviation / math.sqrt(len(found))
        self.assertAlmostEqual(float(found.mean()), model.mean, delta=error)
        self.assertLess(
            kolmogorov_distance(found, model),
            KOLMOGOROV_QUANTILE / math.sqrt(len(found)),
            f"Kolmogorov-Smirnov over {len(found)} drops, {CONFIDENCE} confidence",
        )
