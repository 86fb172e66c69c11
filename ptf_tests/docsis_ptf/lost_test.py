# SPDX-License-Identifier: Apache-2.0
"""Fourth rung: frames that are lost between ingress and egress."""

from __future__ import annotations

from docsis_ptf.docsis_test import LAST_US, ORDER, PATIENCE
from docsis_ptf.entities import Entry
from docsis_ptf.stream_test import StreamTest


class LostTest(StreamTest):
    """Service flows some of whose frames were lost."""

    def believe(self, index: int, settling_time: int = 0, standstill: int = LAST_US) -> None:
        """Sets the times that the books wait for, microseconds."""
        match = {"service_flow": index}
        self.insert(Entry(ORDER, "set_settling_time", {"settling_time": settling_time}, match))
        self.insert(Entry(PATIENCE, "set_standstill", {"standstill": standstill}, match))

    def resynchronized(self, index: int) -> int:
        """Times that the books were brought back to the truth."""
        return self.client.counters([("sf_resynchronized", index)])[0].packets

    def backlog(self, index: int) -> int:
        """Bytes that the pipeline takes for queued."""
        return self.client.state(index).backlog

    def passes(self, index: int, length: int = 100) -> bool:
        """Whether one frame, alone on its way, is forwarded."""
        return len(self.run_stream(self.upstream(length), 1, index, batch=1)) == 1
