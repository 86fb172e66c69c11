# SPDX-License-Identifier: Apache-2.0
"""The history, kept for pages that are reloaded or opened later; bounded in rows and bytes."""

from collections import OrderedDict, deque
from collections.abc import Collection
from dataclasses import dataclass
from itertools import dropwhile
from typing import Final

MOST_ROWS: Final = 3_000
"""The most rows that are kept of a modem: five minutes at ten a second."""

MOST_BYTES: Final = 4 << 20
"""The most bytes that a modem's rows take."""

MOST_MODEMS: Final = 4
"""Most that are followed in detail, but for those that pages look at; the one that nobody has
looked at for longest goes first."""


@dataclass(frozen=True)
class Row:
    """A modem's service flows at one moment.

    Attributes:
        number: Number of the update that it was in; they are never numbered anew.
        time_ms: Unix time, milliseconds.
        text: The row as JSON.
    """

    number: int
    time_ms: int
    text: bytes


class Rows:
    """The last rows of a modem."""

    def __init__(self) -> None:
        self._rows: deque[Row] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, row: Row) -> None:
        """Adds a row; the oldest make room."""
        self._rows.append(row)
        self._bytes += len(row.text)
        while len(self._rows) > MOST_ROWS or self._bytes > MOST_BYTES:
            self._bytes -= len(self._rows.popleft().text)

    def since(self, number: int, most_bytes: int) -> tuple[bytes, int | None]:
        """Rows from that number on, as a JSON list, and the number to go on with.

        Args:
            number: Number of the first update that is wanted.
            most_bytes: Most bytes of the list.

        Returns:
            The second is None where there are no more.
        """
        texts: list[bytes] = []
        size = 2
        for row in dropwhile(lambda row: row.number < number, self._rows):
            size += len(row.text) + 1
            if size > most_bytes:
                return b"[" + b",".join(texts) + b"]", row.number
            texts.append(row.text)
        return b"[" + b",".join(texts) + b"]", None


class History:
    """The rows of the modems that pages look at."""

    def __init__(self) -> None:
        self._modems: OrderedDict[str, Rows] = OrderedDict()

    @property
    def modems(self) -> tuple[str, ...]:
        """The ones that are followed."""
        return tuple(self._modems)

    def follow(self, modem: str, looked_at: Collection[str] = ()) -> Rows:
        """The rows of a modem, which is followed from now on.

        Args:
            modem: Name of the modem.
            looked_at: Names of modems that pages look at, none of which makes room for it.
        """
        rows = self._modems.setdefault(modem, Rows())
        self._modems.move_to_end(modem)
        spare = [name for name in self._modems if name != modem and name not in looked_at]
        for name in spare[: max(0, len(self._modems) - MOST_MODEMS)]:
            del self._modems[name]
        return rows

    def of(self, modem: str) -> Rows | None:
        """The rows of a modem that is followed."""
        return self._modems.get(modem)
