# SPDX-License-Identifier: Apache-2.0
"""SNMPv2c requests and their responses (RFC 1901, RFC 3416), from the bytes of a datagram.

pysnmp encodes and decodes. Its engine is not used: it keeps state of each request
and files of its own, which a read-only agent of one community does not need.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pyasn1.codec.ber import decoder, encoder
from pysnmp.proto import rfc1902, rfc1905
from pysnmp.proto.api import v2c

from docsis_control.snmp.tree import Oid, Syntax, Tree, Value

LARGEST_RESPONSE: Final = 16 * 1024
"""Bytes. A GETBULK gets fewer variables rather than more bytes."""

_LARGEST_BULK: Final = 256
"""Variables of a response to GETBULK."""

_VERSION_2C: Final = 1
_TOO_BIG: Final = 1
_GEN_ERR: Final = 5
_NOT_WRITABLE: Final = 17

_TYPES: Final[dict[Syntax, Callable[[int | str | bytes], Any]]] = {
    Syntax.INTEGER: rfc1902.Integer32,
    Syntax.UNSIGNED32: rfc1902.Unsigned32,
    Syntax.COUNTER32: rfc1902.Counter32,
    Syntax.COUNTER64: rfc1902.Counter64,
    Syntax.TIME_TICKS: rfc1902.TimeTicks,
    Syntax.OCTET_STRING: lambda text: rfc1902.OctetString(
        text if isinstance(text, bytes) else str(text).encode()
    ),
}

_VarBinds = list[tuple[Oid, Any]]


_REQUESTS: Final = (
    rfc1905.GetRequestPDU.tagSet,
    rfc1905.GetNextRequestPDU.tagSet,
    rfc1905.GetBulkRequestPDU.tagSet,
    rfc1905.SetRequestPDU.tagSet,
)


@dataclass(frozen=True)
class Request:
    """A request that is to be answered.

    Attributes:
        message: The decoded message.
        pdu: PDU of the message.
        asked: The names of its variables.
    """

    message: Any
    pdu: Any
    asked: list[Oid]


def parse(datagram: bytes, community: bytes) -> Request | None:
    """The request in a datagram.

    Args:
        datagram: Any bytes that came.
        community: Whoever does not name it gets no response.

    Returns:
        The request, or None when there is to be no response.
    """
    try:
        message, _ = decoder.decode(datagram, asn1Spec=v2c.Message())
        if int(v2c.apiMessage.get_version(message)) != _VERSION_2C:
            return None
        if not hmac.compare_digest(bytes(v2c.apiMessage.get_community(message)), community):
            return None
        pdu = v2c.apiMessage.get_pdu(message)
        asked = [tuple(map(int, name)) for name, _ in v2c.apiPDU.get_varbinds(pdu)]
    # Whatever the decoder meets in a stranger's bytes: PyAsn1Error, RecursionError, ValueError ...
    except Exception:
        return None
    return Request(message, pdu, asked) if pdu.tagSet in _REQUESTS else None


def respond(request: Request, tree: Tree | None) -> bytes:
    """The response to a request.

    Args:
        request: Request as `parse` gives it.
        tree: The tree of objects; None when it cannot be had, which is answered with genErr.
    """
    kind = request.pdu.tagSet
    if kind == rfc1905.SetRequestPDU.tagSet:
        return _error(request, _NOT_WRITABLE)
    if tree is None:
        return _error(request, _GEN_ERR)
    if kind == rfc1905.GetBulkRequestPDU.tagSet:
        return _bulk_response(request, tree)
    look = _get if kind == rfc1905.GetRequestPDU.tagSet else _next
    encoded = _encode(request, look(tree, request.asked))
    return encoded if len(encoded) <= LARGEST_RESPONSE else _error(request, _TOO_BIG)


def _wire(value: Value) -> Any:
    return _TYPES[value.syntax](value.value)


def _get(tree: Tree, asked: list[Oid]) -> _VarBinds:
    return [(oid, _exactly(tree, oid)) for oid in asked]


def _exactly(tree: Tree, oid: Oid) -> Any:
    value = tree.get(oid)
    if value is not None:
        return _wire(value)
    return rfc1905.noSuchInstance if tree.implements(oid) else rfc1905.noSuchObject


def _next(tree: Tree, asked: list[Oid]) -> _VarBinds:
    found: _VarBinds = []
    for oid in asked:
        behind = tree.after(oid)
        if behind is None:
            found.append((oid, rfc1905.endOfMibView))
        else:
            found.append((behind[0], _wire(behind[1])))
    return found


def _bulk(tree: Tree, asked: list[Oid], non_repeaters: int, repetitions: int) -> _VarBinds:
    """RFC 3416, 4.2.3."""
    once = max(0, min(non_repeaters, len(asked)))
    found = _next(tree, asked[:once])
    row = asked[once:]
    for _ in range(repetitions if row else 0):
        if len(found) + len(row) > _LARGEST_BULK:
            break
        behind = _next(tree, row)
        found += behind
        row = [oid for oid, _ in behind]
        if all(value is rfc1905.endOfMibView for _, value in behind):
            break
    return found


def _bulk_response(request: Request, tree: Tree) -> bytes:
    found = _bulk(
        tree,
        request.asked,
        int(v2c.apiBulkPDU.get_non_repeaters(request.pdu)),
        int(v2c.apiBulkPDU.get_max_repetitions(request.pdu)),
    )
    while True:
        encoded = _encode(request, found)
        if len(encoded) <= LARGEST_RESPONSE:
            return encoded
        if len(found) <= 1:
            return _error(request, _TOO_BIG)
        found = found[: len(found) // 2]


def _error(request: Request, status: int) -> bytes:
    """A response that only says what is wrong; of the first variable, where there is one."""
    named = [] if status == _TOO_BIG else v2c.apiPDU.get_varbinds(request.pdu)
    encoded = _encode(request, named, status, 1 if named else 0)
    return encoded if len(encoded) <= LARGEST_RESPONSE else _error(request, _TOO_BIG)


def _encode(request: Request, found: Any, status: int = 0, index: int = 0) -> bytes:
    response = v2c.apiMessage.get_response(request.message)
    pdu = v2c.apiMessage.get_pdu(response)
    v2c.apiPDU.set_error_status(pdu, status)
    v2c.apiPDU.set_error_index(pdu, index)
    v2c.apiPDU.set_varbinds(pdu, found)
    return bytes(encoder.encode(response))
