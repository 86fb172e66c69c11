# SPDX-License-Identifier: Apache-2.0
"""RF congestion: what the channel carries, step by step."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from docsis_control.config.models import MAX_RATE, KeyedError, Model
from docsis_control.config.units import DataRate, Duration, format_rate
from docsis_experiments.experiment.tagged import as_tuple

TRANSITIONS: Final = (2, 1, 2, 3, 1, 3, 2, 4, 1, 4, 3, 4)
"""Order of four rates, 1 the lowest, which has each of the 12 transitions between them once when
it is repeated (000, section 2.3, and the order of its authors' script)."""

_LEVELS: Final = 4

CONGESTED: Final = 20
"""Percent that an upstream channel's capacity varies from MAP to MAP under RF congestion, as the
model of 000's authors has it."""


class Channel(Model):
    """The channel's capacity in the scenario's direction.

    Where the topology has upstream channels with a MAC, each of them carries that much upstream.
    """

    levels: Annotated[tuple[DataRate, ...], BeforeValidator(as_tuple)] | None = Field(
        default=None,
        description="Four rates, in the order that has all 12 transitions between them; "
        "the ramp-up has the last of that order.",
    )
    sequence: Annotated[tuple[DataRate, ...], BeforeValidator(as_tuple)] | None = Field(
        default=None,
        description="Instead of levels: the rates one after the other, again and again.",
    )
    step: Duration = Field(description="How long each rate lasts.")
    variation_percent: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None,
        description="How far what a MAP may grant lies from the rate, on upstream channels; 20 "
        "unless given.",
    )

    @field_validator("levels", "sequence")
    @classmethod
    def _rates(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        for rate in value or ():
            if not 0 < rate <= MAX_RATE:
                raise ValueError(f"{format_rate(rate)} is no rate of a channel")
        return value

    @field_validator("step")
    @classmethod
    def _lasting(cls, value: int) -> int:
        if value < 100_000_000:
            raise ValueError("a step must last 100 ms at least")
        return value

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.levels is None) == (self.sequence is None):
            raise KeyedError("levels", "give either levels or a sequence")
        if self.levels is not None and len(set(self.levels)) != _LEVELS:
            raise KeyedError("levels", f"there must be {_LEVELS} different rates")
        if self.sequence is not None and not self.sequence:
            raise KeyedError("sequence", "is empty; give one rate at least")
        return self

    @property
    def variation(self) -> int:
        """Percent of the rate that a MAP's draw may lie from it, where modems have a MAC."""
        return CONGESTED if self.variation_percent is None else self.variation_percent

    @property
    def rates(self) -> tuple[int, ...]:
        """bit/s of the steps, in their order, to be repeated."""
        if self.levels is not None:
            ascending = sorted(self.levels)
            return tuple(ascending[level - 1] for level in TRANSITIONS)
        assert self.sequence is not None
        return self.sequence

    @property
    def first(self) -> int:
        """bit/s in the ramp-up.

        Of levels it is the last one, so that the first step is a transition, too, and twelve steps
        have all 12. Of a sequence it is the first one.
        """
        return self.rates[0] if self.levels is None else self.rates[-1]

    def steps(self, seconds: float) -> list[tuple[float, int]]:
        """When each rate begins, in seconds of a time that long, and bit/s."""
        # In whole nanoseconds: 3 s of steps of 0.3 s are ten, and 3 // 0.3 is 9.
        count = max(1, -(-round(seconds * 1e9) // self.step))
        return [
            (number * self.step / 1e9, self.rates[number % len(self.rates)])
            for number in range(count)
        ]
