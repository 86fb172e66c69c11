# SPDX-License-Identifier: Apache-2.0
"""Web users of 004, figure 6: objects are asked for one by one, and all is Pareto distributed."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import KeyedError, Model
from docsis_control.config.units import ByteSize, Duration
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import MOST_USERS, Pareto, Sent, TimedPages

_LONGEST: Final = 3_600_000_000_000
"""Nanoseconds of a mean time."""


class Shaped(Model):
    """A shape of a Pareto distribution, which has a mean."""

    shape: float = Field(
        gt=1, le=100, description="Of the Pareto distribution; its mean needs more than 1."
    )

    @field_validator("shape")
    @classmethod
    def _in_thousandths(cls, value: float) -> float:
        if round(1000 * value) <= 1000:
            raise ValueError("must be 1.001 at least: at 1 there is no mean")
        return value

    @property
    def thousandths(self) -> int:
        """The shape."""
        return round(1000 * self.shape)


class Times(Shaped):
    """Pareto distributed times."""

    mean: Duration

    @field_validator("mean")
    @classmethod
    def _possible(cls, value: int) -> int:
        if not 1_000_000 <= value <= _LONGEST:
            raise ValueError("must be 1 ms to an hour")
        return value

    @property
    def law(self) -> Pareto:
        """In nanoseconds."""
        return Pareto(self.mean, self.thousandths)


class Pieces(Shaped):
    """Pareto distributed numbers of pieces, one at least."""

    mean: float = Field(
        ge=1, le=1000, description="Draws between two whole numbers become one of them at random."
    )

    @property
    def law(self) -> Pareto:
        """In thousandths of a piece."""
        return Pareto(round(1000 * self.mean), self.thousandths)


def _times(mean: str, shape: float) -> Times:
    return Times.model_validate({"mean": mean, "shape": shape})


class Browsing(Group):
    """Web users who ask for one object after the other: downstream, whatever the direction is."""

    senders = (TimedPages,)
    most = MOST_USERS

    kind: Literal["browsing"] = "browsing"
    count: int = Field(default=1, ge=1, le=MOST_USERS, description="Users; one unless given.")
    pause: Times = Field(
        default_factory=lambda: _times("10 s", 2),
        description="From the end of a page to the start of the next; a mean of 10 s and a shape "
        "of 2 unless given.",
    )
    objects: Pieces = Field(
        default_factory=lambda: Pieces(mean=3, shape=1.5),
        description="Of a page, each on a connection of its own; a mean of 3 and a shape of 1.5 "
        "unless given.",
    )
    gap: Times = Field(
        default_factory=lambda: _times("500 ms", 1.5),
        description="From the request for an object to that for the next; a mean of 500 ms and a "
        "shape of 1.5 unless given.",
    )
    segments: Pieces = Field(
        default_factory=lambda: Pieces(mean=12, shape=1.2),
        description="Of an object; a mean of 12 and a shape of 1.2 unless given.",
    )
    segment: ByteSize | None = Field(
        default=None, description="Of a segment; what TCP has in a full one unless given."
    )
    connections: int = Field(
        default=32, ge=1, le=32, description="At once; what is beyond waits. 32 unless given."
    )
    request: ByteSize = Field(default=400, description="Of a request; 400 B unless given.")

    @field_validator("request")
    @classmethod
    def _fits(cls, value: int) -> int:
        if not 16 <= value <= 100_000:
            raise ValueError(f"a request has 16 B to 100 KB, not {value} B")
        return value

    @field_validator("segment")
    @classmethod
    def _of_tcp(cls, value: int | None) -> int | None:
        if value is not None and not 1 <= value <= 65_535:
            raise ValueError(f"a segment has 1 B to 65535 B, not {value} B")
        return value

    @model_validator(mode="after")
    def _asks_one(self) -> Browsing:
        if self.mesh:
            raise KeyedError("mesh", "objects are on one server; give a count of users")
        return self

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        pages = TimedPages(
            objects=self.objects.law,
            gap=self.gap.law,
            segments=self.segments.law,
            segment=self.segment,
            pause=self.pause.law,
            connections=self.connections,
            request=self.request,
        )
        return (Sent(pages),)


KIND: Final = Browsing
