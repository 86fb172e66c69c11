# SPDX-License-Identifier: Apache-2.0
"""Fourth rung: DOCSIS-PIE's data path, with the control path played by the test."""

from __future__ import annotations

import math
from typing import Any, Final

from docsis_ptf.entities import ACTIVE, Control, State, aqm_state
from docsis_ptf.renewal import MEAN_PKTSIZE, ONE, PROB_HIGH
from docsis_ptf.stream_test import StreamTest

# Enough not to suppress a drop (RFC 8034 A.3: more than 2 * MEAN_PKTSIZE).
HELD: Final = 5_000
LATENCY_TARGET_US: Final = 10_000
# qdelay_old from which on a small drop_prob is not suppressed.
SLOW_US: Final = LATENCY_TARGET_US // 2
# A frame of MEAN_PKTSIZE has p1 = drop_prob.
SIZE: Final = MEAN_PKTSIZE
# The largest drop_prob that a short delay suppresses (below 0.2), and the number of
# frames after which accu_prob is at PROB_HIGH and a drop is certain.
SUPPRESSIBLE: Final = math.floor(0.1999 * ONE)
CERTAIN_AFTER: Final = -(-PROB_HIGH // SUPPRESSIBLE)


class AqmTest(StreamTest):
    """Service flows with a fixed backlog and a forced drop_prob.

    The controller is the test, so a probability stays until it is changed.
    """

    def aqm_flow(self, backlog: int = HELD, buffer_size: int = 15_000, **config: Any) -> int:
        """A service flow with queue management on and `backlog` bytes held in it.

        By default that is a third of the buffer, where control begins.
        """
        index = self.service_flow()
        if backlog:
            self.hold(index, backlog)
        self.make_primary(index)
        self.client.provision(index, 0)
        self.modify(self.queue(index, buffer_size=buffer_size, aqm=True, **config))
        return index

    def control(self, index: int, state: int = ACTIVE, **values: int) -> State:
        """Plays the controller's update: acknowledges the data path, sets the rest.

        The heartbeat is the switch's time now unless given.
        """
        seen = self.client.state(index)
        values.setdefault("control_state", aqm_state(state, seen.data_state >> 2))
        values.setdefault("heartbeat", max(seen.timestamp, 1))
        return self.client.update(index, Control(**values))

    def pass_frames(self, index: int, count: int, length: int = SIZE) -> State:
        """Sends frames one by one that must all be forwarded; returns the state behind them."""
        arrivals = self.run_stream(self.upstream(length), count, index, batch=1)
        self.assertEqual(len(arrivals), count, f"dropped: {self.dropped(arrivals, count)}")
        return self.client.state(index)

    def drop_frame(self, index: int, length: int = SIZE) -> State:
        """Sends one frame that queue management must drop."""
        before = self.fates(index)
        arrivals = self.run_stream(self.upstream(length), 1, index)
        self.assertEqual(len(arrivals), 0, "the frame should have been dropped")
        self.expect_fates(index, before, aqm=1)
        return self.client.state(index)

    def charge(self, index: int, state: int = ACTIVE) -> None:
        """Fills accu_prob, without a drop, until the next frame that may be dropped must be."""
        self.control(index, state, drop_prob=SUPPRESSIBLE)
        after = self.pass_frames(index, CERTAIN_AFTER)
        self.assertGreaterEqual(after.accu_prob, PROB_HIGH)

    def arm(self, index: int, state: int = ACTIVE, **values: int) -> None:
        """`charge`, and then a drop_prob that no short delay suppresses."""
        self.charge(index, state)
        values = {"drop_prob": SUPPRESSIBLE, "qdelay_old": SLOW_US, **values}
        self.control(index, state, **values)
