# SPDX-License-Identifier: Apache-2.0
"""P4Runtime's calls as they are: nothing is checked before it is sent, no answer is an exception.

The suite's client (client.py) is a controller that follows the rules. Tests of the protocol itself
also send what the rules forbid, as other controllers, and look at each part of the answer.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import grpc
from finsy.proto import U128, p4r, rpc_code, rpc_status
from google.protobuf.message import DecodeError

from docsis_control.p4rt.connection import channel_options

_SERVICE: Final = "/p4.v1.P4Runtime/"
_DETAILS: Final = "grpc-status-details-bin"
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}
OK: Final = grpc.StatusCode.OK


@dataclass(frozen=True)
class Answer:
    """The answer to a call.

    Attributes:
        code: Its status.
        message: The status in words.
        errors: The code of each p4.v1.Error in the details, in order.
        responses: The messages of the answer; of a call that failed those that came before.
    """

    code: grpc.StatusCode
    message: str = ""
    errors: tuple[grpc.StatusCode, ...] = ()
    responses: tuple[Any, ...] = ()

    @property
    def entities(self) -> list[Any]:
        """The entities that a Read found."""
        return [entity for response in self.responses for entity in response.entities]

    def __str__(self) -> str:
        details = f", details {', '.join(code.name for code in self.errors)}" if self.errors else ""
        return f"{self.code.name}{details}: {self.message or 'no words'}"


@dataclass(frozen=True)
class Arbitration:
    """A notification about the arbitration.

    Attributes:
        code: OK for the primary.
        election_id: The highest that the target has seen; None if it is unset.
        device_id: P4Runtime's.
        role: Name of the role.
    """

    code: grpc.StatusCode
    election_id: int | None
    device_id: int
    role: str


class Stream:
    """One controller's StreamChannel; what it hears is taken in order."""

    def __init__(self, channel: Any, device_id: int) -> None:
        self._device_id = device_id
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
        method = channel.stream_stream(
            f"{_SERVICE}StreamChannel",
            request_serializer=p4r.StreamMessageRequest.SerializeToString,
            response_deserializer=p4r.StreamMessageResponse.FromString,
        )
        self._call = method(iter(self._requests.get, None))
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        try:
            for message in self._call:
                self._heard.put(message)
        except grpc.RpcError as error:
            self._heard.put(_failed(error))
        else:
            self._heard.put(Answer(OK))

    def send(self, request: Any) -> None:
        """Sends a p4.v1.StreamMessageRequest."""
        self._requests.put(request)

    def arbitrate(
        self, election_id: int | None, role: str = "", device_id: int | None = None
    ) -> None:
        """Sends an arbitration; without an election id where it is None."""
        request = p4r.StreamMessageRequest()
        arbitration = request.arbitration
        arbitration.device_id = self._device_id if device_id is None else device_id
        if election_id is not None:
            arbitration.election_id.CopyFrom(U128.encode(election_id))
        if role:
            arbitration.role.name = role
        self.send(request)

    def next(self, seconds: float) -> Any:
        """The next thing that it hears.

        Returns:
            An Arbitration, any other p4.v1.StreamMessageResponse, an Answer with the status when
            the stream has ended, or None when nothing came in so many seconds.
        """
        try:
            heard = self._heard.get(timeout=seconds)
        except queue.Empty:
            return None
        if isinstance(heard, Answer) or heard.WhichOneof("update") != "arbitration":
            return heard
        told = heard.arbitration
        election_id = U128.decode(told.election_id) if told.HasField("election_id") else None
        return Arbitration(_CODES[told.status.code], election_id, told.device_id, told.role.name)

    def close(self) -> None:
        """Ends the stream as a controller that goes away does; may be called again."""
        self._requests.put(None)
        self._call.cancel()
        self._listener.join()


class Rpc:
    """A channel to a target's P4Runtime server.

    Args:
        address: host:port.
        device_id: The device id of every request that names no other.
        seconds: How long a call may take; then its status is DEADLINE_EXCEEDED.
    """

    def __init__(self, address: str, device_id: int, seconds: float) -> None:
        self._channel = grpc.insecure_channel(address, options=channel_options(address))
        self._device_id = device_id
        self._seconds = seconds

    def close(self) -> None:
        """Closes the channel."""
        self._channel.close()

    def stream(self) -> Stream:
        """Opens a StreamChannel."""
        return Stream(self._channel, self._device_id)

    def write(
        self,
        updates: Iterable[Any],
        election_id: int | None,
        *,
        atomicity: Any = p4r.WriteRequest.CONTINUE_ON_ERROR,
        role: str = "",
        device_id: int | None = None,
    ) -> Answer:
        """Write of p4.v1.Updates, as whoever has this election id in this role."""
        request = p4r.WriteRequest(
            device_id=self._device_id if device_id is None else device_id,
            role=role,
            updates=updates,
            atomicity=atomicity,
        )
        _identify(request, election_id)
        return self._unary("Write", request, p4r.WriteResponse)

    def read(self, entities: Sequence[Any], device_id: int | None = None) -> Answer:
        """Read of p4.v1.Entities."""
        request = p4r.ReadRequest(
            device_id=self._device_id if device_id is None else device_id, entities=entities
        )
        method = self._channel.unary_stream(
            f"{_SERVICE}Read",
            request_serializer=p4r.ReadRequest.SerializeToString,
            response_deserializer=p4r.ReadResponse.FromString,
        )
        responses: list[Any] = []
        try:
            for response in method(request, timeout=self._seconds):
                responses.append(response)
        except grpc.RpcError as error:
            failed = _failed(error)
            return Answer(failed.code, failed.message, failed.errors, tuple(responses))
        return Answer(OK, responses=tuple(responses))

    def set_pipeline(
        self,
        p4info: Any,
        device_config: bytes,
        election_id: int | None,
        *,
        action: Any = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
        cookie: int | None = None,
        device_id: int | None = None,
    ) -> Answer:
        """SetForwardingPipelineConfig."""
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self._device_id if device_id is None else device_id, action=action
        )
        _identify(request, election_id)
        request.config.p4info.CopyFrom(p4info)
        request.config.p4_device_config = device_config
        if cookie is not None:
            request.config.cookie.cookie = cookie
        return self._unary(
            "SetForwardingPipelineConfig", request, p4r.SetForwardingPipelineConfigResponse
        )

    def get_pipeline(self, response_type: Any, device_id: int | None = None) -> Answer:
        """GetForwardingPipelineConfig; its one response has the config."""
        request = p4r.GetForwardingPipelineConfigRequest(
            device_id=self._device_id if device_id is None else device_id,
            response_type=response_type,
        )
        return self._unary(
            "GetForwardingPipelineConfig", request, p4r.GetForwardingPipelineConfigResponse
        )

    def version(self) -> tuple[int, ...]:
        """The version of P4Runtime that the target says it has; ValueError: it tells none."""
        answer = self._unary("Capabilities", p4r.CapabilitiesRequest(), p4r.CapabilitiesResponse)
        if answer.code is not OK:
            raise ValueError(f"Capabilities: {answer}")
        said = answer.responses[0].p4runtime_api_version
        numbers = re.match(r"v?(\d+)\.(\d+)", said)
        if numbers is None:
            raise ValueError(f"Capabilities: {said!r} is no version of P4Runtime")
        return tuple(map(int, numbers.groups()))

    def _unary(self, name: str, request: Any, response: Any) -> Answer:
        method: Callable[..., Any] = self._channel.unary_unary(
            f"{_SERVICE}{name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString,
        )
        try:
            return Answer(OK, responses=(method(request, timeout=self._seconds),))
        except grpc.RpcError as error:
            return _failed(error)


def _identify(request: Any, election_id: int | None) -> None:
    if election_id is not None:
        request.election_id.CopyFrom(U128.encode(election_id))


def _failed(error: Any) -> Answer:
    """The status that grpc raised, with what its details say of each update."""
    found: list[grpc.StatusCode] = []
    for key, value in error.trailing_metadata() or ():
        if key != _DETAILS:
            continue
        try:
            status = rpc_status.Status.FromString(value)
        except DecodeError:
            break
        for packed in status.details:
            detail = p4r.Error()
            # What is no p4.v1.Error counts as one that tells nothing.
            known = packed.Unpack(detail)
            found.append(_CODES[detail.canonical_code if known else rpc_code.UNKNOWN])
    return Answer(error.code(), error.details() or "", tuple(found))
