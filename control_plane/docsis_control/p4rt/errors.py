# SPDX-License-Identifier: Apache-2.0
"""The errors of P4Runtime calls, in words."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc
from finsy.proto import p4r, rpc_code, rpc_status
from google.protobuf.message import DecodeError


class P4RuntimeError(Exception):
    """A P4Runtime call failed, and trying again would not help.

    Attributes:
        code: The gRPC status.
        parts: The codes of the requests in a batch that failed, whose own status is then UNKNOWN.
    """

    def __init__(
        self, message: str, code: grpc.StatusCode, parts: Sequence[grpc.StatusCode] = ()
    ) -> None:
        self.code = code
        self.parts = tuple(parts)
        super().__init__(message)

    @property
    def unimplemented(self) -> bool:
        """Whether the switch does not have what was asked for, as a call or as a part of a batch.

        P4Runtime 12.3 and 13.3: what failed in a batch is told in the details of status UNKNOWN.
        """
        return grpc.StatusCode.UNIMPLEMENTED in (self.code, *self.parts)


class ConnectionLost(Exception):
    """The switch went away or stopped answering; it may come back."""


@contextmanager
def understanding(place: str) -> Iterator[None]:
    """Takes an answer that cannot be understood for the loss of its device.

    The answer is of somebody else, or of a device that is not well: a new connection may help, and
    the controller goes on with the other devices.

    Args:
        place: The device, for the message.

    Raises:
        ConnectionLost: It is no message of the kind that was asked for, it lacks something or has
            something else, or a number in it is too large.
    """
    try:
        yield
    except (DecodeError, KeyError, OverflowError, ValueError) as error:
        raise ConnectionLost(
            f"{place} answers with something else than it was asked for "
            f"({type(error).__name__}: {error}); is it a switch of this version?"
        ) from None


class NotPrimaryError(P4RuntimeError):
    """Another controller holds the device."""

    def __init__(self, message: str) -> None:
        super().__init__(message, grpc.StatusCode.PERMISSION_DENIED)


class ElectionIdInUseError(P4RuntimeError):
    """Another stream has this election id: maybe an earlier one, of whose end nobody has told yet.

    P4Runtime 5.3: the server refuses the second stream of an election id with INVALID_ARGUMENT.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, grpc.StatusCode.INVALID_ARGUMENT)


_CODES = {code.value[0]: code for code in grpc.StatusCode}

_TRANSIENT = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
}


def explain(
    error: grpc.RpcError, doing: str, what: Sequence[str] = ()
) -> P4RuntimeError | ConnectionLost:
    """Turns a failed call into the exception to raise.

    Args:
        error: The error that grpc raised.
        doing: The call and the device, such as "Write on device 1 at 127.0.0.1:50051".
        what: Names of a Write's updates, in order, to tell which of them failed.
    """
    code = error.code() if hasattr(error, "code") else grpc.StatusCode.UNKNOWN
    details = (error.details() if hasattr(error, "details") else None) or "no details"
    if code in _TRANSIENT:
        return ConnectionLost(f"{doing}: {code.name}: {details}")
    errors = _part_errors(error)
    failed = [
        f"{what[index] if index < len(what) else f'entity {index + 1}'}: {part.name}: {message}"
        for index, part, message in errors
    ]
    text = "; ".join(failed) if failed else details
    if code is grpc.StatusCode.PERMISSION_DENIED and not failed:
        return NotPrimaryError(f"{doing}: another controller is the primary: {details}")
    parts = [part for _, part, _ in errors]
    return P4RuntimeError(f"{doing} failed: {code.name}: {text}", code, parts)


def _part_errors(error: grpc.RpcError) -> list[tuple[int, grpc.StatusCode, str]]:
    """The p4.v1.Error of each part of a batch that failed (P4Runtime 12.3, 13.3): which, how, why.

    Codes that gRPC does not have count as UNKNOWN.
    """
    metadata: Any = error.trailing_metadata() if hasattr(error, "trailing_metadata") else None
    for key, value in metadata or ():
        if key == "grpc-status-details-bin":
            try:
                return _parts(rpc_status.Status.FromString(value))
            except DecodeError:
                return []
    return []


def _parts(status: Any) -> list[tuple[int, grpc.StatusCode, str]]:
    found = []
    for index, packed in enumerate(status.details):
        detail = p4r.Error()
        if packed.Unpack(detail) and detail.canonical_code != rpc_code.OK:
            code = _CODES.get(detail.canonical_code, grpc.StatusCode.UNKNOWN)
            found.append((index, code, detail.message))
    return found
