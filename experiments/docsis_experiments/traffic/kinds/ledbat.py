# SPDX-License-Identifier: Apache-2.0
"""Uploads that yield to others: BitTorrent's, by LEDBAT (RFC 6817; 000, 4.3)."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import KeyedError, Model
from docsis_control.config.units import DataRate, Duration, format_duration
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import MOST_FLOWS, LedbatTransfers, Sent

LARGEST_TARGET: Final = 100_000_000
"""Nanoseconds (RFC 6817, 2.5)."""


class RoundTrips(Model):
    """From which round trips each flow has one, without queues; uniformly."""

    at_least: Duration
    at_most: Duration

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.at_most < self.at_least:
            raise KeyedError("at_most", f"is below {format_duration(self.at_least)}")
        if self.at_most > 10_000_000_000:
            raise KeyedError("at_most", "a round trip must be at most 10 s")
        return self


class Ledbat(Group):
    """Endless uploads by LEDBAT, each to a peer of its own: a BitTorrent client's."""

    senders = (LedbatTransfers,)

    kind: Literal["ledbat"] = "ledbat"
    count: int = Field(default=100, ge=1, le=MOST_FLOWS, description="Uploads; 100 unless given.")
    rate: DataRate | None = Field(
        default=None,
        description="Payload of all of them together at the most. Each host gets a part in "
        "proportion to its uploads, which take turns. No such limit unless given.",
    )
    target: Duration = Field(
        default=25_000_000,
        description="Queueing delay that each keeps to; 25 ms unless given (000's), and 100 ms at "
        "the most (RFC 6817).",
    )
    round_trip: RoundTrips | None = Field(
        default=None,
        description="Each flow has one of these, which the run's seed draws uniformly, its "
        "server's own included; the server's own unless given. In virtual time alone.",
    )

    @field_validator("target")
    @classmethod
    def _possible(cls, value: int) -> int:
        if not 0 < value <= LARGEST_TARGET:
            raise ValueError("must be above 0 and at most 100 ms (RFC 6817, 2.5)")
        return value

    @model_validator(mode="after")
    def _something_each(self) -> Self:
        if self.rate is not None and self.rate < self.count:
            raise KeyedError("rate", f"is less than 1 bit/s for each of {self.count}")
        return self

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        between = self.round_trip
        sender = LedbatTransfers(
            shared_rate=self.rate or 0,
            target_ns=self.target,
            round_trip_ns=None if between is None else (between.at_least, between.at_most),
        )
        return (Sent(sender),)


KIND: Final = Ledbat
