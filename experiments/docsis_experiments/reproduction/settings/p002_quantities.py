# SPDX-License-Identifier: Apache-2.0
"""The quantities of 002's runs beside the usual statistics, for all rows of a setting at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.reproduction.settings.p002_levels import Times
from docsis_experiments.reproduction.settings.p002_readings import Reading
from docsis_experiments.reproduction.settings.p002_traffic import (
    CALL,
    FIRST_ROUND_TRIP_US,
    VIDEO,
    ftp,
)

BINS_S: Final = {Reading.FIRST: 10, Reading.BINS_1S: 1, Reading.BINS_100S: 100}
"""Seconds of the bins of row E3S."""

_SOON_S: Final = 30
"""Row NF: "rate falls within 30 s"."""

Span = tuple[int, int]


def asked(metric: str, of: Sequence[str], during: Span | None = None, **more: Any) -> Quantity:
    """A metric of groups, over the measured time or a part of it in seconds."""
    if during is not None:
        more["during"] = {"start": f"{during[0]} s", "end": f"{during[1]} s"}
    return Quantity.model_validate({"metric": metric, "of": list(of), **more})


def rating() -> Quantity:
    """The call's R-value, with half of its round trip for propagation (K2)."""
    return asked("r-value", [CALL], bound=f"{FIRST_ROUND_TRIP_US // 2} us")


def unplayable() -> Quantity:
    """Packets of the call that are lost or too late: the L of any telephone's R-value."""
    return asked("unplayable", [CALL])


def fairness(groups: Sequence[str]) -> Quantity:
    """Jain's index of their flows' T / r."""
    return asked("normalised-fairness", groups)


def least_over_most(groups: Sequence[str]) -> Quantity:
    """Their flows' min/max ratio."""
    return asked("min-max-ratio", groups)


def played_rate(during: Span | None = None) -> Quantity:
    """The played rate of all who watch."""
    return asked("played-rate", [VIDEO], during)


def switches() -> Quantity:
    """How often they changed the rate, all together."""
    return asked("rate-switches", [VIDEO])


def fall(beside: Span) -> Quantity:
    """By how much the rate that is asked for falls soon after the start of a download."""
    start, end = beside
    return asked("rate-fall", [VIDEO], (start, min(start + _SOON_S, end)))


def time_back(beside: Span) -> Quantity:
    """From the end of a download to the rate from before it."""
    return asked("rate-return", [VIDEO], beside)


def delay(downloads: Sequence[str]) -> Quantity:
    """Mean latency of all of their packets."""
    return asked("latency", downloads)


def episodes(downloads: Sequence[str], round_trip_us: int) -> Quantity:
    """Loss episodes that hit half of them within a round trip."""
    return asked("synchronised-losses", downloads, bound=f"{round_trip_us} us")


def goodput(group: str, during: Span) -> Quantity:
    """While what comes and goes is there."""
    return asked("goodput", [group], during)


def deviation(group: str, during: Span, seconds: int) -> Quantity:
    """The deviation of a group's goodput in bins, meanwhile."""
    return asked("goodput-deviation", [group], during, bound=f"{seconds} s")


def quantities(
    downloads: Sequence[str], beside: str | None, middle: Span, longest_us: int | None
) -> Iterable[Quantity]:
    """Yields the quantities of the runs of a setting.

    Args:
        downloads: Their groups.
        beside: What comes and goes beside them.
        middle: When, in seconds of the measured time.
        longest_us: The longest round trip of the downloads, where every packet is looked at.
    """
    if beside is None:
        yield rating()
        yield unplayable()
        yield fairness(downloads)
        yield least_over_most(downloads)
        yield delay(downloads)
        if longest_us is not None:
            yield episodes(downloads, longest_us)
        return
    for group in (*downloads, beside):
        yield goodput(group, middle)
        yield from (deviation(group, middle, seconds) for seconds in BINS_S.values())


def of_videos(downloads: Sequence[str]) -> Iterable[Quantity]:
    """Yields the quantities of the runs of a setting with videos."""
    everybody = (*downloads, VIDEO)
    yield fairness(everybody)
    yield least_over_most(everybody)
    yield played_rate()
    yield switches()


def of_competition(at: Times) -> Iterable[Quantity]:
    """Yields the quantities of a video with a download beside it for some time."""
    yield fall(at.competing)
    yield time_back(at.competing)
    for during in at.bins:
        yield played_rate(during)
        yield goodput(VIDEO, during)
        yield goodput(ftp(1), during)
