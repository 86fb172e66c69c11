# SPDX-License-Identifier: Apache-2.0
"""002-E1a, E1b, E1c, E1d: downloads and a call in one queue, no service rates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Made, Panel
from docsis_experiments.reproduction.row import Row
from docsis_experiments.reproduction.settings.p002_drawn import FLOWS_AXIS, against_flows
from docsis_experiments.reproduction.settings.p002_levels import LARGEST, flows
from docsis_experiments.reproduction.settings.p002_managers import DELAY_MANAGERS, MANAGERS
from docsis_experiments.reproduction.settings.p002_outcomes import (
    all_goodput,
    measured,
    r_value,
    spread,
)
from docsis_experiments.reproduction.settings.p002_quantities import (
    episodes,
    fairness,
    least_over_most,
)
from docsis_experiments.reproduction.settings.p002_readings import OF_RATINGS, USUAL, Reading
from docsis_experiments.reproduction.settings.p002_rows import Measuring, all_alone, alone, row
from docsis_experiments.reproduction.settings.p002_traffic import ftp, round_trips_us
from docsis_experiments.reproduction.settings.p002_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_FROM: Final = 5
_RATED_FROM: Final = 3

Value = Callable[[Outcome, Setting], float]


def _goodput(outcome: Outcome, setting: Setting) -> float:
    return all_goodput(outcome, setting.downloads)


def _rating(outcome: Outcome, setting: Setting, which: Reading = Reading.FIRST) -> float:
    del setting
    return r_value(outcome, which)


def _fairness(outcome: Outcome, setting: Setting) -> float:
    return measured(outcome, fairness(setting.downloads))


def _least_over_most(outcome: Outcome, setting: Setting) -> float:
    return measured(outcome, least_over_most(setting.downloads))


def _minus(made: Measuring, name: str, value: Value, one: Setting, other: Setting) -> None:
    def difference(found: Sequence[Outcome]) -> float:
        return value(found[0], one) - value(found[1], other)

    made.part(name, [one, other], difference)


def _alone(made: Measuring, name: str, value: Value, setting: Setting) -> None:
    made.part(name, [setting], lambda found: value(found[0], setting))


def _converges(made: Measuring) -> None:
    points = [[alone(manager, n) for manager in MANAGERS] for n in flows(made.level)]
    every = [setting for point in points for setting in point]

    def share(found: Sequence[Outcome]) -> float:
        played = dict(zip(every, found, strict=True))
        spreads = [spread([_goodput(played[one], one) for one in point]) for point in points]
        return ratio(spreads[flows(made.level).index(LARGEST)], max(spreads))

    made.part("spread at n11 over largest", every, share)


def _isolates(made: Measuring) -> None:
    rated = partial(_rating, which=made.reading)
    for manager in DELAY_MANAGERS:
        for n in flows(made.level, _RATED_FROM):
            _alone(made, f"r-value {manager} n{n}", rated, alone(manager, n))
        for n in flows(made.level, _FROM):
            name = f"r-value {manager} minus drop-tail n{n}"
            _minus(made, name, rated, alone(manager, n), alone("drop-tail", n))


def _is_fair(made: Measuring) -> None:
    for n in flows(made.level, _FROM):
        _alone(made, f"jfi drr n{n}", _fairness, alone("drr", n))
        for manager in DELAY_MANAGERS:
            for fairer in ("drop-tail", "adaptive-red"):
                name = f"jfi {fairer} minus {manager} n{n}"
                _minus(made, name, _fairness, alone(fairer, n), alone(manager, n))


def _is_even(made: Measuring) -> None:
    at = flows(made.level, _FROM)
    for n in at:
        _alone(made, f"min over max drr n{n}", _least_over_most, alone("drr", n))
        for manager in DELAY_MANAGERS:
            name = f"min over max adaptive-red minus {manager} n{n}"
            _minus(made, name, _least_over_most, alone("adaptive-red", n), alone(manager, n))

    pairs = [alone(manager, n) for manager in ("drop-tail", "pie") for n in at]

    def hit(found: Sequence[Outcome]) -> float:
        shares = [
            measured(
                one, episodes(setting.downloads, max(round_trips_us(setting.flows, made.reading)))
            )
            for one, setting in zip(found, pairs, strict=True)
        ]
        return ratio(fmean(shares[: len(at)]), fmean(shares[len(at) :]))

    made.part("episodes drop-tail over pie", pairs, hit)


_PANELS: Final[tuple[tuple[str, Axis, Value], ...]] = (
    ("(a) aggregate throughput", Axis("Goodput (Mbit/s)", low=0), _goodput),
    ("(b) VoIP R-value", Axis("R-value", high=100), _rating),
    ("(c) Jain's fairness index", Axis("JFI", high=1), _fairness),
    ("(d) min-max ratio", Axis("Min/max", low=0, high=1), _least_over_most),
)


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """EXP1."""
    rows = tuple(name for name in ("002-E1a", "002-E1b", "002-E1c", "002-E1d") if name in made)
    if not rows:
        return
    panels = tuple(
        Panel(
            title,
            FLOWS_AXIS,
            axis,
            tuple(
                against_flows(manager, made[rows[0]], partial(alone, manager), value)
                for manager in MANAGERS
            ),
        )
        for title, axis, value in _PANELS
    )
    yield Figure(
        "002-EXP1",
        "Downloads and a call in one queue, by the number of downloads",
        panels,
        f"Round trips of 20 ms for {ftp(1)}, 30 ms for {ftp(2)} and so on; the slides' curves have "
        "no values in their text.",
        rows,
    )


ROWS: Final[tuple[Row, ...]] = (
    row("002-E1a", USUAL, all_alone, _converges),
    row("002-E1b", OF_RATINGS, all_alone, _isolates),
    row("002-E1c", USUAL, all_alone, _is_fair),
    row("002-E1d", USUAL, all_alone, _is_even),
)
