# SPDX-License-Identifier: Apache-2.0
"""The population of 000's figures 1 to 5: nine loads on four levels of RF congestion (K8).

All rows of these figures ask for the same runs with the same quantities, so each is played once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from docsis_control.queue_managers.management import QueueManagement
from docsis_control.topology.models import Topology
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.reproduction.row import Asked, Level, Run
from docsis_experiments.reproduction.settings.p000_hash import alone
from docsis_experiments.reproduction.settings.p000_loads import (
    LOADS,
    Load,
    game_groups,
    page_groups,
    tcp,
    traffic,
)
from docsis_experiments.reproduction.settings.p000_managers import (
    SEVEN,
    Manager,
    managed,
    with_multiplier,
)
from docsis_experiments.reproduction.settings.p000_network import SERVICE_2018, Mac, home
from docsis_experiments.reproduction.settings.p000_readings import Reading
from docsis_experiments.reproduction.settings.p000_rf import Rf, channel
from docsis_experiments.reproduction.settings.p000_units import quantity, unit
from docsis_experiments.runs.unit import Unit

POWERBOOST: Final = 5
"""The load whose files wait for the bucket."""


@dataclass(frozen=True, order=True)
class Condition:
    """A load on a channel.

    Attributes:
        load: Its number in table 1.
        rf: How congested the channel is.
    """

    load: int
    rf: Rf

    @property
    def traffic(self) -> Load:
        """The load."""
        return LOADS[self.load]

    @property
    def name(self) -> str:
        """For labels."""
        return f"load {self.load} {self.rf}"


ALL: Final = tuple(Condition(load, rf) for load in LOADS for rf in Rf)
"""The 36."""

OF_STUDY: Final = tuple(Condition(load, rf) for load in (2, 3, 7, 8) for rf in (Rf.NONE, Rf.HEAVY))
"""Catalogue, section 13."""

_SEEDS_APART: Final = 1000
"""More than seeds there are."""

OF_SMOKE: Final = (Condition(2, Rf.NONE), Condition(7, Rf.HEAVY))


def conditions(level: Level) -> Sequence[Condition]:
    """Those of a level."""
    return {Level.SMOKE: OF_SMOKE, Level.STUDY: OF_STUDY, Level.FULL: ALL}[level]


def times(level: Level) -> tuple[str, str]:
    """Ramp-up and measured time."""
    return ("2 s", "6 s") if level is Level.SMOKE else ("10 s", "120 s")


def label(manager: Manager, condition: Condition) -> str:
    """The label of the runs of a queue manager under a condition."""
    return f"{manager} {condition.name}"


def works(
    asked: Asked, reading: Reading, managers: Sequence[Manager] = (*SEVEN, Manager.DP)
) -> Iterator[Run]:
    """The runs of the population, those that are compared with each other together."""
    for seed in asked.seeds:
        for condition in conditions(asked.level):
            for manager in managers:
                yield _run(asked.level, reading, condition, manager, seed)


def hash_seed(condition: Condition, seed: int) -> int:
    """The seed of the flow queues' hash: another in each condition, the same for all managers.

    Were it the seed alone, one unlucky seed would have its collisions in all 36 conditions, and
    runs that are counted as independent would not be.
    """
    return seed + _SEEDS_APART * ALL.index(condition)


def _run(level: Level, reading: Reading, condition: Condition, manager: Manager, seed: int) -> Run:
    management = managed(manager, hash_seed(condition, seed), reading.pie)
    played = _unit(level, reading, condition, manager, management)
    if reading.game_alone and management.flow_queues is not None:
        odd = alone(played.loaded, management.flow_queues.queues, seed)
        played = _unit(level, reading, condition, manager, with_multiplier(management, odd))
    return Run(label(manager, condition), replace(played, seed=seed))


# Most of them are the same for all seeds; a reading of the whole population has 288.
@functools.lru_cache(maxsize=512)
def _unit(
    level: Level,
    reading: Reading,
    condition: Condition,
    manager: Manager,
    management: QueueManagement,
) -> Unit:
    ramp_up, measured = times(level)
    load = condition.traffic
    pause = reading.powerboost_pause if condition.load == POWERBOOST else load.pause
    return unit(
        0,
        manager.value,
        management,
        _home(reading.mac, reading.web_ms),
        traffic(load, reading.files, reading.congestion, pause, reading.torrent_target_ms),
        quantities(load),
        ramp_up=ramp_up,
        measured=measured,
        keys={**tcp(reading.congestion), **channel(condition.rf)},
    )


@functools.cache
def _home(mac: Mac, web_ms: int) -> Topology:
    return home(mac, SERVICE_2018, web_ms=web_ms)


PAGES_WITHIN: Final = "pages-within"
PAGE_BOUNDS_MS: Final = (*range(100, 12_001, 100), 15_000, 20_000, 30_000, 60_000, 600_000)
"""Load times at which a run's distribution is kept; between two it is taken for even. No page of a
run takes longer than the last."""


@functools.lru_cache(maxsize=64)
def quantities(load: Load) -> tuple[Quantity, ...]:
    """The quantities of a run that all rows of figures 1 to 5 measure."""
    games, pages = game_groups(load), page_groups(load)
    return (
        quantity("latency", games, "mean"),
        quantity("latency", games, "p90"),
        quantity("loss", games),
        *(quantity("unplayable", [game]) for game in games),
        *(quantity("jitter", [game]) for game in games),
        *(quantity(PAGES_WITHIN, pages, bound_ms=bound) for bound in PAGE_BOUNDS_MS),
    )
