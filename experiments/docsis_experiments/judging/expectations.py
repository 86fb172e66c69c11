# SPDX-License-Identifier: Apache-2.0
"""The expectations of a scenario: published values, and tolerances chosen before a run."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from docsis_control.config.models import KeyedError, Model
from docsis_experiments.experiment.canonical import digest
from docsis_experiments.experiment.tagged import chosen_by
from docsis_experiments.measurement.quantity import Names, Quantity

_HASH_DIGITS: Final = 12
"""Digits of an expectation's hash."""


class Band(Model):
    """A band from one value to another, both included; it is open at an end without a value."""

    at_least: float | int | None = Field(default=None, description="The lowest value.")
    at_most: float | int | None = Field(default=None, description="The highest value.")

    @model_validator(mode="after")
    def _a_band(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise KeyedError("at_least", "is missing, and so is at_most; give one of them")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise KeyedError("at_most", f"{self.at_most:g} is below {self.at_least:g}")
        return self


class Tolerance(Model):
    """How far below and above the published value the measured one may be, in its unit."""

    below: float | int = Field(default=0, ge=0, description="0 unless given.")
    above: float | int = Field(default=0, ge=0, description="0 unless given.")


def _as_band(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Band(at_least=value, at_most=value)
    return value


def _as_tolerance(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Tolerance(below=value, above=value)
    return value


Published = Annotated[Band, BeforeValidator(_as_band)]
Tolerated = Annotated[Tolerance, BeforeValidator(_as_tolerance)]


class _Expectation(Model):
    """The common part of all expectations."""

    check: str
    quantity: Quantity
    runs: Names = Field(description="Labels of runs, or of a grid's managers for all its buffers.")
    source: str = Field(description="Where the published value stands.")
    reason: str = Field(description="Why the tolerance is what it is.")
    no_test: str | None = Field(
        default=None,
        min_length=1,
        description="Why the band is no test, because it cannot fail, hides a contradiction or was "
        "moved after a run; then it is shown and not judged.",
    )

    every_run: bool | None = Field(
        default=None,
        description="Whether it must hold in every single run, as what is configured must and what "
        "is published need not: then one run outside fails. No unless given.",
    )

    @property
    def hash(self) -> str:
        """The hash of the expectation as written: another band is another hash."""
        return digest(self.model_dump(mode="json", exclude_none=True))[:_HASH_DIGITS]

    @field_validator("runs")
    @classmethod
    def _some(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("is empty; name a run")
        return value


class Value(_Expectation):
    """A value, in every run named."""

    check: Literal["value"] = "value"
    published: Published = Field(description="A number, or at_least and at_most.")
    tolerance: Tolerated = Field(description="A number, or below and above; in the unit.")


class Ratio(_Expectation):
    """The quantity over another one of the same run."""

    check: Literal["ratio"] = "ratio"
    over: Quantity
    published: Published = Field(description="A number, or at_least and at_most.")
    tolerance: Tolerated = Field(description="A number, or below and above.")


class Slope(_Expectation):
    """How the quantity grows with the buffer over the runs: its unit for each ms of buffer."""

    check: Literal["slope"] = "slope"
    published: Published = Field(description="A number, or at_least and at_most.")
    tolerance: Tolerated = Field(description="A number, or below and above.")


class Order(_Expectation):
    """The runs in ascending order of the quantity."""

    check: Literal["order"] = "order"
    slack: float | int = Field(
        ge=0, description="How far a run may be below the one before it, in the unit."
    )

    @model_validator(mode="after")
    def _two(self) -> Self:
        if len(self.runs) < 2:
            raise KeyedError("runs", "an order needs two at least")
        return self


Expectation = Annotated[
    Value | Ratio | Slope | Order,
    Field(discriminator="check"),
    BeforeValidator(chosen_by("check", Value, Ratio, Slope, Order)),
]
