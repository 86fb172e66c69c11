# SPDX-License-Identifier: Apache-2.0
"""The plan of rows, each thing once: from rows and a level to works by key.

A row whose works cannot be told, because a workload that it takes is not there or because of a
defect of its own, is one that is not run; others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from docsis_experiments.reproduction.row import Asked, Row, Run, Work
from docsis_experiments.reproduction.shelf import key_of
from docsis_experiments.runs.sources import StageName
from docsis_experiments.runs.unit import Unit

MOST_WORKS: Final = 1_000_000
"""Works that a row may ask for."""

_MOST_WORDS: Final = 400


@dataclass(frozen=True)
class Entry:
    """A work of a row.

    Attributes:
        label: What the row calls it.
        seed: The seed of all that is random in it.
        key: Where what comes of it is kept.
    """

    label: str
    seed: int
    key: str


@dataclass(frozen=True)
class PlannedRow:
    """The plan of a row in one reading.

    Attributes:
        row: The row.
        asked: What is asked of it.
        entries: Its works.
        problem: Why they cannot be told, as the end of a sentence; "" where they can.
    """

    row: Row
    asked: Asked
    entries: tuple[Entry, ...]
    problem: str = ""

    @property
    def keys(self) -> frozenset[str]:
        """The keys of its works."""
        return frozenset(entry.key for entry in self.entries)


@dataclass
class Plan:
    """The plan of several rows.

    Attributes:
        rows: Each reading of each row.
        works: By key, in the order in which rows ask; a work that two rows need is here once.
    """

    rows: list[PlannedRow] = field(default_factory=list)
    works: dict[str, Work] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def add(self, row: Row, asked: Asked, stage: StageName = "virtual") -> None:
        """Takes up what a row asks for."""
        try:
            wanted = self._wanted(row, asked, stage)
        except Exception as error:  # whatever a row has: it fails that row alone
            self.rows.append(PlannedRow(row, asked, (), _words(error)))
            return
        entries = []
        for key, work in wanted:
            self.works.setdefault(key, self._lighter(work))
            seed = work.unit.seed if isinstance(work, Run) else work.seed
            entries.append(Entry(work.label, seed, key))
        self.rows.append(PlannedRow(row, asked, tuple(entries)))

    def only(self, keys: Iterable[str]) -> dict[str, Work]:
        """Those of the works."""
        chosen = set(keys)
        return {key: work for key, work in self.works.items() if key in chosen}

    def sharing(self) -> Mapping[str, int]:
        """How many rows need each work."""
        count: dict[str, int] = {}
        for planned in self.rows:
            for key in planned.keys:
                count[key] = count.get(key, 0) + 1
        return count

    @staticmethod
    def _wanted(row: Row, asked: Asked, stage: StageName) -> list[tuple[str, Work]]:
        works: Callable[[Asked], Iterable[Work]] | None = (
            row.works if stage == "virtual" else row.mininet
        )
        assert works is not None, "asked for where a row can"
        found: dict[tuple[str, int], tuple[str, Work]] = {}
        for count, work in enumerate(works(asked)):
            if count >= MOST_WORKS:
                raise ValueError(f"it asks for more than {MOST_WORKS} works")
            key = key_of(work, stage)
            seed = work.unit.seed if isinstance(work, Run) else work.seed
            place = (work.label, seed)
            if place in found and found[place][0] != key:
                raise ValueError(f'two of its works are called "{work.label}" with seed {seed}')
            found[place] = (key, work)
        return list(found.values())

    def _lighter(self, work: Work) -> Work:
        """The same with what many units have in common held once; models are left behind."""
        if not isinstance(work, Run):
            return work
        unit = work.unit
        scenario, topology = (
            self._texts.setdefault(text, text) for text in (unit.scenario, unit.topology)
        )
        return Run(work.label, Unit(scenario, topology, unit.quantities, unit.seed))


def _words(error: Exception) -> str:
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= _MOST_WORDS else said[: _MOST_WORDS - 1] + "…"
