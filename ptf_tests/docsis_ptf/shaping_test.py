# SPDX-License-Identifier: Apache-2.0
"""Third rung for tests of the traffic manager (shaper.py)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from docsis_ptf.docsis_test import MAX_FRAME
from docsis_ptf.entities import Entry
from docsis_ptf.shaper import SHAPING, QueueConfig, QueueState
from docsis_ptf.stream_test import StreamTest


class ShapingTest(StreamTest):
    """Service flows with a queue of their own, shaped in bytes.

    Attributes:
        shape: The configuration of the latest `shaped_flow`.
    """

    needs: ClassVar[tuple[str, ...]] = (SHAPING,)
    shape: QueueConfig

    def shaped_flow(
        self,
        *,
        max_sustained_rate: int,
        max_burst: int,
        peak_rate: int,
        initial_tokens: int,
        **config: Any,
    ) -> int:
        """Provisions a service flow, its queue and both halves of its token bucket.

        Rates in bit/s, burst and tokens in bytes; `config` as for `queue`.
        """
        index = self.new_index()
        self.shape = QueueConfig(
            self.rf, index, max_sustained_rate, max_burst, peak_rate, initial_tokens
        )
        self.configure(self.shape)
        self.client.provision(index, initial_tokens)
        self.insert(self.bucket(index, max_sustained_rate, max_burst))
        self.insert(self.queue(index, queue_id=index, **config))
        self.make_primary(index)
        return index

    def configure(self, queue: QueueConfig) -> None:
        """Creates a queue for the rest of the case."""
        self.client.shaper.configure([queue])
        key = queue.port, queue.queue_id
        self._undo.append((f"queue {key}", lambda: self.client.shaper.remove([key])))

    def block(self) -> None:
        """Lets nothing leave the queue of `shape` from now on; its frames stay."""
        # A byte a second, and none to begin with.
        blocked = replace(
            self.shape,
            max_sustained_rate=8,
            max_burst=max(self.shape.max_burst, MAX_FRAME),
            peak_rate=0,
            initial_tokens=0,
        )
        self.client.shaper.configure([blocked])

    def release(self) -> None:
        """Gives the queue its rates and its initial tokens."""
        self.client.shaper.configure([self.shape])

    def queue_state(self, index: int) -> QueueState:
        """Reads the state of a service flow's queue."""
        return self.client.shaper.states().queues[self.rf, index]

    def await_received(self, index: int, frames: int) -> None:
        """Waits until the switch has received so many frames of the service flow."""
        self.poll(f"{frames} frames received", lambda: self.fates(index).received == frames)

    def bucket(self, index: int, rate: int, burst: int) -> Entry:
        """An entry of table msr_bucket."""
        params = {"max_sustained_rate": rate, "max_burst": burst}
        match = {"service_flow": index}
        return Entry("FrameEgress.token_bucket.msr_bucket", "set_bucket", params, match)
