# SPDX-License-Identifier: Apache-2.0
"""Fifth rung: queue managers other than DOCSIS-PIE, on service flows with a fixed backlog."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from docsis_control.queue_managers.names import QueueManager
from docsis_ptf.aqm_test import HELD, AqmTest

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
