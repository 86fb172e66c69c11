# SPDX-License-Identifier: Apache-2.0
"""002-E3T, E3R, E3W, E3S: all capped, and for half of the time one download with twice the cap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Made, Panel, Published
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p002_drawn import CALLED, FLOWS_AXIS, against_flows
from docsis_experiments.reproduction.settings.p002_levels import TIERED, times
from docsis_experiments.reproduction.settings.p002_managers import MANAGERS
from docsis_experiments.reproduction.settings.p002_outcomes import (
    counted,
    error,
    goodput_mbps,
    mean_goodput,
    measured,
)
from docsis_experiments.reproduction.settings.p002_quantities import BINS_S, Span, deviation
from docsis_experiments.reproduction.settings.p002_readings import (
    OF_BINS,
    OF_ERRORS,
    OF_SIGNS,
    OF_TIERS,
    Reading,
)
from docsis_experiments.reproduction.settings.p002_rows import Measuring, row
from docsis_experiments.reproduction.settings.p002_traffic import TIER2, ftp
from docsis_experiments.reproduction.settings.p002_units import Experiment, Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_SIGNED: Final = tuple(
    (manager, n) for manager in ("drop-tail", "adaptive-red", "codel") for n in TIERED
)
_ALIKE: Final = Setting("codel", 9, Experiment.TIERS)
"""Row E3S: the tier 1 flow whose round trip tier 2 has is the middle one."""

Value = Callable[[Outcome, Setting, Span], float]


def _middle(manager: str, n: int) -> Setting:
    return Setting(manager, n, Experiment.TIERS)


def _points(manager: str, n: int, which: Reading) -> list[Setting]:
    """The settings whose mean is a cell of the table."""
    likes = range(1, n + 1) if which is Reading.EACH_ROUND_TRIP else (0,)
    return [Setting(manager, n, Experiment.TIERS, like) for like in likes]


def _all(level: Level, which: Reading) -> Iterable[Setting]:
    del level
    for n in TIERED:
        for manager in MANAGERS:
            yield from _points(manager, n, which)


def _tier1(outcome: Outcome, setting: Setting, during: Span) -> float:
    return mean_goodput(outcome, setting.downloads, during)


def _tier2(outcome: Outcome, setting: Setting, during: Span) -> float:
    del setting
    return goodput_mbps(outcome, TIER2, during)


def _sum(outcome: Outcome, setting: Setting, during: Span) -> float:
    return setting.flows * _tier1(outcome, setting, during) + _tier2(outcome, setting, during)


def _cell(made: Measuring, name: str, points: list[Setting], value: Value) -> None:
    """A part that is the mean over the points of a cell."""

    def mean(found: Sequence[Outcome]) -> float:
        pairs = zip(found, points, strict=True)
        return fmean(value(one, setting, made.middle(setting)) for one, setting in pairs)

    made.part(name, points, mean)


def _errors(made: Measuring) -> None:
    whole = counted(TIER2, made.reading)
    for manager in MANAGERS:
        for n in TIERED:
            points = _points(manager, n, made.reading)

            def error1(one: Outcome, setting: Setting, during: Span) -> float:
                return error(whole * _tier1(one, setting, during), setting.flows + 1)

            def error2(one: Outcome, setting: Setting, during: Span) -> float:
                return error(whole * _tier2(one, setting, during), setting.flows + 1)

            _cell(made, f"error {manager} n{n} tier1", points, error1)
            _cell(made, f"error {manager} n{n} tier2", points, error2)


def _over_tier1(one: Outcome, setting: Setting, during: Span) -> float:
    return ratio(_tier2(one, setting, during), _tier1(one, setting, during))


def _ratios(made: Measuring) -> None:
    for manager in MANAGERS:
        for n in TIERED:
            points = _points(manager, n, made.reading)
            _cell(made, f"tier2 over tier1 {manager} n{n}", points, _over_tier1)
            if manager == "drop-tail":
                continue
            both = points + _points("drop-tail", n, made.reading)

            def over_drop_tail(
                found: Sequence[Outcome], both: list[Setting] = both, half: int = len(points)
            ) -> float:
                pairs = zip(found, both, strict=True)
                sums = [_sum(one, setting, made.middle(setting)) for one, setting in pairs]
                return ratio(fmean(sums[:half]), fmean(sums[half:]))

            made.part(f"sum over drop-tail {manager} n{n}", both, over_drop_tail)


def _signs(made: Measuring) -> None:
    of_error = made.reading is Reading.SIGN_OF_ERROR

    def value(one: Outcome, setting: Setting, during: Span) -> float:
        tier2 = _tier2(one, setting, during)
        if of_error:
            return error(tier2, setting.flows + 1)
        return tier2 - _tier1(one, setting, during)

    name = "error of tier2" if of_error else "tier2 minus tier1"
    for manager, n in (*_SIGNED, ("pie", 11)):
        _cell(made, f"{name} {manager} n{n}", _points(manager, n, made.reading), value)


def _two_flows(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    yield _ALIKE


def _over_time(made: Measuring) -> None:
    during = made.middle(_ALIKE)
    tier1 = ftp(_ALIKE.middle)
    bins = BINS_S.get(made.reading, BINS_S[Reading.FIRST])
    whole = counted(TIER2, made.reading)

    def part(name: str, value: Callable[[Outcome], float]) -> None:
        made.part(name, [_ALIKE], lambda found: value(found[0]))

    part("mean tier1", lambda one: whole * goodput_mbps(one, tier1, during))
    part("mean tier2", lambda one: whole * goodput_mbps(one, TIER2, during))
    part(
        "tier2 over tier1",
        lambda one: ratio(goodput_mbps(one, TIER2, during), goodput_mbps(one, tier1, during)),
    )
    part("sd tier1", lambda one: whole * measured(one, deviation(tier1, during, bins)))
    part("sd tier2", lambda one: whole * measured(one, deviation(TIER2, during, bins)))


_PUBLISHED: Final[Mapping[str, tuple[tuple[float, float], tuple[float, float]]]] = {
    "drop-tail": ((-14.2105, -11.6719), (137.1053, 154.5741)),
    "adaptive-red": ((-7.36842, -5.99369), (2.894737, 6.624606)),
    "codel": ((-6.84211, -8.51735), (7.894737, -5.99369)),
    "pie": ((-7.63158, -9.46372), (-4.73684, -13.2492)),
    "drr": ((-1.57895, -1.57729), (-2.10526, -2.2082)),
}
"""The table of EXP3: tier 1 and tier 2 at 9 and at 11 downloads, percent."""


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """The table of EXP3 as two panels."""
    if "002-E3T" not in made:
        return
    row = made["002-E3T"]
    during = times(row.asked.level).middle
    panels = []
    for place, (title, value) in enumerate((("Tier 1", _tier1), ("Tier 2", _tier2))):

        def of(one: Outcome, setting: Setting, value: Value = value) -> float:
            return error(value(one, setting, during), setting.flows + 1)

        lines = tuple(
            against_flows(
                manager,
                row,
                partial(_middle, manager),
                of,
                shape="points",
            )
            for manager in MANAGERS
        )
        said = tuple(
            Published(f"published, {CALLED[manager]}", TIERED, cells[place], line=CALLED[manager])
            for manager, cells in _PUBLISHED.items()
        )
        panels.append(Panel(title, FLOWS_AXIS, Axis("Allocation error (%)"), lines, said))
    yield Figure(
        "002-EXP3",
        "Allocation error while a tier 2 flow is there, all other flows capped at 6 Mbps",
        tuple(panels),
        "Against 3.8 Mbit/s at 9 downloads and 3.17 at 11; what the slides' own pictures hold is "
        "not told.",
        ("002-E3T",),
    )


ROWS: Final[tuple[Row, ...]] = (
    row("002-E3T", OF_ERRORS, _all, _errors),
    row("002-E3R", OF_TIERS, _all, _ratios),
    row("002-E3W", OF_SIGNS, _all, _signs),
    row("002-E3S", OF_BINS, _two_flows, _over_time),
)
