# SPDX-License-Identifier: Apache-2.0
"""Cells of registers that are read and written again and again, as bytes of P4Runtime messages.

A control loop reads thousands of cells each interval. As objects of the protobuf library each of
them costs more than all that is computed from it. So the bytes that do not depend on a value are
made once, by the library itself; answers are taken apart by NumPy, all cells at once, as long as
they are what every server sends that answers in the order it was asked, in canonical form. Any
other answer is for the library to read.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from finsy.proto import p4r

from docsis_control.p4rt.entities import register_entity
from docsis_control.p4rt.pipeline import Pipeline

_HEAD: Final = 32
"""Bytes, more than an answer has in front of a value; they are compared all at once."""

_VALUE: Final = 8
"""Bytes that are taken to look for a value, which has less than that."""

_LONGEST: Final = _VALUE - 1

Octets = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

_OF_LENGTH: Final = np.array([(1 << 8 * length) - 1 for length in range(_VALUE)], np.uint64)
"""By the length of a value, the bits that it has of the bytes that are taken."""


@dataclass(frozen=True)
class Block:
    """Some cells, in the order in which they are read. Arrays have one element a cell.

    Attributes:
        request: Entities of a serialized p4.v1.ReadRequest.
        heads: What stands in front of the value in an entity of the answer, shape (n, _HEAD); where
            a length stands, that of a value without any byte.
        lengths: 1 where a length stands in it, which grows by one with each byte of the value.
        behind: Whether a byte is behind the head, shape (n, _HEAD).
        sizes: Bytes of each head.
    """

    request: bytes
    heads: Octets
    lengths: Octets
    behind: npt.NDArray[np.bool_]
    sizes: Numbers

    @staticmethod
    def joined(blocks: Sequence["Block"]) -> "Block":
        """One block of the cells of all."""
        return Block(
            b"".join(block.request for block in blocks),
            np.concatenate([_rows(0), *(block.heads for block in blocks)]),
            np.concatenate([_rows(0), *(block.lengths for block in blocks)]),
            np.concatenate([_rows(0) > 0, *(block.behind for block in blocks)]),
            np.concatenate([np.zeros(0, np.int64), *(block.sizes for block in blocks)]),
        )

    def values(self, responses: Iterable[bytes]) -> Numbers | None:
        """The values of the cells in the serialized p4.v1.ReadResponses to the request.

        None where they are not all there, in their order, in canonical form and with less than
        eight bytes each.
        """
        # Serialized messages one behind the other are one message with the entities of all.
        answer = b"".join(responses)
        starts = np.fromiter(_starts(answer), np.int64)
        if len(starts) != len(self.sizes) + 1 or starts[-1] != len(answer):
            return None
        ends = starts[1:]
        lengths = ends - starts[:-1] - self.sizes
        if not ((lengths >= 1) & (lengths <= _LONGEST)).all():
            return None
        octets = answer + bytes(_HEAD)
        found = _windows(octets, _HEAD)[starts[:-1]]
        expected = self.heads + self.lengths * lengths.astype(np.uint8)[:, np.newaxis]
        if not ((found == expected) | self.behind).all():
            return None
        # Every head is longer than a value.
        last = _windows(octets, _VALUE)[ends - _VALUE]
        values: Numbers = (last.view(">u8")[:, 0] & _OF_LENGTH[lengths]).astype(np.int64)
        return values


def _windows(octets: bytes, width: int) -> Octets:
    """By place in the octets, that many from there on: a view, without a copy."""
    places = len(octets) - width + 1
    return np.ndarray((places, width), np.uint8, octets, strides=(1, 1))


def _rows(count: int) -> Octets:
    return np.zeros((count, _HEAD), np.uint8)


def _starts(answer: bytes) -> Iterator[int]:
    """The offset of each entity, and then that of the end of the last one.

    An entity of a register's cell is shorter than 128 bytes: its length is one byte, the second.
    """
    at = 0
    yield at
    end = len(answer) - 1
    while at < end:
        at += answer[at + 1] + 2
        yield at


class RegisterCells:
    """Bytes of messages about a program's registers, made once for each cell."""

    def __init__(self, pipeline: Pipeline) -> None:
        """Args: the program."""
        self._pipeline = pipeline
        self._updates: dict[tuple[str, int, int], bytes] = {}

    def block(self, cells: Sequence[tuple[str, int]]) -> Block:
        """These cells, by name and index, to be read.

        Raises:
            PipelineError: The program has no such register.
        """
        heads, lengths = _rows(len(cells)), _rows(len(cells))
        sizes = np.zeros(len(cells), np.int64)
        request = bytearray()
        for row, (name, index) in enumerate(cells):
            asked = p4r.ReadRequest(entities=[register_entity(self._pipeline, name, index)])
            request += asked.SerializeToString()
            one, two = (self._answer(name, index, length) for length in (1, 2))
            # The bytes that differ between a value of one byte and one of two are its lengths.
            longer = np.frombuffer(two[:-2], np.uint8) - np.frombuffer(one[:-1], np.uint8)
            sizes[row] = len(longer)
            lengths[row, : len(longer)] = longer
            heads[row, : len(longer)] = np.frombuffer(one[:-1], np.uint8) - longer
        behind = np.arange(_HEAD) >= sizes[:, np.newaxis]
        return Block(bytes(request), heads, lengths, behind, sizes)

    def _answer(self, name: str, index: int, length: int) -> bytes:
        """What a server says of a cell whose value has so many bytes; the value comes last."""
        entity = register_entity(self._pipeline, name, index, 1 << 8 * (length - 1))
        return bytes(p4r.ReadResponse(entities=[entity]).SerializeToString())

    def update(self, name: str, index: int, value: int) -> bytes:
        """An update of a serialized p4.v1.WriteRequest that gives a cell its value.

        Raises:
            PipelineError: The program has no such register.
        """
        # `bitstring`, without the call: there may be a thousand of these in an update.
        length = (value.bit_length() + 7) // 8 or 1
        head = self._updates.get((name, index, length))
        if head is None:
            entity = register_entity(self._pipeline, name, index, value)
            update: Any = p4r.Update(type=p4r.Update.MODIFY, entity=entity)
            whole = bytes(p4r.WriteRequest(updates=[update]).SerializeToString())
            head = self._updates[name, index, length] = whole[:-length]
        return head + value.to_bytes(length, "big")
