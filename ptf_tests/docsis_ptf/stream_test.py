# SPDX-License-Identifier: Apache-2.0
"""Third rung for tests that need many frames: closed-loop injection, held backlogs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import ptf

from docsis_ptf.comparing import ComparingTest
from docsis_ptf.docsis_test import NETWORK_MAC, UNKNOWN_MAC, DocsisTest, Fates
from docsis_ptf.entities import Group
from docsis_ptf.frames import Stream
from docsis_ptf.wire import Arrivals, Capture, Deaf, Injector

# Group ids begin above those of DocsisTest, which are port numbers.
HOLD_GROUP: Final = 1000
HOLD_FRAME: Final = 1000  # bytes with FCS
_stream_ids = itertools.count(1)


class StreamTest(ComparingTest, DocsisTest):
    """Frames by the thousand, none of them lost unnoticed."""

    def setUp(self) -> None:
        """Sets up as the base class does; no service flow has lost frames yet."""
        super().setUp()
        # Service flows that have a flood group to lose frames with.
        self._losing: set[int] = set()

    def interface_name(self, port: int) -> str:
        """The network interface at the other end of a switch's port."""
        return str(ptf.config["port_map"][(0, port)])

    @contextmanager
    def deaf(self) -> Iterator[None]:
        """PTF's own sockets ignore what passes meanwhile."""
        dataplane = ptf.dataplane_instance
        with Deaf(list(dataplane.ports.values())):
            yield
        dataplane.flush()

    def upstream(self, length: int, **fields: Any) -> Stream:
        """A new stream of frames from the near port to the network."""
        return Stream(NETWORK_MAC, length, stream_id=next(_stream_ids), **fields)

    def same_stream(self, stream: Stream, length: int) -> Stream:
        """Frames of another length that count as the same stream."""
        return replace(stream, length=length)

    @contextmanager
    def injector(self, port: int) -> Iterator[Injector]:
        """Sends batches into a port."""
        with Injector(self.interface_name(port)) as injector:
            yield injector

    @contextmanager
    def recording(self, stream: Stream, capacity: int) -> Iterator[tuple[Capture, Injector]]:
        """Records a stream at the RF port, and sends into the near one."""
        with (
            self.deaf(),
            Capture(self.interface_name(self.rf), stream.stream_id, capacity) as capture,
            self.injector(self.near) as injector,
        ):
            yield capture, injector

    def run_stream(
        self, stream: Stream, count: int, index: int, *, batch: int | None = None
    ) -> Arrivals:
        """Sends `count` frames through service flow `index`; returns those that came out.

        Closed loop: a batch follows when it is known of every earlier frame that
        it arrived or in which counter it ended, so no queue inside the target or
        the kernel overflows and the result does not depend on the target's speed.
        A batch of 1 sees the same backlog with every frame.
        """
        before = self.fates(index)
        batch = batch or self.params.batch
        with self.recording(stream, count) as (capture, injector):
            for first in range(0, count, batch):
                size = min(batch, count - first)
                injector.send(stream.frames(size, first))
                self._await_fates(capture, index, before, first + size)
            return capture.arrivals()

    def _await_fates(self, capture: Capture, index: int, before: Fates, sent: int) -> None:
        known = 0

        def done() -> bool:
            nonlocal known
            known = capture.count()  # the cheap question first
            if known < sent:
                since = self.fates(index) - before
                known += since.finished - since.forwarded
            return known >= sent

        self.poll(lambda: f"{sent} frames sent, {known} arrived or counted as dropped", done)

    def dropped(self, arrivals: Arrivals, count: int) -> npt.NDArray[np.int64]:
        """The sequence numbers of 0 ... count-1 that did not arrive; order is checked."""
        self.assertTrue((np.diff(arrivals.sequence) > 0).all(), "frames were reordered or doubled")
        return np.setdiff1d(np.arange(count, dtype=np.int64), arrivals.sequence)

    def hold(self, index: int, octets: int) -> None:
        """Puts `octets` into a service flow's backlog for good, at any target.

        As `lose`, and the books of the service flow are never brought back to the truth.
        """
        self.believe_nothing(index)
        self.lose(index, octets)

    def lose(self, index: int, octets: int) -> None:
        """Loses frames of so many bytes between ingress and egress, at any target.

        A flood group that leaves the RF port out, though its interface says
        `to_rf`: frames are counted into the service flow's queue and no copy ever
        leaves it. The service flow is made the primary one, and must have neither
        queue management nor a smaller buffer yet.
        """
        group = Group(HOLD_GROUP + index, (self.near,))
        self.make_primary(index)
        if index not in self._losing:
            self._losing.add(index)
            self.insert_group(group)
        self.modify(self.interface(self.far, group.group_id, to_rf=True))
        before = self.client.state(index)
        whole, rest = divmod(octets, HOLD_FRAME)
        if rest and whole:
            whole, rest = whole - 1, rest + HOLD_FRAME
        stream = replace(self.upstream(HOLD_FRAME), dst_mac=UNKNOWN_MAC)
        with self.deaf(), self.injector(self.far) as injector:
            for first in range(0, whole, self.params.batch):
                size = min(self.params.batch, whole - first)
                injector.send(stream.frames(size, first))
                self._await_held(index, before.backlog + (first + size) * HOLD_FRAME)
            for part in (rest // 2, rest - rest // 2) if rest > HOLD_FRAME else (rest,):
                if part:
                    injector.send(replace(stream, length=part).frames(1))
            self._await_held(index, before.backlog + octets)

    def _await_held(self, index: int, octets: int) -> None:
        self.poll(
            f"a backlog of {octets} bytes in service flow {index}",
            lambda: self.client.state(index).backlog == octets,
        )
