# SPDX-License-Identifier: Apache-2.0
"""Draws the subscriber of each test: a tier, a distance and a modem. Pure.

Each is drawn from the test's own seed and for its own purpose, so that a test is the same whatever
is compared, however many there are, and a changed distribution of one thing moves no other. Arms
draw their modems with the same number, from shares of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, TypeVar

from docsis_control.config.models import ServiceTier
from docsis_experiments.experiment.draws import uniform
from docsis_experiments.populations.access import mean_access_ns
from docsis_experiments.populations.models import (
    LONGEST_ROUND_TRIP,
    MOST_TESTS,
    Arm,
    Modem,
    Population,
    RoundTrip,
    Shared,
)

SEEDS_APART: Final = 100_000
"""Between the first tests of two populations' seeds."""

LARGEST_SEED: Final = 2**64 // SEEDS_APART - 2
"""The largest seed of a population: its tests' seeds are below 2^64."""

_NORMAL: Final = NormalDist()
S = TypeVar("S", bound=Shared)

_GRAIN: Final = 1_000
"""Nanoseconds; a distance is so many whole ones, on every machine."""


@dataclass(frozen=True)
class Subscriber:
    """The subscriber of a test.

    Attributes:
        number: Number of the test, from 1 up.
        seed: Seed of all that is random in it.
        tier: What the subscriber bought.
        round_trip_ns: Idle, the channel's own part included.
        path_ns: The rest of it: what is between the CMTS and the server, and back.
        of_modem: Drawn evenly from 0 to 1, for the kind of modem.
    """

    number: int
    seed: int
    tier: ServiceTier
    round_trip_ns: int
    path_ns: int
    of_modem: float


def own_ns(population: Population) -> int:
    """The part of an idle round trip that the upstream channel takes, nanoseconds on the mean."""
    return sum(mean_access_ns(channel.numbers) for channel in population.upstream_channels)


def seed_of(seed: int, number: int) -> int:
    """The seed of a test.

    Args:
        seed: Seed of the population.
        number: Number of the test.
    """
    return seed * SEEDS_APART + number


def subscriber(population: Population, seed: int, number: int) -> Subscriber:
    """Draws the subscriber of a test.

    Args:
        population: From which.
        seed: Seed of the population, 0 to LARGEST_SEED.
        number: Number of the test, from 1 up.
    """
    if not 1 <= number <= MOST_TESTS or not 0 <= seed <= LARGEST_SEED:
        raise ValueError(f"there is no test {number} of a population's seed {seed}")
    own = seed_of(seed, number)
    tier = chosen(population.tiers, uniform(own, "tier", "population")).tier
    channel = own_ns(population)
    whole = round_trip_ns(population.round_trip, channel, uniform(own, "round trip", "population"))
    of_modem = uniform(own, "modem", "population")
    return Subscriber(number, own, tier, whole, whole - channel, of_modem)


def modem_of(population: Population, arm: Arm, who: Subscriber) -> Modem:
    """The modem that a subscriber has in an arm."""
    return population.modem(chosen(arm.modems, who.of_modem).modem)


def round_trip_ns(distribution: RoundTrip, least: int, place: float) -> int:
    """An idle round trip, nanoseconds.

    Args:
        distribution: Log-normal.
        least: Nobody is nearer: of the distribution only what is above is drawn from.
        place: From 0 up to, and without, 1.
    """
    sigma = distribution.sigma
    below = _NORMAL.cdf(math.log(least / distribution.median) / sigma) if least else 0.0
    # Never 0 or 1, which are infinitely far.
    probability = min(max(below + (1 - below) * place, 1e-12), 1 - 1e-12)
    drawn = distribution.median * math.exp(sigma * _NORMAL.inv_cdf(probability))
    path = math.ceil((min(drawn, LONGEST_ROUND_TRIP) - least) / _GRAIN) * _GRAIN
    return least + max(path, 0)


def chosen(entries: Sequence[S], place: float) -> S:
    """The entry that a place falls on, by their shares; one without a share is never chosen.

    Args:
        entries: With shares that add up to more than nothing.
        place: From 0 up to, and without, 1.
    """
    some = [entry for entry in entries if entry.share > 0]
    at = place * math.fsum(entry.share for entry in some)
    for number, entry in enumerate(some, 1):
        if at < math.fsum(one.share for one in some[:number]):
            return entry
    return some[-1]
