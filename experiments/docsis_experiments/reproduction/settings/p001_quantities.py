# SPDX-License-Identifier: Apache-2.0
"""The quantities of 001's runs beside the usual statistics, for all rows of a setting at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.reproduction.settings.p001_readings import Reading, propagation_ms
from docsis_experiments.reproduction.settings.p001_traffic import GAME, TRAIN

ROUND_TRIP_MS: Final = 50
"""Round trip of the rows that look at spans of latency."""


@dataclass(frozen=True)
class Span:
    """Latencies of the paper, in milliseconds, propagation included; both ends belong to it."""

    low: float
    high: float

    def bounds(self, which: Reading) -> tuple[float, float]:
        """The same without what a reading adds for propagation."""
        added = propagation_ms(which, ROUND_TRIP_MS)
        return self.low - added, self.high - added


GAME_40_100: Final = Span(40, 100)
FTP_500_1000: Final = Span(500, 1000)
ALL_100_210: Final = Span(100, 210)
GAME_45_105: Final = Span(45, 105)

_READ: Final = (Reading.FIRST, Reading.L0, Reading.L2)

SPANS: Final[Mapping[str, tuple[tuple[str, Span], ...]]] = {
    "sfq": (("game", GAME_40_100), ("uploads", FTP_500_1000)),
    "lred": (("all", ALL_100_210),),
    "sfq-lred": (("game", GAME_45_105),),
    "sfq-lred-200": (("game", GAME_45_105),),
}
"""By queue manager: which packets, and the span that a row asks for."""


def chosen(which: str, names: Sequence[str]) -> tuple[str, ...]:
    """Groups of the traffic: "game", "uploads" or "all" of these."""
    if which == "all":
        return tuple(names)
    return tuple(name for name in names if (name == GAME) == (which == "game"))


def share_below(of: Sequence[str], bound_ms: float) -> Quantity:
    """Percent of the packets that arrived within a time."""
    bound = f"{round(bound_ms * 1000)} us"
    return Quantity.model_validate(
        {"metric": "latency-share-below", "of": list(of), "bound": bound}
    )


def of_all(metric: str, names: Sequence[str], **more: str) -> Quantity:
    """A metric of all groups together."""
    return Quantity.model_validate({"metric": metric, "of": list(names), **more})


def beside_trains(metric: str) -> Quantity:
    """The game's p99 within a second of a train's beginning (row I4)."""
    return of_all(metric, (GAME, TRAIN), statistic="p99", bound="1 s")


def quantities(manager: str, names: tuple[str, ...]) -> Iterable[Quantity]:
    """Yields the quantities of the runs of a queue manager.

    Args:
        manager: What the rows call it.
        names: Names of all groups of the traffic.
    """
    if TRAIN in names:
        for metric in ("latency-after-train", "latency-before-train"):
            yield beside_trains(metric)
        return
    yield of_all("latency", names, statistic="p90")
    yield of_all("clustered-drops", names)
    yield of_all("timeouts-per-loss", names)
    bounds = {
        (chosen(which, names), bound)
        for which, span in SPANS.get(manager, ())
        for reading in _READ
        for bound in span.bounds(reading)
        if bound > 0
    }
    for of, bound in sorted(bounds):
        if of:
            yield share_below(of, bound)
