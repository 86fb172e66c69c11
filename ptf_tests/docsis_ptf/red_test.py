# SPDX-License-Identifier: Apache-2.0
"""Sixth rung: service flows under Adaptive RED."""

from __future__ import annotations

from typing import Any, Final

from docsis_control.queue_managers.names import QueueManager
from docsis_ptf.entities import Entry
from docsis_ptf.manager_test import ManagerTest

AT_ONCE: Final = 0xFFFF
"""A weight, Q0.16: the average is the queue, but for a 65536th of what it was."""
HELD: Final = 100_000


class RedTest(ManagerTest):
    """Service flows under Adaptive RED. `thresholds` in bytes."""

    manager = QueueManager.ADAPTIVE_RED

    def red_flow(
        self, thresholds: tuple[int, int], weight: int = AT_ONCE, backlog: int = HELD, **config: Any
    ) -> int:
        """One with these parameters."""
        index = self.managed_flow(backlog, **config)
        self.insert(self.parameters(index, thresholds, weight))
        return index

    def parameters(self, index: int, thresholds: tuple[int, int], weight: int) -> Entry:
        """An entry of Adaptive RED's table."""
        low, high = thresholds
        params = {
            "min_threshold": low,
            "max_threshold": high,
            "weight": weight,
            "threshold_reciprocal": (1 << 32) // (high - low),
        }
        match = {"service_flow": index}
        return Entry("FrameIngress.adaptive_red.parameters", "set_red", params, match)
