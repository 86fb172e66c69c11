# SPDX-License-Identifier: Apache-2.0
"""002-E4: UDP that gives way to nobody, for half of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Made, Panel
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p002_drawn import FLOWS_AXIS, against_flows
from docsis_experiments.reproduction.settings.p002_levels import (
    OVERLOADED,
    OVERLOADED_IN_MININET,
    times,
)
from docsis_experiments.reproduction.settings.p002_managers import MANAGERS, SINGLE_QUEUES
from docsis_experiments.reproduction.settings.p002_outcomes import (
    counted,
    goodput_mbps,
    mean_goodput,
    share_mbps,
)
from docsis_experiments.reproduction.settings.p002_quantities import Span
from docsis_experiments.reproduction.settings.p002_readings import OF_RATES, Reading
from docsis_experiments.reproduction.settings.p002_rows import Measuring, row
from docsis_experiments.reproduction.settings.p002_traffic import UDP, UDP_MBPS, ftp
from docsis_experiments.reproduction.settings.p002_units import Experiment, Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_COMPARED_AT: Final = 9


def _point(manager: str, n: int) -> Setting:
    return Setting(manager, n, Experiment.OVERLOAD)


def _all(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    for n in OVERLOADED:
        yield from (_point(manager, n) for manager in MANAGERS)


def _mininet() -> Iterable[Setting]:
    for n in OVERLOADED_IN_MININET:
        yield from (_point(manager, n) for manager in MANAGERS)


def _isolates(made: Measuring) -> None:
    def part(name: str, point: Setting, value: Callable[[Outcome, Span], float]) -> None:
        made.part(name, [point], lambda found: value(found[0], made.middle(point)))

    for n in OVERLOADED_IN_MININET if made.mininet else OVERLOADED:
        drr = _point("drr", n)
        # UDP can use 12 Mbps, and so can all of them.
        share = share_mbps(n, [UDP_MBPS])
        part(f"udp over share drr n{n}", drr, partial(_udp_over, made.reading, share))
        tcp = partial(_tcp_over, made.reading, share, drr)
        part(f"tcp over share drr n{n}", drr, tcp)
        for manager in SINGLE_QUEUES:
            name = f"udp over 12 mbps {manager} n{n}"
            part(name, _point(manager, n), partial(_udp_over, made.reading, UDP_MBPS))
    if made.mininet:
        return
    both = [_point("codel", _COMPARED_AT), _point("drr", _COMPARED_AT)]
    during = made.middle(both[0])

    def over_drr(found: Sequence[Outcome]) -> float:
        return ratio(_udp(found[0], during), _udp(found[1], during))

    made.part(f"udp codel over drr n{_COMPARED_AT}", both, over_drr)


def _udp_over(which: Reading, mbps: float, outcome: Outcome, during: Span) -> float:
    return counted(UDP, which) * _udp(outcome, during) / mbps


def _tcp_over(which: Reading, mbps: float, of: Setting, outcome: Outcome, during: Span) -> float:
    return counted(ftp(1), which) * mean_goodput(outcome, of.downloads, during) / mbps


def _udp(outcome: Outcome, during: Span) -> float:
    return goodput_mbps(outcome, UDP, during)


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Makes the figure of what UDP and a download get meanwhile."""
    if "002-E4" not in made:
        return
    row = made["002-E4"]
    during = times(row.asked.level).middle

    def udp(one: Outcome, setting: Setting) -> float:
        del setting
        return _udp(one, during)

    def download(one: Outcome, setting: Setting) -> float:
        return mean_goodput(one, setting.downloads, during)

    panels = tuple(
        Panel(
            title,
            FLOWS_AXIS,
            Axis("Goodput (Mbit/s)", low=0),
            tuple(
                against_flows(manager, row, partial(_point, manager), value, shape="points")
                for manager in MANAGERS
            ),
        )
        for title, value in (("UDP", udp), ("A download", download))
    )
    yield Figure(
        "002-EXP4",
        "Goodput of UDP at 12 Mbps and of the downloads beside it",
        panels,
        "While UDP is there; what the slides' pictures hold is not told.",
        ("002-E4",),
    )


ROWS: Final[tuple[Row, ...]] = (row("002-E4", OF_RATES, _all, _isolates, _mininet),)
