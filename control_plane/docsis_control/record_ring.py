# SPDX-License-Identifier: Apache-2.0
"""A bounded sequence of records that never allocates once it has been made."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Records = npt.NDArray[np.void]


class Ring:
    """The newest records, as many as there is room for. Memory is taken when it is first used."""

    def __init__(self, dtype: np.dtype[np.void], capacity: int) -> None:
        """Args: what a record is, and how many are kept."""
        self._records: Records = np.zeros(capacity, dtype)
        # The same as plain bytes, which are copied several times faster than fields are.
        self._octets = self._records.view(f"V{dtype.itemsize}")
        self._count = 0

    def append(self, record: tuple[float, ...]) -> None:
        """Adds a record."""
        self._records[self._count % len(self._records)] = record
        self._count += 1

    def extend(self, records: Records) -> None:
        """Adds at most as many records as are kept."""
        octets = records.view(self._octets.dtype)
        start = self._count % len(self._records)
        first = len(self._records) - start
        self._octets[start : start + len(records)] = octets[:first]
        self._octets[: max(0, len(records) - first)] = octets[first:]
        self._count += len(records)

    def in_order(self) -> Records:
        """The records kept, oldest first."""
        return np.concatenate(self._halves())

    def pieces(self, size: int) -> Iterator[Records]:
        """The same in pieces of at most so many records, without a copy of all."""
        for half in self._halves():
            for first in range(0, len(half), size):
                yield half[first : first + size]

    def newest(self, count: int) -> Records:
        """Returns that many of the records, or all, oldest first; costs the same at any length."""
        count = min(count, self._count, len(self._records))
        return self._records[np.arange(self._count - count, self._count) % len(self._records)]

    def _halves(self) -> tuple[Records, Records]:
        """The records up to the end of the room, and those that have begun anew."""
        begun = self._count % len(self._records) if self._count > len(self._records) else 0
        return self._records[begun : self._count], self._records[:begun]
