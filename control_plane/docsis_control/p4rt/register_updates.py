# SPDX-License-Identifier: Apache-2.0
"""Updates of registers' cells, encoded all at once."""

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_control.p4rt.register_heads import LONGEST, WIDTH, Heads, Numbers

_LONGER: Final = np.array([1 << 8 * length for length in range(1, LONGEST)], np.uint64)
"""The least values that have two bytes, three bytes and so on."""

_OF_LENGTH: Final = np.arange(LONGEST) < np.arange(LONGEST + 1)[:, np.newaxis]
"""The value's own bytes among the eight behind the head, by the length of the value."""


class Updates:
    """Cells to be written, each of them again and again.

    Attributes:
        heads: Bytes in front of the value in an update of a serialized p4.v1.WriteRequest.
    """

    def __init__(self, heads: Heads) -> None:
        """Args: what stands in front of the cells' values."""
        self.heads = heads
        self._covered = heads.covered.view(np.uint8) != 0

    @staticmethod
    def joined(updates: Iterable["Updates"]) -> "Updates":
        """The cells of all."""
        return Updates(Heads.joined(each.heads for each in updates))

    def of(self, cells: npt.NDArray[np.intp]) -> "Updates":
        """The updates of the cells at these places, in the order that is asked for."""
        return Updates(self.heads.of_cells(cells))

    def encode(self, cells: npt.NDArray[np.intp] | slice, values: Numbers) -> bytes:
        """Updates of a serialized p4.v1.WriteRequest that give cells their values.

        A value below 0 is one that no register takes.

        Args:
            cells: Which, in the order of the updates.
            values: Theirs.
        """
        unsigned = values.astype(np.uint64)
        lengths = np.searchsorted(_LONGER, unsigned, side="right").astype(np.uint64) + np.uint64(1)
        heads = self.heads
        # Rows of a head at the right end of its room, and its value at the left end of its own, so
        # that they touch.
        rows = np.empty((len(values), (WIDTH + LONGEST) // 8), np.uint64)
        rows[:, :-1] = heads.words[cells] + heads.lengths[cells] * lengths[:, np.newaxis]
        shift = np.uint64(8) * (np.uint64(LONGEST) - lengths)
        rows[:, -1] = (unsigned << shift).byteswap()
        used = np.empty((len(values), WIDTH + LONGEST), np.bool_)
        used[:, :WIDTH] = self._covered[cells]
        used[:, WIDTH:] = _OF_LENGTH[lengths.astype(np.intp)]
        return bytes(rows.view(np.uint8)[used].tobytes())
