# SPDX-License-Identifier: Apache-2.0
"""002-E2a, E2b, E2c: five adaptive videos beside what EXP1 has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean, pstdev
from typing import Final

from docsis_experiments.measurement.metrics.allocation_error import error_percent
from docsis_experiments.reproduction.figure import Axis, Figure, Made, Panel
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p002_drawn import FLOWS_AXIS, against_flows
from docsis_experiments.reproduction.settings.p002_levels import LARGEST, flows
from docsis_experiments.reproduction.settings.p002_managers import MANAGERS, SINGLE_QUEUES
from docsis_experiments.reproduction.settings.p002_outcomes import (
    all_goodput,
    counted,
    measured,
    r_squared,
    shares_beside_videos,
    spread,
)
from docsis_experiments.reproduction.settings.p002_quantities import (
    least_over_most,
    played_rate,
    switches,
)
from docsis_experiments.reproduction.settings.p002_readings import OF_RATES, USUAL, Reading
from docsis_experiments.reproduction.settings.p002_rows import Measuring, all_alone, alone, row
from docsis_experiments.reproduction.settings.p002_traffic import VIDEO, VIDEOS, ftp
from docsis_experiments.reproduction.settings.p002_units import Experiment, Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_LEAST: Final = 1
_PLAYED_FROM: Final = 3
"""Row E2c: n 3 to 11. With one download a video can have all that it can use."""


def _point(manager: str, n: int) -> Setting:
    return Setting(manager, n, Experiment.VIDEOS)


def _all(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    for n in flows(level):
        yield from (_point(manager, n) for manager in MANAGERS)


def _both(level: Level, which: Reading) -> Iterable[Setting]:
    """EXP1's points are those of its own rows."""
    yield from all_alone(level, which)
    yield from _all(level, which)


def _video_error(outcome: Outcome, setting: Setting, which: Reading = Reading.FIRST) -> float:
    """Allocation error of the videos against the share of the slides' table, percent."""
    _, share = shares_beside_videos(setting.flows)
    mean = counted(VIDEO, which) * all_goodput(outcome, [VIDEO]) / VIDEOS
    return error_percent(mean, share)


def _download_error(outcome: Outcome, setting: Setting, which: Reading = Reading.FIRST) -> float:
    """The same of the downloads."""
    share, _ = shares_beside_videos(setting.flows)
    mean = counted(ftp(1), which) * all_goodput(outcome, setting.downloads) / setting.flows
    return error_percent(mean, share)


def _least_over_most(outcome: Outcome, setting: Setting) -> float:
    videos = (VIDEO,) if setting.experiment is Experiment.VIDEOS else ()
    return measured(outcome, least_over_most((*setting.downloads, *videos)))


def _played(outcome: Outcome, setting: Setting) -> float:
    del setting
    return measured(outcome, played_rate())


def _switches(outcome: Outcome, setting: Setting) -> float:
    """The switches of a player in a minute."""
    del setting
    return measured(outcome, switches()) / VIDEOS / (outcome.seconds / 60)


def _is_under_its_share(made: Measuring) -> None:
    at = {
        n: [_point(manager, n) for manager in SINGLE_QUEUES if n in flows(made.level)]
        for n in (_LEAST, LARGEST)
    }

    def error(points: list[Setting], found: Sequence[Outcome]) -> float:
        return fmean(_video_error(*pair, made.reading) for pair in zip(found, points, strict=True))

    for n, points in at.items():
        made.part(f"video error n{n}", points, partial(error, points))
    few, many = at[_LEAST], at[LARGEST]

    def fall(found: Sequence[Outcome]) -> float:
        return abs(error(few, found[: len(few)])) - abs(error(many, found[len(few) :]))

    made.part("fall", few + many, fall)


def _varies(made: Measuring) -> None:
    points = [_point(manager, n) for n in flows(made.level) for manager in MANAGERS]
    before = [alone(setting.manager, setting.flows) for setting in points]

    def over_before(found: Sequence[Outcome]) -> float:
        pairs = zip(found, points + before, strict=True)
        values = [_least_over_most(one, setting) for one, setting in pairs]
        return ratio(pstdev(values[: len(points)]), pstdev(values[len(points) :]))

    made.part("sd of min over max", points + before, over_before)

    drr = [_point("drr", n) for n in flows(made.level)]

    def largest(found: Sequence[Outcome]) -> float:
        return max(
            abs(error(one, setting, made.reading))
            for one, setting in zip(found, drr, strict=True)
            for error in (_download_error, _video_error)
        )

    made.part("largest error drr", drr, largest)


def _falls_linearly(made: Measuring) -> None:
    at = flows(made.level, _PLAYED_FROM)

    def straight(found: Sequence[Outcome]) -> float:
        return r_squared(at, [measured(one, played_rate()) for one in found])

    for manager in MANAGERS:
        made.part(f"r squared {manager}", [_point(manager, n) for n in at], straight)

    every = [_point(manager, n) for n in at for manager in MANAGERS]

    def largest(found: Sequence[Outcome]) -> float:
        rates = [measured(one, played_rate()) for one in found]
        starts = range(0, len(rates), len(MANAGERS))
        return 100 * max(spread(rates[start : start + len(MANAGERS)]) for start in starts)

    made.part("spread of managers", every, largest)


_PANELS: Final[tuple[tuple[str, Axis, Callable[[Outcome, Setting], float]], ...]] = (
    ("Videos", Axis("Allocation error (%)"), _video_error),
    ("Downloads", Axis("Allocation error (%)"), _download_error),
    ("Min-max ratio of all", Axis("Min/max", low=0, high=1), _least_over_most),
    ("Videos", Axis("Played rate (Mbit/s)", low=0), _played),
    ("Videos", Axis("Switches of a player (1/min)", low=0), _switches),
)


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """EXP2."""
    rows = tuple(name for name in ("002-E2a", "002-E2b", "002-E2c") if name in made)
    if not rows:
        return
    panels = tuple(
        Panel(
            title,
            FLOWS_AXIS,
            axis,
            tuple(
                against_flows(manager, made[rows[0]], partial(_point, manager), value)
                for manager in MANAGERS
            ),
        )
        for title, axis, value in _PANELS
    )
    yield Figure(
        "002-EXP2",
        "Five adaptive videos beside the downloads, by the number of downloads",
        panels,
        "Errors are against the slides' own shares, of goodput; the slides' curves have no values "
        "in their text.",
        rows,
    )


ROWS: Final[tuple[Row, ...]] = (
    row("002-E2a", OF_RATES, _all, _is_under_its_share),
    row("002-E2b", OF_RATES, _both, _varies),
    row("002-E2c", USUAL, _all, _falls_linearly),
)
