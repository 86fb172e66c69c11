# SPDX-License-Identifier: Apache-2.0
"""Watches the departures of one device against the token buckets that it was told to keep.

What it was told is taken from the requests themselves, so neither the traffic manager nor the
controller is asked what they believe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from docsis_experiments.chaos.buckets import Numbers, Parameters, Watch

CONFIGURE: Final = "/docsis.tm.v1.TrafficManager/Configure"

Queue = tuple[int, int]
"""Port and number."""


class BucketAudit:
    """Service flows of one device.

    Attributes:
        device: The device's name.
        frames: Departures that were compared with buckets so far.
    """

    def __init__(self, device: str) -> None:
        """Args: the device's name."""
        self.device = device
        self.frames = 0
        self._watched: dict[Queue, Watch] = {}

    def forget(self) -> None:
        """The device was started again, and knows no service flow."""
        self._watched.clear()

    def configured(self, request: bytes) -> None:
        """The device has taken a serialized docsis.tm.v1.ConfigureRequest."""
        from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2

        message: Any = traffic_manager_pb2.ConfigureRequest.FromString(request)
        for flow in message.service_flows:
            queue = (flow.queue.port, flow.queue.queue_id)
            wanted = Parameters(flow.max_sustained_rate, flow.max_burst, flow.peak_rate)
            known = self._watched.get(queue)
            afresh = flow.HasField("initial_tokens")
            if known is None or afresh or known.parameters != wanted:
                self._watched[queue] = Watch(wanted)
        for removed in message.removed:
            self._watched.pop((removed.port, removed.queue_id), None)

    def departed(self, columns: Mapping[str, Numbers]) -> Iterator[str]:
        """Departures since the last call, under what was configured until now.

        Args:
            columns: time_ns, port, queue and length, one row for each frame, in order.

        Yields:
            What was broken, in words.
        """
        port, queue = columns["port"], columns["queue"]
        keys = port << 32 | queue
        for key in np.unique(keys).tolist():
            which = (key >> 32, key & 0xFFFFFFFF)
            watch = self._watched.get(which)
            if watch is None:
                # Frames without a service flow.
                continue
            mine = keys == key
            self.frames += int(mine.sum())
            for words in watch.add(columns["time_ns"][mine], columns["length"][mine]):
                yield f"{self.device}, service flow {which[1]}: {words}"
