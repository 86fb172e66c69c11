# SPDX-License-Identifier: Apache-2.0
"""Figure 6: how much two uploads have sent by when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Line, Made, Panel, over_seeds
from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run, Seeds
from docsis_experiments.reproduction.settings import p000_transfers as transfers
from docsis_experiments.reproduction.settings.p000_drawn import CALLED, preset
from docsis_experiments.reproduction.settings.p000_managers import AQMS, SEVEN, Manager
from docsis_experiments.reproduction.settings.p000_readings import FIRST, chosen

READINGS: Final = ("cubic", "plain-pie", "full-docsis-pie", "own-mac", "no-mac")

_Measure = Callable[[Asked, Results], Mapping[str, Measured]]

_PAIR: Final = (Manager.PIE, Manager.CT)
_ALIKE_AT: Final = 10.0
_END: Final = 100.0


_RUN_BY: Final[Mapping[str, tuple[tuple[Manager, ...], tuple[int, ...]]]] = {
    "000-F6a": (AQMS, (20, 200)),
    "000-F6b": (_PAIR, (20,)),
    "000-F6c": (_PAIR, (50,)),
    "000-F6d": (_PAIR, (100,)),
    "000-F6e": (_PAIR, (200,)),
    "000-F6f": (SEVEN, (20, 50)),
}
"""The queue managers and the round trips of each row."""


def _row(name: str, measure: _Measure, *, mininet: bool = False) -> Row:
    managers, round_trips_ms = _RUN_BY[name]

    def works(asked: Asked) -> Iterator[Run]:
        return transfers.works(asked, chosen(READINGS, asked), managers, round_trips_ms)

    def beside(asked: Asked) -> Iterator[Run]:
        return transfers.works(asked, FIRST, managers, round_trips_ms, mininet=True)

    return Row(
        name, works, measure, readings=len(READINGS) + 1, mininet=beside if mininet else None
    )


def spread(
    asked: Asked,
    results: Results,
    managers: Iterable[Manager],
    round_trip_ms: int,
    seconds: float,
) -> Seeds:
    """Greatest less least of A(t) over their mean, percent, of seeds that all managers have."""
    of = [
        # A row is played on one stage at a time.
        transfers.curves(asked, results, manager, round_trip_ms)
        or transfers.curves(asked, results, manager, round_trip_ms, mininet=True)
        for manager in managers
    ]
    values: dict[int, float] = {}
    for seed in asked.seeds:
        if all(seed in curves for curves in of):
            ends = [curves[seed][seconds] for curves in of]
            values[seed] = 100 * (max(ends) - min(ends)) / fmean(ends)
    return Seeds(values)


def ratios(asked: Asked, results: Results, round_trip_ms: int) -> dict[int, dict[float, float]]:
    """A(t) of PIE over CoDel-DT's, of each seed that both have."""
    pie, other = (transfers.curves(asked, results, m, round_trip_ms) for m in _PAIR)
    return {
        seed: {t: value / other[seed][t] for t, value in curve.items() if other[seed][t]}
        for seed, curve in pie.items()
        if seed in other
    }


def _at(curves: Mapping[int, Mapping[float, float]], seconds: float) -> Seeds:
    return Seeds({seed: curve[seconds] for seed, curve in curves.items() if seconds in curve})


def _over(curves: Mapping[int, Mapping[float, float]], start: float, end: float) -> Seeds:
    """Mean over times from start to end, both included."""
    found = {
        seed: [value for t, value in curve.items() if start <= t <= end]
        for seed, curve in curves.items()
    }
    return Seeds({seed: fmean(values) for seed, values in found.items() if values})


def _present(found: Mapping[str, Seeds]) -> Mapping[str, Measured]:
    return {name: seeds for name, seeds in found.items() if seeds.values}


def _spreads_of_aqms(asked: Asked, results: Results) -> Mapping[str, Measured]:
    return _present(
        {f"spread {ms}ms": spread(asked, results, AQMS, ms, _ALIKE_AT) for ms in (20, 200)}
    )


def _spreads_of_all(asked: Asked, results: Results) -> Mapping[str, Measured]:
    return _present({f"spread {ms}ms": spread(asked, results, SEVEN, ms, _END) for ms in (20, 50)})


def _pair(
    round_trip_ms: int, spans: Iterable[tuple[int, int]], times: Iterable[int] = ()
) -> _Measure:
    def measure(asked: Asked, results: Results) -> Mapping[str, Measured]:
        curves = ratios(asked, results, round_trip_ms)
        found = {f"pie over codel-dt {a}-{b}s": _over(curves, a, b) for a, b in spans}
        found |= {f"pie over codel-dt {t}s": _at(curves, float(t)) for t in times}
        return _present(found)

    return measure


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 6, of what the rows that are there have run."""
    panels = []
    for round_trip_ms in transfers.ROUND_TRIPS_MS:
        runs: dict[Manager, Made] = {}
        for name, (managers, round_trips_ms) in _RUN_BY.items():
            if name in made and round_trip_ms in round_trips_ms:
                runs |= dict.fromkeys(managers, made[name])
        lines = [_line(runs[one], one, round_trip_ms) for one in SEVEN if one in runs]
        lines = [line for line in lines if line.x]
        if lines:
            time = Axis("Time since the start (s)", True, transfers.TIMES[0], _END)
            rate = Axis("Mean throughput so far (Mbit/s)", low=0)
            panels.append(Panel(f"round trip {round_trip_ms} ms", time, rate, tuple(lines)))
    if panels:
        yield Figure(
            "000-6",
            "Throughput of two uploads against the transfer time",
            tuple(panels),
            "What both had received by then, over that time, without RF congestion. A round trip "
            "has the queue managers that a rule compares there. The text says that all AQMs are "
            "nearly the same at 20 ms after 10 s, that all approaches come to the same at short "
            "round trips, and that PIE is clearly inferior to CoDel-DT at 200 ms; it gives no "
            "values.",
            tuple(_RUN_BY),
        )


def _line(made: Made, manager: Manager, round_trip_ms: int) -> Line:
    curves = transfers.curves(made.asked, made.results, manager, round_trip_ms)
    times = transfers.TIMES if curves else ()
    points = [(t, {seed: curve[t] for seed, curve in curves.items()}) for t in times]
    return over_seeds(CALLED[manager], points, preset=preset(manager))


ROWS: Final = (
    _row("000-F6a", _spreads_of_aqms, mininet=True),
    _row("000-F6b", _pair(20, [(2, 7)], [1, 10, 25])),
    _row("000-F6c", _pair(50, [(7, 18), (18, 25)], range(1, 8))),
    _row("000-F6d", _pair(100, [(0, 20), (20, 25)])),
    _row("000-F6e", _pair(200, [], [25])),
    _row("000-F6f", _spreads_of_all),
)
