# SPDX-License-Identifier: Apache-2.0
"""A part of a rule: one statistic and the bands that it is held against. Pure."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from docsis_control.config.models import KeyedError, Model
from docsis_experiments.experiment.tagged import as_tuple
from docsis_experiments.reproduction.catalogue.bounds import Contradicted, Reproduced

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]*( [a-z0-9.-]+)*", re.ASCII)
_LONGEST_NAME: Final = 80


class IntervalKind(StrEnum):
    """How a statistic gets its interval (catalogue, section 1)."""

    SEEDS = "seeds"
    """One number a seed: Student's t below ten seeds, from ten on a bootstrap."""
    POOLED = "pooled"
    """One statistic of all seeds together: a bootstrap of whole seeds (section 6)."""
    SHARE = "share"
    """Wilson's, of draws or runs."""
    EXACT = "exact"
    """None: a definition, an arithmetic, a count."""


class Role(StrEnum):
    """The role of a part in its row."""

    JUDGED = "judged"
    """The row's verdict follows from it."""
    SHOWN = "shown"
    """It has no verdict: it stands beside the others, or is what "not X" is about."""
    CONDITION = "condition"
    """It must be reproduced, else the parts that name it are undecided."""
    DEFINITION = "definition"
    """It must hold, is shown apart, and never counts as reproduced."""


class Place(StrEnum):
    """The places where less is run than at the level `full` (catalogue, section 13)."""

    STUDY = "study"
    MININET = "mininet"


Strings = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]


def as_enum(kind: type[StrEnum]) -> BeforeValidator:
    """A validator that turns a text of a file into one of these."""

    def convert(value: object) -> object:
        if isinstance(value, kind):
            return value
        try:
            return kind(str(value))
        except ValueError:
            known = ", ".join(kind)
            raise ValueError(f'"{value}" is none: one of {known}') from None

    return BeforeValidator(convert)


class WithoutMac(Model):
    """The bands at N, where there is no MAC (K1)."""

    reproduced: Reproduced
    contradicted: Contradicted | None = None


class Statistic(Model):
    """The common part of a part and of a family of parts."""

    name: str = Field(description="What `Row.parts` calls it; lower-case words.")
    measure: str = Field(default="", description="What is measured, where the name leaves it open.")
    published: str = Field(default="", description="The part's own published value.")
    law: float | int | None = Field(
        default=None, description="What the exact law gives, computed before the run."
    )
    unit: str = Field(description='Of the values; "" of a ratio. A share is in "%".')
    role: Annotated[Role, as_enum(Role)] = Field(
        default=Role.JUDGED, description="judged unless given."
    )
    interval: Annotated[IntervalKind, as_enum(IntervalKind)] = Field(
        description="seeds, pooled, share or exact."
    )
    confidence: float | None = Field(
        default=None, gt=0.5, lt=1, description="Of the interval; 0.95 unless given."
    )
    reading: int | None = Field(
        default=None,
        ge=1,
        le=99,
        description="The only reading that it belongs to; every one unless given. Parts of "
        "reading 1 also belong to those readings that have none of their own.",
    )
    no_event: bool = Field(default=False, description="R 0: no event in any run.")
    contains: float | int | None = Field(
        default=None, description="An exact value that the interval has to contain."
    )
    reproduced: Reproduced | None = Field(default=None, description="R.")
    contradicted: Contradicted | None = Field(
        default=None, description="C; without it what is wholly outside R contradicts."
    )
    without_mac: WithoutMac | None = Field(
        default=None, description="The bands where there is no MAC; else the same."
    )
    with_mac_only: bool = Field(default=False, description="Not judged where there is no MAC.")
    not_also: Strings = Field(
        default=(), description='"Not X": parts of the row that must fail the bands of this one.'
    )
    only_if: Strings = Field(default=(), description="Conditions; where one fails: undecided.")
    alternative: str | None = Field(
        default=None,
        description="Parts with the same one hold together; one alternative is enough.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        bands = [self.reproduced, self.contains]
        given = sum(band is not None for band in bands)
        if self.role is Role.SHOWN:
            if given or self.contradicted is not None:
                raise KeyedError("role", "is shown, and it has bands; take them away or judge it")
        elif given != 1:
            raise KeyedError("reproduced", "or contains has to be given, one of them")
        if self.contradicted is not None and self.reproduced is None:
            raise KeyedError("contradicted", "needs a band that counts as reproduced")
        if self.interval is IntervalKind.SHARE and self.unit != "%":
            raise KeyedError("unit", 'of a share has to be "%"')
        if (self.role is Role.DEFINITION) and self.interval is not IntervalKind.EXACT:
            raise KeyedError("interval", "of a definition has to be exact")
        return self


class Part(Statistic):
    """One statistic and its bands.

    Attributes:
        not_at: Where it is not run.
    """

    not_at: tuple[Place, ...] = ()

    @property
    def shown_only(self) -> bool:
        """Whether it has no verdict."""
        return self.role is Role.SHOWN


_Item = str | int | float
Items = Annotated[tuple[_Item, ...], BeforeValidator(as_tuple)]


class Family(Statistic):
    """A part as written, or several that differ in one word: {} in names stands for it."""

    each: Items | None = Field(default=None, min_length=1, description="What {} stands for.")
    study: Items | None = Field(default=None, description="Those of them that `study` runs.")
    mininet: Items | None = Field(default=None, description="Those of them that Mininet runs.")

    @field_validator("name", "alternative")
    @classmethod
    def _short(cls, value: str | None) -> str | None:
        if value is not None and len(value) > _LONGEST_NAME:
            raise ValueError(f"has more than {_LONGEST_NAME} letters")
        return value

    @model_validator(mode="after")
    def _each(self) -> Self:
        if ("{}" in self.name) != (self.each is not None):
            raise KeyedError("name", "needs {} where `each` is given, and only there")
        for key in ("study", "mininet"):
            if (of := getattr(self, key)) is not None and not set(of) <= set(self.each or ()):
                raise KeyedError(key, "has one that is not in `each`")
        for part in self.parts():
            if len(part.name) > _LONGEST_NAME or not _NAME.fullmatch(part.name):
                raise KeyedError(
                    "name",
                    f'"{part.name}" is no name of a part; use lower-case words of letters, digits, '
                    "dots and hyphens",
                )
        return self

    def parts(self) -> tuple[Part, ...]:
        """One part, or one for each word."""
        shared = {
            key: getattr(self, key) for key in self.model_fields_set - {"each", "study", "mininet"}
        }
        return tuple(
            Part.model_validate({**shared, **self._named(word), "not_at": self._not_at(word)})
            for word in (self.each if self.each is not None else ("",))
        )

    def _named(self, word: _Item) -> dict[str, object]:
        def named(text: str) -> str:
            return text.replace("{}", str(word))

        return {
            "name": named(self.name),
            "not_also": tuple(named(name) for name in self.not_also),
            "only_if": tuple(named(name) for name in self.only_if),
            "alternative": None if self.alternative is None else named(self.alternative),
        }

    def _not_at(self, word: _Item) -> tuple[Place, ...]:
        return tuple(
            place
            for place, run in ((Place.STUDY, self.study), (Place.MININET, self.mininet))
            if run is not None and word not in run
        )
