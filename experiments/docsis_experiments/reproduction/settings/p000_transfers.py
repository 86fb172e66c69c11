# SPDX-License-Identifier: Apache-2.0
"""Figure 6 of 000: two uploads from 0 s on, at four round trips, alone on a channel at its best."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from docsis_control.topology.models import Topology
from docsis_experiments.reproduction.row import Asked, Level, Results, Run
from docsis_experiments.reproduction.settings.p000_loads import REAL_TCP, tcp
from docsis_experiments.reproduction.settings.p000_managers import Manager, managed
from docsis_experiments.reproduction.settings.p000_network import (
    NEAR,
    SERVICE_2018,
    UPLOADER,
    home,
)
from docsis_experiments.reproduction.settings.p000_readings import Reading
from docsis_experiments.reproduction.settings.p000_told import value_of
from docsis_experiments.reproduction.settings.p000_units import quantity, unit
from docsis_experiments.runs.outcome import Outcome

ROUND_TRIPS_MS: Final = (20, 50, 100, 200)
GROUP: Final = "uploads"

_SECONDS: Final = 100
_SHORTER_AT_SMOKE: Final = 10
"""Times of smoke are a tenth: it runs everything, and judges nothing."""

TIMES: Final = (*(half / 2 for half in range(1, 51)), float(_SECONDS))
"""Seconds at which A(t) is looked at."""

_SECONDS_IN_MININET: Final = 11
"""The rule of its one row there looks at 10 s; a second more is no part of what is measured."""
_TIMES_IN_MININET: Final = tuple(t for t in TIMES if t < _SECONDS_IN_MININET)


@dataclass(frozen=True)
class Transfers:
    """A queue manager's runs of figure 6 at a round trip.

    Attributes:
        manager: Which.
        round_trip_ms: The round trip of both uploads.
        mininet: They are played there, with the kernel's TCP and for a shorter time.
    """

    manager: Manager
    round_trip_ms: int
    mininet: bool = False

    @property
    def label(self) -> str:
        """The name that rows have for them."""
        return f"{self.manager} {self.round_trip_ms} ms{', in Mininet' if self.mininet else ''}"


def works(
    asked: Asked,
    reading: Reading,
    managers: Iterable[Manager],
    round_trips_ms: Iterable[int],
    *,
    mininet: bool = False,
) -> Iterator[Run]:
    """The runs, those that are compared with each other together."""
    chosen = tuple(managers)
    for seed in asked.seeds:
        for round_trip_ms in round_trips_ms:
            for manager in chosen:
                yield _run(asked.level, reading, Transfers(manager, round_trip_ms, mininet), seed)


def _run(level: Level, reading: Reading, transfers: Transfers, seed: int) -> Run:
    scale = _scale(level)
    seconds, times, keys = _SECONDS, TIMES, tcp(reading.congestion)
    if transfers.mininet:
        seconds, times, keys = _SECONDS_IN_MININET, _TIMES_IN_MININET, dict(REAL_TCP)
    played = unit(
        seed,
        transfers.manager.value,
        managed(transfers.manager, seed, reading.pie),
        _home(reading, transfers.round_trip_ms),
        [
            {
                "name": GROUP,
                "kind": "transfer",
                "count": 2,
                "hosts": [UPLOADER],
                "servers": [NEAR],
                "congestion_control": reading.congestion.value,
                "stagger": "0 s",
            }
        ],
        [quantity("goodput", [GROUP], during=(0, t / scale)) for t in times],
        ramp_up="0 s",
        measured=f"{seconds // scale} s",
        keys=keys,
    )
    return Run(transfers.label, played)


@functools.cache
def _home(reading: Reading, round_trip_ms: int) -> Topology:
    return home(reading.mac, SERVICE_2018, transfers_ms=(round_trip_ms,), populated=False)


def _scale(level: Level) -> int:
    return _SHORTER_AT_SMOKE if level is Level.SMOKE else 1


def curves(
    asked: Asked, results: Results, manager: Manager, round_trip_ms: int, *, mininet: bool = False
) -> dict[int, dict[float, float]]:
    """A(t) of each seed, Mbit/s of payload by t: what both flows had received by t, over t."""
    times = _TIMES_IN_MININET if mininet else TIMES
    runs = results.runs(Transfers(manager, round_trip_ms, mininet).label)
    scale = _scale(asked.level)
    return {seed: _curve(runs[seed], times, scale) for seed in asked.seeds if seed in runs}


def _curve(outcome: Outcome, times: Iterable[float], scale: int) -> dict[float, float]:
    # Nothing is received before 0 s, so goodput since then is A(t).
    return {t: throughput(outcome, t / scale) for t in times}


def throughput(outcome: Outcome, seconds: float) -> float:
    """A(t), Mbit/s of payload: what both flows of a run had received by t, over t.

    Args:
        outcome: The run's outcome.
        seconds: t, one of TIMES.
    """
    return value_of(outcome, "goodput", [GROUP], during=(0, seconds))
