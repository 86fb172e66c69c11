# SPDX-License-Identifier: Apache-2.0
"""docsis.tm.v1, the service of the embedded switch, as a `Shaper`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

import grpc

from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.tm.lateness import METHOD, Lateness, lateness_from
from docsis_ptf.shaper import FLOW_QUEUES, Amount, Key, QueueConfig, QueueState, States

MAX_FRAME: Final = 1522
"""Bytes: the least that a bucket of the service holds."""

_SERVICE: Final = "/docsis.tm.v1.TrafficManager"

Call = Callable[[str, str, bytes], bytes]
"""Calls a method: what is done, for messages; /package.Service/Method; the request."""


class TrafficManager:
    """The traffic manager of one device. See `Shaper`."""

    def __init__(self, call: Call, device_id: int) -> None:
        self._call = call
        self._device_id = device_id

    def lacks(self, need: str) -> str | None:
        """See `Shaper`: a target has the service, and with it all that it describes, or not."""
        try:
            self._call("Get of the traffic manager", f"{_SERVICE}/Get", self._device())
        except P4RuntimeError as error:
            if error.code is not grpc.StatusCode.UNIMPLEMENTED:
                raise
            what = "no flow queues" if need == FLOW_QUEUES else "nothing is shaped in bytes"
            return f"it has no service docsis.tm.v1, so {what} ({error})"
        return None

    def _device(self) -> bytes:
        """A GetRequest or GetLatenessRequest: field 1, the device id, and nothing else.

        By hand, so that asking a target that has no such service needs no generated messages.
        """
        rest, octets = self._device_id, bytearray()
        while rest:
            octets.append(rest & 0x7F | (0x80 if rest > 0x7F else 0))
            rest >>= 7
        return b"\x08" + bytes(octets) if octets else b""

    def configure(self, queues: Sequence[QueueConfig]) -> None:
        """See `Shaper`."""
        request = _messages().ConfigureRequest(device_id=self._device_id)
        for queue in queues:
            config = asdict(queue)
            key = {"port": config.pop("port"), "queue_id": config.pop("queue_id")}
            request.service_flows.add(queue=key, **config)
        self._configure(request)

    def set_packet_rate(self, key: Key, frames_per_second: int, frames: int, length: int) -> None:
        """See `Shaper`: the sustained rate of frames of this length, with the smallest burst."""
        rate = 8 * length * frames_per_second
        limit = frames * length
        self.configure([QueueConfig(*key, rate, MAX_FRAME, 0, MAX_FRAME, queue_limit=limit)])

    def limit_port(self, port: int, rate: int) -> None:
        """See `Shaper`."""
        request = _messages().ConfigureRequest(device_id=self._device_id)
        request.ports.add(port=port, rate=rate)
        self._configure(request)

    def remove(self, keys: Sequence[Key]) -> None:
        """See `Shaper`."""
        request = _messages().ConfigureRequest(device_id=self._device_id)
        for port, queue_id in keys:
            request.removed.add(port=port, queue_id=queue_id)
        self._configure(request)

    def _configure(self, request: Any) -> None:
        self._call(
            "Configure of the traffic manager", f"{_SERVICE}/Configure", request.SerializeToString()
        )

    def states(self) -> States:
        """See `Shaper`."""
        answer = self._call("Get of the traffic manager", f"{_SERVICE}/Get", self._device())
        response = _messages().GetResponse.FromString(answer)
        found = {_key(flow.config.queue): _state(flow) for flow in response.service_flows}
        return States(int(response.now_ns), found)

    def lateness(self) -> Lateness | None:
        """See `Shaper`."""
        try:
            answer = self._call("GetLateness of the traffic manager", METHOD, self._device())
        except P4RuntimeError as error:
            if error.code is not grpc.StatusCode.UNIMPLEMENTED:
                raise
            return None
        return lateness_from(answer)


def _messages() -> Any:
    try:
        from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2
    except ImportError as error:
        raise OSError(
            f"the target serves docsis.tm.v1, whose messages are not generated here ({error});"
            " run mininet/setup/proto-stubs.sh .venv"
        ) from None
    return traffic_manager_pb2


def _key(queue: Any) -> Key:
    return int(queue.port), int(queue.queue_id)


def _state(flow: Any) -> QueueState:
    config = flow.config
    names = QueueConfig.__dataclass_fields__.keys() - {"port", "queue_id", "initial_tokens"}
    return QueueState(
        config=QueueConfig(*_key(config.queue), **{name: getattr(config, name) for name in names}),
        sustained_tokens=int(flow.sustained_tokens),
        **{
            name: Amount(int(getattr(flow, name).frames), int(getattr(flow, name).bytes))
            for name in ("queued", "delayed", "dequeued", "overflow", "egress_dropped")
        },
    )
