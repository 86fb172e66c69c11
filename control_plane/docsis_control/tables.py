# SPDX-License-Identifier: Apache-2.0
"""Entries for tables of a P4 target, by the names of the program."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Ternary:
    """Value of a ternary match field; bits of which the mask is 0 do not count.

    They are 0 in `value`, whatever was given, as P4Runtime wants it: equal conditions are equal.
    """

    value: int
    mask: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", self.value & self.mask)


@dataclass(frozen=True)
class Range:
    """Value of a range match field: low <= field <= high."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"the range {self.low}-{self.high} is empty")


MatchValue = int | Ternary | Range
"""An int is the value of an exact match field."""


@dataclass(frozen=True)
class TableEntry:
    """An entry of a P4 table, or its default entry where `match` is None.

    Attributes:
        table: Full name of the table.
        match: Values by match field, without those of ternary and range fields that
            match anything; None for the default entry.
        action: Name of the action.
        params: Values by action parameter.
        priority: Above 0 exactly in tables with a ternary, range or optional key.
    """

    table: str
    match: Mapping[str, MatchValue] | None
    action: str
    params: Mapping[str, int]
    priority: int = 0

    def __str__(self) -> str:
        """Name of the entry for messages."""
        if self.match is None:
            return f"default entry of {self.table}"
        at = f" at priority {self.priority}" if self.priority else ""
        return f"entry of {self.table} {dict(self.match)}{at}"


@dataclass(frozen=True)
class MulticastGroup:
    """A replication group of the packet replication engine.

    Attributes:
        group_id: Above 0.
        ports: Egress ports, one copy each.
    """

    group_id: int
    ports: tuple[int, ...]
