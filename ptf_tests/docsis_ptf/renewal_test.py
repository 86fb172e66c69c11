# SPDX-License-Identifier: Apache-2.0
"""Fifth rung: many frames at a constant drop_prob, and the distances between the drops."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_ptf.aqm_test import SLOW_US, AqmTest
from docsis_ptf.entities import ACTIVE
from docsis_ptf.renewal import Renewal, distances, p1_of

# A held backlog that is far above 2 * MEAN_PKTSIZE whatever is under way besides.
LARGE_BUFFER: Final = 10_000_000


class RenewalTest(AqmTest):
    """Distances between drops at a constant probability."""

    def observe(
        self, drop_prob: int, size: int, frames: int
    ) -> tuple[Renewal, npt.NDArray[np.int64]]:
        """Sends `frames`; returns the model and the distances between the drops.

        No distance is shorter than the shortest possible one, or longer than the longest.
        """
        index = self.aqm_flow(buffer_size=LARGE_BUFFER)
        self.control(index, ACTIVE, drop_prob=drop_prob, qdelay_old=SLOW_US)
        before = self.fates(index)
        arrivals = self.run_stream(self.upstream(size), frames, index)
        dropped = self.dropped(arrivals, frames)
        self.expect_fates(index, before, forwarded=len(arrivals), aqm=len(dropped))
        # Before the first frame accu_prob is 0, as after a drop.
        model, found = Renewal(p1_of(drop_prob, size)), distances(np.insert(dropped, 0, -1))
        self.assertGreaterEqual(int(found.min(initial=model.shortest)), model.shortest)
        self.assertLessEqual(int(found.max(initial=model.longest)), model.longest)
        return model, found
