# SPDX-License-Identifier: Apache-2.0
"""The bytes of a P4Runtime message that precede a register's value, for many cells at once.

A message about a cell ends with its value, and what is in front of it depends on the value's length
alone: the lengths of the messages around it, each of one byte. So the bytes are asked of the
protobuf library once a cell, and messages are made and compared by NumPy from then on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

WIDTH: Final = 32
"""Bytes, more than any head has; they are compared all at once."""

LONGEST: Final = 8
"""Bytes of a value, at most."""

_WORD: Final = "<u8"
"""Eight bytes of a head. A length in it never grows over its byte."""

Octets = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Heads:
    """The bytes that precede the values of n cells: an array (n, WIDTH), each row right-aligned.

    Attributes:
        words: The bytes; where a length stands, that in front of a value without any byte. As
            words, shape (n, WIDTH / 8).
        lengths: 1 for each length, which grows by one with each byte of the value, likewise.
        covered: All ones for each byte that belongs to the head, likewise.
        sizes: Bytes of each head, shape (n,).
    """

    words: Words
    lengths: Words
    covered: Words
    sizes: Numbers

    @staticmethod
    def of(messages: Sequence[tuple[bytes, bytes]]) -> "Heads":
        """Finds each cell's head by comparing its messages with a value of one and of two bytes."""
        words, lengths, covered = (np.zeros((len(messages), WIDTH), np.uint8) for _ in range(3))
        sizes = np.zeros(len(messages), np.int64)
        for row, (one, two) in enumerate(messages):
            short, long = (np.frombuffer(head, np.uint8) for head in (one[:-1], two[:-2]))
            sizes[row] = size = len(short)
            # The bytes that differ are lengths.
            lengths[row, -size:] = long - short
            words[row, -size:] = short - lengths[row, -size:]
            covered[row, -size:] = 0xFF
        return Heads(words.view(_WORD), lengths.view(_WORD), covered.view(_WORD), sizes)

    @staticmethod
    def joined(heads: Iterable["Heads"]) -> "Heads":
        """Puts several arrays of heads into one."""
        # One without cells tells NumPy the types where there is none.
        all_of_them = [Heads.of([]), *heads]
        return Heads(
            np.concatenate([each.words for each in all_of_them]),
            np.concatenate([each.lengths for each in all_of_them]),
            np.concatenate([each.covered for each in all_of_them]),
            np.concatenate([each.sizes for each in all_of_them]),
        )

    def of_cells(self, cells: npt.NDArray[np.intp]) -> "Heads":
        """The heads of the cells at these places, in the order that is asked for."""
        return Heads(self.words[cells], self.lengths[cells], self.covered[cells], self.sizes[cells])

    def __len__(self) -> int:
        """The number of cells."""
        return len(self.sizes)
