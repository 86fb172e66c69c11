# SPDX-License-Identifier: Apache-2.0
"""The bounds within which an interval has to lie for "reproduced" and for "contradicted". Pure."""

from __future__ import annotations

import math
from typing import Self

from pydantic import Field, model_validator

from docsis_control.config.models import KeyedError, Model
from docsis_experiments.measurement.intervals import Interval

_Number = float | int | None


class Bounds(Model):
    """The four bounds of both: "R ≥3, ≤60%" has two, "R >50%" has one."""

    at_least: _Number = Field(default=None, description="Lower bound, itself included.")
    above: _Number = Field(default=None, description="Lower bound, itself not included.")
    at_most: _Number = Field(default=None, description="Upper bound, itself included.")
    below: _Number = Field(default=None, description="Upper bound, itself not included.")

    @model_validator(mode="after")
    def _some(self) -> Self:
        given = {key: value for key, value in self if value is not None}
        if not given:
            raise KeyedError("at_least", "is missing, and so are the others; give a bound")
        for key, value in given.items():
            if not math.isfinite(value):
                raise KeyedError(key, f"{value} is no bound; leave it out")
        for one, other in (("at_least", "above"), ("at_most", "below")):
            if {one, other} <= given.keys():
                raise KeyedError(other, f"is given, and so is {one}; keep one of them")
        return self


class Reproduced(Bounds):
    """R: the whole interval has to be inside."""

    @model_validator(mode="after")
    def _a_band(self) -> Self:
        low = self.at_least if self.above is None else self.above
        high = self.at_most if self.below is None else self.below
        if low is not None and high is not None:
            if low > high:
                raise KeyedError("at_most" if self.below is None else "below", f"is below {low:g}")
            if low == high and not (self.above is None and self.below is None):
                raise KeyedError("at_least" if self.above is None else "above", "leaves no value")
        return self

    def has(self, interval: Interval) -> bool:
        """Whether the whole interval is inside."""
        return (
            (self.at_least is None or interval.low >= self.at_least)
            and (self.above is None or interval.low > self.above)
            and (self.at_most is None or interval.high <= self.at_most)
            and (self.below is None or interval.high < self.below)
        )

    def excludes(self, interval: Interval) -> bool:
        """Whether the whole interval is outside, all of it on one side."""
        return (
            (self.at_least is not None and interval.high < self.at_least)
            or (self.above is not None and interval.high <= self.above)
            or (self.at_most is not None and interval.low > self.at_most)
            or (self.below is not None and interval.low >= self.below)
        )


class Contradicted(Bounds):
    """C: the whole interval has to be beyond one of the bounds.

    `below` and `at_most` bound what lies under them, `above` and `at_least` what lies over them:
    C <10, >17 is below 10 and above 17, C ≥0 is at_least 0.
    """

    @model_validator(mode="after")
    def _apart(self) -> Self:
        under = self.below if self.at_most is None else self.at_most
        over = self.above if self.at_least is None else self.at_least
        if under is not None and over is not None and under > over:
            raise KeyedError(
                "above" if self.at_least is None else "at_least",
                f"is below {under:g}, so every value would contradict",
            )
        return self

    def has(self, interval: Interval) -> bool:
        """Whether the whole interval is beyond."""
        return (
            (self.below is not None and interval.high < self.below)
            or (self.at_most is not None and interval.high <= self.at_most)
            or (self.above is not None and interval.low > self.above)
            or (self.at_least is not None and interval.low >= self.at_least)
        )
