# SPDX-License-Identifier: Apache-2.0
"""A registered rule: what was published, what is measured, and when it counts as reproduced."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from docsis_control.config.models import Model
from docsis_experiments.experiment.canonical import digest
from docsis_experiments.reproduction.catalogue.part import Part, Place, Role, as_enum

MININET_RUNS: Final = 5
"""Runs in Mininet of a row marked with µ, unless its rule says otherwise."""

HASH_DIGITS: Final = 12
"""Digits of a rule's hash."""

FIRST: Final = 1
"""The reading that decides."""


class Kind(StrEnum):
    """The kinds of results (catalogue, section 1)."""

    NUMBER = "N"
    SHAPE = "S"
    """A shape, or a relation in words."""
    DEFINITION = "D"
    """A definition or arithmetic: must hold, never counted as reproduced."""
    IRREPRODUCIBLE = "X"
    SHAPE_OF_NUMBERS = "X→S"
    """Not reproducible as numbers, with a fair test of the shape (section 6)."""


class Best(StrEnum):
    """The best that a rule can come to."""

    REPRODUCED = "reproduced"
    CONSISTENT = "consistent"
    """Section 6: a field's data are not ours."""


AnyKind = Annotated[Kind, as_enum(Kind)]
AnyBest = Annotated[Best, as_enum(Best)]


class Amendment(Model):
    """A change of a rule, after it was registered."""

    date: date
    before: str = Field(
        pattern=rf"^[0-9a-f]{{{HASH_DIGITS}}}$", description="The hash that the rule had."
    )
    was: str = Field(min_length=1, description="What stood there, so that it can still be read.")
    why: str = Field(min_length=1, description="Why it was changed.")


class Reading(Model):
    """Another way to read the source, which is run and shown (catalogue, section 2).

    Attributes:
        number: 2 and more; 1 is the one that decides.
        name: What the files call it.
        known: Which of the known differences it belongs to: "K3"; "" where the rule itself
            names it.
        words: What is other than in the first.
        without_mac: Whether it has no MAC, and is judged by those bands.
    """

    number: int
    name: str
    known: str = ""
    words: str
    without_mac: bool = False


class Rule(Model):
    """A registered rule, whose parts are all written out.

    Attributes:
        id: "001-F5a".
        paper: "001".
        kind: See `Kind`.
        mininet: µ: also run in Mininet.
        mininet_runs: How often there (section 13).
        figure: Number of the paper's figure; "" where none is named.
        done: What was done, as the catalogue says.
        published: What was published, as the catalogue says.
        rule: The rule in the catalogue's own words.
        seeds: How many are registered; 0 of kind X.
        other_seeds: How many are registered for the other readings.
        best: The best that it can come to.
        said_beforehand: Where the source contradicts itself or theory (section 11).
        applies: Known differences that concern it.
        readings: The others, by number.
        parts: In the order of the file.
        registered: When.
        amended: What was changed since.
    """

    id: str
    paper: str
    kind: Kind
    mininet: bool
    figure: str
    done: str
    published: str
    rule: str
    seeds: int
    other_seeds: int
    best: Best
    said_beforehand: str
    applies: tuple[str, ...]
    readings: tuple[Reading, ...]
    parts: tuple[Part, ...]
    registered: date
    mininet_runs: int = MININET_RUNS
    amended: tuple[Amendment, ...] = ()

    @property
    def hash(self) -> str:
        """The hash of the rule as it stands: another band or another word is another hash."""
        return digest(
            self.model_dump(
                mode="json",
                exclude={"registered", "amended"},
                exclude_defaults=True,
            )
        )[:HASH_DIGITS]

    @property
    def reading_numbers(self) -> tuple[int, ...]:
        """The first and the others."""
        return (FIRST, *(reading.number for reading in self.readings))

    def reading(self, number: int) -> Reading | None:
        """One of the others; None of the first.

        Raises:
            KeyError: There is none of that number.
        """
        if number == FIRST:
            return None
        found = next((one for one in self.readings if one.number == number), None)
        if found is None:
            raise KeyError(f"{self.id} has no reading {number}")
        return found

    def parts_at(self, reading: int) -> tuple[Part, ...]:
        """The parts that a reading has."""
        own = any(part.reading == reading for part in self.parts)
        wanted = reading if own else FIRST
        return tuple(part for part in self.parts if part.reading in (None, wanted))

    def judged_at(self, reading: int, place: Place | None) -> tuple[Part, ...]:
        """Those that a row's verdict follows from, where it is run."""
        return tuple(
            part
            for part in self.parts_at(reading)
            if part.role is Role.JUDGED and place not in part.not_at
        )
