# SPDX-License-Identifier: Apache-2.0
"""The rules of a paper as they are written in its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, model_validator

from docsis_control.config.models import KeyedError, Model
from docsis_experiments.experiment.canonical import digest
from docsis_experiments.experiment.tagged import as_tuple
from docsis_experiments.reproduction.catalogue.part import Family, Part, Role, Strings
from docsis_experiments.reproduction.catalogue.rule import (
    FIRST,
    HASH_DIGITS,
    MININET_RUNS,
    Amendment,
    AnyBest,
    AnyKind,
    Best,
    Kind,
    Reading,
    Rule,
)

_MOST_SEEDS: Final = 100_000

Families = Annotated[tuple[Family, ...], BeforeValidator(as_tuple)]
Amendments = Annotated[tuple[Amendment, ...], BeforeValidator(as_tuple)]


class WrittenReading(Model):
    """A reading that rules of the paper name."""

    known: str = Field(default="", description="The known difference it belongs to.")
    words: str = Field(min_length=1, description="What is other than in the first reading.")
    without_mac: bool = Field(default=False, description="Whether there is no MAC.")


class WrittenRule(Model):
    """A rule."""

    id: str = Field(pattern=r"^[0-9]{3}-[A-Za-z0-9-]{1,20}$", description='"001-F5a".')
    kind: AnyKind = Field(description="N, S, D, X or X→S.")
    mininet: bool = Field(default=False, description="µ: also in Mininet.")
    mininet_runs: int = Field(
        default=MININET_RUNS,
        ge=1,
        le=_MOST_SEEDS,
        description=f"How often there; {MININET_RUNS} unless given.",
    )
    figure: str = Field(default="", description="The paper's.")
    done: str = Field(default="", description="What was done; the setting says the rest.")
    published: str = Field(min_length=1, description="What was published.")
    rule: str = Field(default="", description="The catalogue's words.")
    seeds: int = Field(default=0, ge=0, le=_MOST_SEEDS, description="Registered; none of kind X.")
    seeds_of_other_readings: int | None = Field(
        default=None, ge=1, le=_MOST_SEEDS, description="As many unless given."
    )
    best_verdict: AnyBest = Field(default=Best.REPRODUCED, description="reproduced unless given.")
    said_beforehand: str = Field(default="", description="Section 11's words.")
    applies: Strings = Field(default=(), description="Known differences that concern it.")
    readings: Mapping[int, str] = Field(default={}, description="The others by number, from 2 on.")
    parts: Families = Field(default=(), description="None of kind X.")
    amended: Amendments = Field(default=(), description="What was changed since, oldest first.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.kind is Kind.IRREPRODUCIBLE) != (not self.parts):
            raise KeyedError("parts", "are what every rule has but those of kind X")
        if (self.seeds == 0) != (self.kind is Kind.IRREPRODUCIBLE):
            raise KeyedError("seeds", "are what every rule has but those of kind X")
        if list(self.readings) != list(range(FIRST + 1, FIRST + 1 + len(self.readings))):
            raise KeyedError("readings", "have to be numbered 2, 3 and so on")
        if any(a.date > b.date for a, b in zip(self.amended, self.amended[1:], strict=False)):
            raise KeyedError("amended", "has to stand in the order of the dates")
        for index, family in enumerate(self.parts):
            key = f"parts.{index}"
            if family.reading not in (None, FIRST, *self.readings):
                raise KeyedError(f"{key}.reading", f"{family.reading} is no reading of the rule")
            if self.kind is Kind.DEFINITION and family.role in (Role.JUDGED, Role.CONDITION):
                raise KeyedError(f"{key}.role", "has to be definition or shown in a rule of kind D")
        self._check_names()
        return self

    def _check_names(self) -> None:
        parts = list(self.written_out())
        roles = {part.name: part.role for _, part in parts}
        seen: set[tuple[str, int | None]] = set()
        for index, part in parts:
            key = f"parts.{index}"
            if {(part.name, part.reading), (part.name, None)} & seen or (
                part.reading is None and any(part.name == name for name, _ in seen)
            ):
                raise KeyedError(f"{key}.name", f'"{part.name}" is there twice')
            seen.add((part.name, part.reading))
            for field, wanted in (("not_also", None), ("only_if", Role.CONDITION)):
                for name in getattr(part, field):
                    if name not in roles or name == part.name:
                        raise KeyedError(f"{key}.{field}", f'"{name}" is no other part of the rule')
                    if wanted is not None and roles[name] is not wanted:
                        raise KeyedError(f"{key}.{field}", f'"{name}" is no condition')

    def written_out(self) -> Iterator[tuple[int, Part]]:
        """All parts, each with the index of what it was written as."""
        for index, family in enumerate(self.parts):
            for part in family.parts():
                yield index, part


class Paper(Model):
    """All rules of a paper."""

    paper: str = Field(pattern=r"^[0-9]{3}$", description="The file's name.")
    registered: date = Field(description="When the rules were fixed.")
    section: int = Field(description="Of the catalogue.")
    setting: str = Field(description="What all rules have in common, in the catalogue's words.")
    knowns: Mapping[str, str] = Field(description="Section 2's differences, in its words.")
    readings: Mapping[str, WrittenReading] = Field(description="Those that the rules name.")
    rules: Annotated[tuple[WrittenRule, ...], BeforeValidator(as_tuple)]
    amended: Amendments = Field(default=(), description="Of the setting and the differences.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ids: set[str] = set()
        for name, reading in self.readings.items():
            if reading.known and reading.known not in self.knowns:
                raise KeyedError(f"readings.{name}.known", f'"{reading.known}" is not in knowns')
        for index, rule in enumerate(self.rules):
            key = f"rules.{index}"
            if not rule.id.startswith(f"{self.paper}-"):
                raise KeyedError(f"{key}.id", f'"{rule.id}" is not of paper {self.paper}')
            if rule.id in ids:
                raise KeyedError(f"{key}.id", f'"{rule.id}" is there twice')
            ids.add(rule.id)
            for known in rule.applies:
                if known not in self.knowns:
                    raise KeyedError(f"{key}.applies", f'"{known}" is not in knowns')
            for number, name in rule.readings.items():
                if name not in self.readings:
                    raise KeyedError(f"{key}.readings.{number}", f'"{name}" is not in readings')
        return self

    @property
    def hash(self) -> str:
        """The hash of what all rules have in common."""
        return digest({"setting": self.setting, "knowns": dict(self.knowns)})[:HASH_DIGITS]

    def written_out(self) -> tuple[Rule, ...]:
        """The rules with all that the file says of them."""
        return tuple(self._rule(rule) for rule in self.rules)

    def _rule(self, rule: WrittenRule) -> Rule:
        return Rule(
            id=rule.id,
            paper=self.paper,
            kind=rule.kind,
            mininet=rule.mininet,
            mininet_runs=rule.mininet_runs,
            figure=rule.figure,
            done=rule.done,
            published=rule.published,
            rule=rule.rule,
            seeds=rule.seeds,
            other_seeds=rule.seeds_of_other_readings or rule.seeds,
            best=rule.best_verdict,
            said_beforehand=rule.said_beforehand,
            applies=rule.applies,
            readings=tuple(
                Reading(
                    number=number,
                    name=name,
                    known=self.readings[name].known,
                    words=self.readings[name].words,
                    without_mac=self.readings[name].without_mac,
                )
                for number, name in rule.readings.items()
            ),
            parts=tuple(part for _, part in rule.written_out()),
            registered=self.registered,
            amended=rule.amended,
        )
