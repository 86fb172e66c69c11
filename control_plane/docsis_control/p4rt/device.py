# SPDX-License-Identifier: Apache-2.0
"""A device's P4Runtime and docsis.tm.v1, whichever way its server is reached.

What is provisioned, changed, read and written is the same over a network in real time and inside a
process in virtual time. Here is what both share, the messages and what failures mean; a way to the
server is one method, `P4Device.unary`, which takes a serialized request and returns serialized
answers. `p4rt.connection` is the way through gRPC. `LocalDevice` is the way to an `Entrance`, whose
calls return when they are done.
"""

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import grpc
from finsy.proto import U128, p4r

from docsis_control.http2 import Broken
from docsis_control.p4rt.errors import ConnectionLost, explain, understanding
from docsis_control.p4rt.pipeline import Pipeline

T = TypeVar("T")

RPC_TIMEOUT: Final = 5.0
"""Seconds; for calls outside the control loop."""

LAST_ELECTION_ID: Final = (1 << 128) - 1
"""The first is 1; 0 is none (P4Runtime 16.2.1)."""

WRITE: Final = "/p4.v1.P4Runtime/Write"
READ: Final = "/p4.v1.P4Runtime/Read"
_SET_CONFIG: Final = "/p4.v1.P4Runtime/SetForwardingPipelineConfig"
_GET_CONFIG: Final = "/p4.v1.P4Runtime/GetForwardingPipelineConfig"


class Entrance(Protocol):
    """A way into a device's server for whoever waits for each answer himself.

    A thread's own connection is one (`http2.Calls`), and so is a server in the same process.
    """

    def call(self, method: str, request: bytes) -> list[bytes]:
        """Sends a serialized message; returns the serialized messages of the answer.

        Args:
            method: /package.Service/Method.
            request: The one message of the request.

        Raises:
            grpc.RpcError: The server refused; it has code(), details() and trailing_metadata().
            http2.Broken: There is no way to the server any more.
        """


@runtime_checkable
class CellEntrance(Entrance, Protocol):
    """An entrance to a device in this process, which need not put values into messages."""

    def cells(self, request: bytes) -> bytes:
        """Reads cells of registers; their values as a column of int64, in the request's order.

        Args:
            request: A serialized p4.v1.ReadRequest of cells, one by one, and nothing else.

        Raises:
            grpc.RpcError: See `Entrance.call`; also where Read answers what it can beside that.
        """


class P4Device(ABC):
    """A device, for whoever is its primary controller.

    All methods raise ConnectionLost when the device went away, and P4RuntimeError when it refused.

    Attributes:
        device_id: P4Runtime's.
        election_id: A p4.v1.Uint128.
    """

    def __init__(self, device_id: int, election_id: int = 1) -> None:
        self.device_id = device_id
        self.election_id: Final = U128.encode(election_id)

    @property
    @abstractmethod
    def place(self) -> str:
        """The device in words, for messages."""

    @abstractmethod
    async def unary(self, method: str, request: bytes, seconds: float) -> list[bytes]:
        """Sends a serialized message; returns the serialized messages of the answer.

        Args:
            method: /package.Service/Method.
            request: The one message of the request.
            seconds: How long it may take.

        Raises:
            grpc.RpcError: The call failed.
            ConnectionLost: There is no way to the device any more.
        """

    async def call(
        self,
        doing: str,
        method: str,
        request: bytes,
        seconds: float = RPC_TIMEOUT,
        what: Sequence[str] = (),
    ) -> list[bytes]:
        """Calls a method, and puts its failure into words.

        Args:
            doing: The action, for messages.
            method: See `unary`, and so are the request and the answer.
            request: Serialized.
            seconds: How long it may take.
            what: Names of a Write's updates, in order.
        """
        try:
            return await self.unary(method, request, seconds)
        except grpc.RpcError as error:
            raise explain(error, f"{doing} on {self.place}", what) from None

    async def set_pipeline(
        self, pipeline: Pipeline, cookie: int, seconds: float = RPC_TIMEOUT
    ) -> None:
        """Pushes a program, within so many seconds; the device forgets entries and registers."""
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            election_id=self.election_id,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=p4r.ForwardingPipelineConfig(
                p4info=pipeline.p4info,
                p4_device_config=pipeline.device_config,
                cookie=p4r.ForwardingPipelineConfig.Cookie(cookie=cookie),
            ),
        )
        await self.call(
            f'pushing the pipeline "{pipeline.name}"',
            _SET_CONFIG,
            request.SerializeToString(),
            seconds,
        )

    async def pipeline_cookie(self) -> int | None:
        """The cookie of the program that the device runs, or None."""
        request = p4r.GetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            response_type=p4r.GetForwardingPipelineConfigRequest.COOKIE_ONLY,
        )
        answers = await self.call(
            "reading the pipeline's cookie", _GET_CONFIG, request.SerializeToString()
        )
        with understanding(self.place):
            (answer,) = answers
            response = p4r.GetForwardingPipelineConfigResponse.FromString(answer)
        return int(response.config.cookie.cookie) if response.config.HasField("cookie") else None

    async def write(
        self, updates: Iterable[Any], what: Sequence[str] = (), *, atomic: bool = False
    ) -> None:
        """Writes a batch.

        Args:
            updates: p4.v1.Updates.
            what: A name for each, for messages.
            atomic: Whether packets see all of it or nothing, and a failure leaves nothing
                (DATAPLANE_ATOMIC); not every target can.
        """
        request = p4r.WriteRequest(
            device_id=self.device_id, election_id=self.election_id, updates=updates
        )
        if atomic:
            request.atomicity = p4r.WriteRequest.DATAPLANE_ATOMIC
        await self.write_raw(request.SerializeToString(), RPC_TIMEOUT, what)

    async def read(self, entities: Iterable[Any]) -> list[Any]:
        """Reads a batch of p4.v1.Entities."""
        request = p4r.ReadRequest(device_id=self.device_id, entities=entities)
        found: list[Any] = []
        answers = await self.read_raw(request.SerializeToString(), RPC_TIMEOUT)
        with understanding(self.place):
            for raw in answers:
                found.extend(p4r.ReadResponse.FromString(raw).entities)
        return found

    async def write_raw(self, request: bytes, seconds: float, what: Sequence[str] = ()) -> None:
        """Writes a serialized p4.v1.WriteRequest, within so many seconds.

        Args:
            what: A name for each update, for messages.
        """
        await self.call("Write", WRITE, request, seconds, what)

    async def read_raw(self, request: bytes, seconds: float) -> list[bytes]:
        """Sends a serialized p4.v1.ReadRequest; returns serialized ReadResponses."""
        return await self.call("Read", READ, request, seconds)


class LocalDevice(P4Device):
    """A device behind an entrance, which answers before anything else happens.

    Whoever gives it the entrance has become the primary controller with this election id.
    """

    def __init__(self, entrance: Entrance, name: str, device_id: int, election_id: int = 1) -> None:
        """Args: the way in, and the device's name for messages and numbers for requests."""
        super().__init__(device_id, election_id)
        self.entrance = entrance
        self._name = name

    @property
    def place(self) -> str:
        """See `P4Device`."""
        return f"device {self.device_id}, {self._name}"

    async def unary(self, method: str, request: bytes, seconds: float) -> list[bytes]:
        """See `P4Device`; nobody else gets his turn before it is done."""
        try:
            return self.entrance.call(method, request)
        except Broken as error:
            raise ConnectionLost(f"no way to {self.place}: {error}") from None


def completed(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing but a `LocalDevice`, without a loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise AssertionError("a local device let somebody wait")
