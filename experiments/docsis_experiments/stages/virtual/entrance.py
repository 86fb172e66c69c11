# SPDX-License-Identifier: Apache-2.0
"""The way into a device of a world: its server's calls, and the arbitration of its controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
from finsy.proto import U128, p4r, rpc_code

from docsis_control.p4rt.errors import NotPrimaryError

if TYPE_CHECKING:
    from docsis_world import RpcError, World

ELECTION_ID: Final = 1
"""There is one controller in a world."""

READ_CELLS: Final = "/p4.v1.P4Runtime/Read.cells"
"""Only the entrance in the same process has this method."""

_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}
_DETAILS: Final = "grpc-status-details-bin"


class Refused(grpc.RpcError):
    """A status that is not OK, as grpc tells it."""

    def __init__(self, error: RpcError) -> None:
        """Args: as the world raised it."""
        super().__init__(error.message)
        self._error = error

    def code(self) -> grpc.StatusCode:
        """The status."""
        return _CODES[self._error.code]

    def details(self) -> str:
        """Why."""
        return self._error.message

    def trailing_metadata(self) -> Any:
        """The errors of a batch's updates, where there are."""
        return ((_DETAILS, self._error.details),) if self._error.details else ()


class WorldEntrance:
    """See `docsis_control.p4rt.device.CellEntrance`; whoever has it is the primary controller.

    It stays that as long as this lives, because a device takes updates from nobody else.
    """

    def __init__(self, world: World, name: str, device_id: int) -> None:
        """Becomes the primary controller.

        Args:
            world: Has the device.
            name: Its name.
            device_id: P4Runtime's.

        Raises:
            NotPrimaryError: Another one is.
        """
        self._world = world
        self._name = name
        self._stream = world.open_stream(name)
        request = p4r.StreamMessageRequest()
        request.arbitration.device_id = device_id
        request.arbitration.election_id.CopyFrom(U128.encode(ELECTION_ID))
        self._stream.send(request.SerializeToString())
        answers = [p4r.StreamMessageResponse.FromString(raw) for raw in self._stream.receive()]
        updates = [a.arbitration for a in answers if a.WhichOneof("update") == "arbitration"]
        if not any(update.status.code == rpc_code.OK for update in updates):
            raise NotPrimaryError(f"{name} does not take a primary controller")

    def call(self, method: str, request: bytes) -> list[bytes]:
        """Runs a method of the device's server; serialized answers.

        Raises:
            Refused: The status is not OK.
        """
        from docsis_world import RpcError

        try:
            return self._world.call(self._name, method, request)
        except RpcError as error:
            raise Refused(error) from None

    def cells(self, request: bytes) -> bytes:
        """Reads cells of registers; their values as a column of int64.

        Raises:
            Refused: The status is not OK.
        """
        [column] = self.call(READ_CELLS, request)
        return column

    def close(self) -> None:
        """Ends the arbitration."""
        self._stream.close()
