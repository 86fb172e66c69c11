# SPDX-License-Identifier: Apache-2.0
"""Cells of registers that are read and written again and again, as bytes of P4Runtime messages.

A control loop reads thousands of cells each interval. As objects of the protobuf library each of
them costs more than all that is computed from it. So the bytes that do not depend on a value are
made once, by the library itself (`register_heads`); answers are taken apart by NumPy, all cells at
once, as long as they are what every server sends that answers in the order it was asked, in
canonical form. Any other answer is for the library to read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from finsy.proto import p4r

from docsis_control.p4rt.entities import register_entity
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.p4rt.register_heads import LONGEST, WIDTH, Heads, Numbers, Octets
from docsis_control.p4rt.register_updates import Updates

_LONGEST_READ: Final = LONGEST - 1
"""Bytes of a value, at most: so that it fits into a signed number."""

_OF_LENGTH: Final = np.array([(1 << 8 * length) - 1 for length in range(LONGEST)], np.uint64)
"""The value's own bits in the eight bytes that end with it, by the length of the value."""

_ENTITIES, _REGISTER_ENTRY, _REGISTER_ID = 0x0A, 0x5A, 0x08
"""Keys on the wire: ReadResponse.entities, Entity.register_entry, RegisterEntry.register_id. Behind
each of the first two is a length, of one byte, for such an entity is shorter than 128 bytes."""


@dataclass(frozen=True)
class Block:
    """Some cells, in the order in which they are read.

    Attributes:
        request: Entities of a serialized p4.v1.ReadRequest.
        heads: Bytes in front of the value in an entity of the answer.
    """

    request: bytes
    heads: Heads

    @staticmethod
    def joined(blocks: Sequence["Block"]) -> "Block":
        """One block of the cells of all."""
        return Block(
            b"".join(block.request for block in blocks),
            Heads.joined(block.heads for block in blocks),
        )

    def values(self, responses: Iterable[bytes]) -> Numbers | None:
        """The values of the cells in the serialized p4.v1.ReadResponses to the request.

        None where they are not all there, in their order, in canonical form and with less than
        eight bytes each.
        """
        # Serialized messages one behind the other are one message with the entities of all. In
        # front of them there is room, so that the bytes in front of any place can be taken.
        answer = b"".join([bytes(WIDTH), *responses])
        heads, octets = self.heads, np.frombuffer(answer, np.uint8)
        starts = _starts(octets, len(heads))
        if starts is None:
            return None
        ends = np.append(starts[1:], len(answer))
        values = starts + heads.sizes
        lengths = ends - values
        if not ((lengths >= 1) & (lengths <= _LONGEST_READ)).all():
            return None
        found = _before(answer, values, WIDTH).view(np.uint64).reshape(heads.words.shape)
        # The first length in a head is that of the whole entity: where all heads are as expected,
        # each entity ends where the next one starts.
        expected = heads.words + heads.lengths * lengths.astype(np.uint64)[:, np.newaxis]
        if ((found ^ expected) & heads.covered).any():
            return None
        last = _before(answer, ends, LONGEST).view(">u8") & _OF_LENGTH[lengths]
        found_values: Numbers = last.astype(np.int64)
        return found_values


def _before(octets: bytes, places: npt.NDArray[np.intp], width: int) -> npt.NDArray[np.void]:
    """The so many bytes in front of each place."""
    count = len(octets) - width + 1
    windows = np.ndarray((count,), f"V{width}", octets, strides=(1,))
    return windows[places - width]


def _starts(octets: Octets, count: int) -> npt.NDArray[np.intp] | None:
    """The offsets of so many entities behind the room, as far as keys tell; None if they do not.

    What is found is where one can start. A value may look like one.
    """
    if not count:
        return np.zeros(0, np.intp) if len(octets) == WIDTH else None
    found = np.flatnonzero(
        (octets[:-4] == _ENTITIES)
        & (octets[2:-2] == _REGISTER_ENTRY)
        & (octets[4:] == _REGISTER_ID)
    )
    if len(found) != count:
        # The two lengths are of the same end.
        found = found[octets[found + 1] == octets[found + 3] + 2]
    return found if len(found) == count and found[0] == WIDTH else None


class RegisterCells:
    """Bytes of messages about a program's registers, made once for each cell."""

    def __init__(self, pipeline: Pipeline) -> None:
        """Args: the program."""
        self._pipeline = pipeline

    def block(self, cells: Sequence[tuple[str, int]]) -> Block:
        """These cells, by name and index, to be read.

        Raises:
            PipelineError: The program has no such register.
        """
        asked = p4r.ReadRequest(entities=[register_entity(self._pipeline, *cell) for cell in cells])
        answers = [(self._answer(*cell, 1), self._answer(*cell, 2)) for cell in cells]
        return Block(bytes(asked.SerializeToString()), Heads.of(answers))

    def updates(self, cells: Sequence[tuple[str, int]]) -> Updates:
        """These cells, by name and index, to be written.

        Raises:
            PipelineError: The program has no such register.
        """
        return Updates(
            Heads.of([(self._update(*cell, 1), self._update(*cell, 2)) for cell in cells])
        )

    def _entity(self, name: str, index: int, length: int) -> Any:
        """A cell with a value of so many bytes."""
        return register_entity(self._pipeline, name, index, 1 << 8 * (length - 1))

    def _answer(self, name: str, index: int, length: int) -> bytes:
        """A server's answer about one cell, as if its value had this many bytes.

        The value stands at the end.
        """
        entity = self._entity(name, index, length)
        return bytes(p4r.ReadResponse(entities=[entity]).SerializeToString())

    def _update(self, name: str, index: int, length: int) -> bytes:
        """An update that writes one cell, as if the value had this many bytes.

        The value stands at the end.
        """
        entity = self._entity(name, index, length)
        update: Any = p4r.Update(type=p4r.Update.MODIFY, entity=entity)
        return bytes(p4r.WriteRequest(updates=[update]).SerializeToString())
