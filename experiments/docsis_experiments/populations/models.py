# SPDX-License-Identifier: Apache-2.0
"""A population: service tiers, distances and modems with their shares, and the test of each.

Shares are relative: 1 and 3 are a quarter and three quarters. What does not go together is told by
its key, as a file has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Annotated, Final, Protocol, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from docsis_control.config.models import KeyedError, Model, ServiceTier
from docsis_control.config.units import Buffer, Duration, format_duration
from docsis_control.topology.upstream_channels import UpstreamChannel
from docsis_experiments.experiment.managers import Managed, Manager
from docsis_experiments.experiment.models import Source
from docsis_experiments.experiment.tagged import as_tuple
from docsis_experiments.experiment.tcp import CongestionControl

MOST_TESTS: Final = 50_000
"""The most tests that a limit may allow, all arms together."""

DEFAULT_LIMIT: Final = 10_000
"""Tests of a population that says nothing of a limit."""

MOST_STREAMS: Final = 32
MOST_NAMED: Final = 100
"""Tiers, modems, arms, bands."""

MOST_SHARE: Final = 1e9

LONGEST_TEST: Final = 600_000_000_000
"""Nanoseconds of a test, all of it."""

LONGEST_ROUND_TRIP: Final = 2_000_000_000
"""Nanoseconds of an idle round trip; a longer one that is drawn is so long."""

_SPREAD: Final = NormalDist().inv_cdf(0.95)
"""Standard deviations from the median to the 95% quantile."""

_UNEVEN: Final = 0.25
"""How far the two halves of a log-normal distribution's quantiles may differ: they are rounded."""

_SHORTEST_IDLE: Final = 100_000_000


class Shared(Protocol):
    """An object with a share."""

    @property
    def share(self) -> float:
        """Relative to the others'."""


def _some_share(entries: Sequence[Shared]) -> None:
    if not entries:
        raise ValueError("is empty; name one at least")
    if len(entries) > MOST_NAMED:
        raise ValueError(f"has {len(entries)} entries; there may be {MOST_NAMED}")
    for index, entry in enumerate(entries):
        if not 0 <= entry.share <= MOST_SHARE:
            raise KeyedError(
                f"{index}.share", f"is {entry.share:g}; a share is 0 to {MOST_SHARE:g}"
            )
    if not math.fsum(entry.share for entry in entries) > 0:
        raise ValueError("has shares that add up to nothing; give one of them a share above 0")


def _number(value: object) -> object:
    """An integer is a number, too."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"has too many digits; a share is 0 to {MOST_SHARE:g}") from None


Share = Annotated[float, BeforeValidator(_number)]


class TierShare(Model):
    """A service tier that a part of the subscribers has."""

    tier: ServiceTier = Field(
        description="The name of a file, without .yaml, in tiers/ beside this file or in "
        "topologies/tiers/ of the project; or a tier as such a file has it."
    )
    share: Share = Field(default=1.0, description="Relative to the others'; 1 unless given.")


class RoundTrip(Model):
    """Idle round trips, log-normally distributed, the channel's own part included."""

    median: Duration = Field(description="Half of the subscribers are nearer.")
    p5: Duration = Field(description="5% are nearer.")
    p95: Duration = Field(description="95% are nearer.")

    @model_validator(mode="after")
    def _log_normal(self) -> Self:
        if not 0 < self.p5 < self.median:
            raise KeyedError(
                "p5",
                f"{format_duration(self.p5)} is not between 0 and the median, "
                f"{format_duration(self.median)}",
            )
        if not self.median < self.p95 <= LONGEST_ROUND_TRIP:
            raise KeyedError(
                "p95",
                f"{format_duration(self.p95)} is not between the median, "
                f"{format_duration(self.median)}, and {format_duration(LONGEST_ROUND_TRIP)}",
            )
        below = math.log(self.median / self.p5)
        above = math.log(self.p95 / self.median)
        if not 1 - _UNEVEN <= above / below <= 1 / (1 - _UNEVEN):
            even = format_duration(round(self.median**2 / self.p5 / 1e5) * 100_000)
            raise KeyedError(
                "p95",
                f"no log-normal distribution has these quantiles: with {format_duration(self.p5)} "
                f"below a median of {format_duration(self.median)} it is about {even}",
            )
        return self

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm, from both ends."""
        return math.log(self.p95 / self.p5) / (2 * _SPREAD)


class Modem(Model):
    """A kind of modem: its queue manager and its buffer."""

    name: str = Field(min_length=1, max_length=40, description="What arms call it.")
    manager: Manager = Field(description="A preset's name, or a mapping with its algorithm.")
    buffer: Buffer | None = Field(
        default=None,
        description='Instead of the queue manager\'s own: "250 ms" at the rate, or "625 KB".',
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        Managed.of(self.manager, self.buffer)
        return self


class ModemShare(Model):
    """A kind of modem that a part of the subscribers has."""

    modem: str = Field(description="Its name.")
    share: Share = Field(default=1.0, description="Relative to the others'; 1 unless given.")


class Arm(Model):
    """An arm of a comparison: the same subscribers with these modems."""

    label: str = Field(min_length=1, max_length=40, description="What it is called.")
    modems: Annotated[tuple[ModemShare, ...], BeforeValidator(as_tuple)]

    @field_validator("modems")
    @classmethod
    def _some(cls, value: tuple[ModemShare, ...]) -> tuple[ModemShare, ...]:
        _some_share(value)
        return value


class Uploads(Model):
    """The upstream's load: endless TCP uploads, all to the server that answers requests."""

    streams: int = Field(ge=1, le=MOST_STREAMS, description="How many.")
    congestion_control: CongestionControl = Field(
        default="cubic", description="TCP's; cubic unless given."
    )
    start_spread: Duration = Field(
        default=1_000_000_000,
        description="Each begins up to so much later, as the test draws; 1 s unless given.",
    )


class Band(Model):
    """A range of latencies, of which reports tell the share of tests within."""

    at_least: Duration = Field(description="Its lower end.")
    at_most: Duration = Field(description="Its upper end.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.at_most <= self.at_least:
            raise KeyedError("at_most", f"is not above {format_duration(self.at_least)}")
        return self

    @property
    def words(self) -> str:
        """For people, in ms."""
        return f"{self.at_least / 1e6:g} to {self.at_most / 1e6:g} ms"


class Population(Model):
    """A population of subscribers and its tests; each test has a subscriber that all arms share."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="The file's name without .yaml.")
    title: str = Field(description="One line for people.")
    source: Source | None = Field(default=None, description="What it is after, if anything.")
    upstream_channels: Annotated[tuple[UpstreamChannel, ...], BeforeValidator(as_tuple)] = Field(
        default=(),
        description="The upstream channel with a request/grant MAC, as a topology has it; without "
        "one modems send as if the channel were theirs.",
    )
    tests: int = Field(ge=1, le=MOST_TESTS, description="Of each arm.")
    limit: int = Field(
        default=DEFAULT_LIMIT,
        ge=1,
        le=MOST_TESTS,
        description=f"A population with more tests in all arms is refused; {DEFAULT_LIMIT} unless "
        f"given, {MOST_TESTS} at the most.",
    )
    idle: Duration = Field(
        default=2_000_000_000, description="Requests alone, before all else; 2 s unless given."
    )
    ramp_up: Duration = Field(
        default=3_000_000_000, description="Uploads before the measured time; 3 s unless given."
    )
    measured: Duration = Field(
        default=7_000_000_000, description="Requests beside the uploads; 7 s unless given."
    )
    timeout: Duration = Field(
        default=1_000_000_000,
        description="The next request does not wait longer for a reply; 1 s unless given.",
    )
    uploads: Uploads
    round_trip: RoundTrip
    tiers: Annotated[tuple[TierShare, ...], BeforeValidator(as_tuple)]
    modems: Annotated[tuple[Modem, ...], BeforeValidator(as_tuple)]
    arms: Annotated[tuple[Arm, ...], BeforeValidator(as_tuple)] = Field(
        description="What is compared; the first is what the others are held against."
    )
    bands: Annotated[tuple[Band, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Ranges of the mean and of the maximum of a test."
    )

    @field_validator("tiers")
    @classmethod
    def _some_tiers(cls, value: tuple[TierShare, ...]) -> tuple[TierShare, ...]:
        _some_share(value)
        names = [entry.tier.name for entry in value]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise KeyedError(f"{index}.tier", f'"{name}" is there twice; add up its shares')
        return value

    @field_validator("modems")
    @classmethod
    def _some_modems(cls, value: tuple[Modem, ...]) -> tuple[Modem, ...]:
        _each_once("name", [modem.name for modem in value])
        return value

    @field_validator("arms")
    @classmethod
    def _some_arms(cls, value: tuple[Arm, ...]) -> tuple[Arm, ...]:
        _each_once("label", [arm.label for arm in value])
        return value

    @field_validator("upstream_channels")
    @classmethod
    def _one_channel(cls, value: tuple[UpstreamChannel, ...]) -> tuple[UpstreamChannel, ...]:
        if len(value) > 1:
            raise ValueError(f"has {len(value)} entries; a test has one modem, on one channel")
        return value

    @field_validator("bands")
    @classmethod
    def _few(cls, value: tuple[Band, ...]) -> tuple[Band, ...]:
        if len(value) > MOST_NAMED:
            raise ValueError(f"has {len(value)} entries; there may be {MOST_NAMED}")
        return value

    @model_validator(mode="after")
    def _known_modems(self) -> Self:
        names = [modem.name for modem in self.modems]
        for number, arm in enumerate(self.arms):
            for place, entry in enumerate(arm.modems):
                if entry.modem not in names:
                    raise KeyedError(
                        f"arms.{number}.modems.{place}.modem",
                        f'there is no modem "{entry.modem}"; there are {", ".join(names)}',
                    )
        return self

    @model_validator(mode="after")
    def _few_tests(self) -> Self:
        if (count := self.tests * len(self.arms)) > self.limit:
            raise KeyedError(
                "tests",
                f"{self.tests} tests of {len(self.arms)} arms are {count}, and the limit is "
                f"{self.limit}; take fewer, or set a limit of up to {MOST_TESTS}",
            )
        return self

    @model_validator(mode="after")
    def _times_fit(self) -> Self:
        whole = self.idle + self.ramp_up + self.measured
        longest = format_duration(LONGEST_TEST)
        for key in ("idle", "ramp_up", "measured"):
            if getattr(self, key) > LONGEST_TEST:
                raise KeyedError(key, f"is longer than {longest}, which a test may take")
        if whole > LONGEST_TEST:
            raise KeyedError(
                "measured",
                f"idle, ramp_up and measured are {format_duration(whole)} together; a test may "
                f"take {longest}",
            )
        least_idle = max(_SHORTEST_IDLE, self.round_trip.p95)
        if self.idle < least_idle:
            raise KeyedError(
                "idle",
                f"{format_duration(self.idle)} does not fit: it has to be "
                f"{format_duration(least_idle)} at least, for a request and its reply",
            )
        if self.uploads.start_spread > self.ramp_up:
            raise KeyedError(
                "uploads.start_spread",
                f"{format_duration(self.uploads.start_spread)} does not fit: uploads have to begin "
                f"within the ramp-up of {format_duration(self.ramp_up)}",
            )
        if self.measured < max(self.timeout, 1_000_000_000):
            raise KeyedError(
                "measured",
                f"{format_duration(self.measured)} does not fit: it has to be 1 s at least, and no "
                f"shorter than the timeout of {format_duration(self.timeout)}",
            )
        return self

    def modem(self, name: str) -> Modem:
        """One of them.

        Raises:
            KeyError: There is none of the name.
        """
        return {modem.name: modem for modem in self.modems}[name]


def _each_once(key: str, names: Sequence[str]) -> None:
    if not names:
        raise ValueError("is empty; name one at least")
    if len(names) > MOST_NAMED:
        raise ValueError(f"has {len(names)} entries; there may be {MOST_NAMED}")
    for index, name in enumerate(names):
        if name in names[:index]:
            raise KeyedError(f"{index}.{key}", f'"{name}" is there twice')
