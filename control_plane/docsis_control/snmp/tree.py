# SPDX-License-Identifier: Apache-2.0
"""Values by object identifier, in their order: what GET and GETNEXT ask."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

Oid = tuple[int, ...]


class Syntax(Enum):
    """The type of a value on the wire (RFC 2578, 7.1), and the largest number of each."""

    INTEGER = "Integer32"
    UNSIGNED32 = "Unsigned32"
    COUNTER32 = "Counter32"
    COUNTER64 = "Counter64"
    TIME_TICKS = "TimeTicks"
    OCTET_STRING = "OctetString"

    @property
    def largest(self) -> int:
        """The largest number that it holds."""
        if self is Syntax.INTEGER:
            return 2**31 - 1
        return 2**64 - 1 if self is Syntax.COUNTER64 else 2**32 - 1


@dataclass(frozen=True)
class Value:
    """A number; text or bytes for OCTET_STRING."""

    syntax: Syntax
    value: int | str | bytes


class Tree:
    """The values of one moment."""

    def __init__(self, objects: Iterable[Oid], values: Mapping[Oid, Value]) -> None:
        """Args: the objects that are implemented, without instance, and all instances' values."""
        self._objects = tuple(objects)
        self._values = dict(values)
        self._order = sorted(self._values)

    def __len__(self) -> int:
        return len(self._order)

    def get(self, oid: Oid) -> Value | None:
        """The value of exactly that instance."""
        return self._values.get(oid)

    def implements(self, oid: Oid) -> bool:
        """Whether it is an instance, there or not, of an object that is implemented."""
        return any(oid[: len(known)] == known for known in self._objects)

    def after(self, oid: Oid) -> tuple[Oid, Value] | None:
        """The first instance behind that identifier; None at the end."""
        place = bisect_right(self._order, oid)
        if place == len(self._order):
            return None
        return self._order[place], self._values[self._order[place]]
