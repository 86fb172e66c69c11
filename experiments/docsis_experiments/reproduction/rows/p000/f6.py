# SPDX-License-Identifier: Apache-2.0
"""Figure 6: how much two uploads have sent by when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run, Seeds
from docsis_experiments.reproduction.settings import p000_transfers as transfers
from docsis_experiments.reproduction.settings.p000_managers import AQMS, SEVEN, Manager
from docsis_experiments.reproduction.settings.p000_readings import chosen

READINGS: Final = ("cubic", "plain-pie", "full-docsis-pie")

_Measure = Callable[[Asked, Results], Mapping[str, Measured]]

_PAIR: Final = (Manager.PIE, Manager.CT)
_ALIKE_AT: Final = 10.0
_END: Final = 100.0


def _row(
    name: str,
    managers: Iterable[Manager],
    round_trips_ms: Iterable[int],
    measure: _Measure,
) -> Row:
    def works(asked: Asked) -> Iterator[Run]:
        return transfers.works(asked, chosen(READINGS, asked), managers, round_trips_ms)

    return Row(name, works, measure, readings=len(READINGS) + 1)


def spread(
    asked: Asked,
    results: Results,
    managers: Iterable[Manager],
    round_trip_ms: int,
    seconds: float,
) -> Seeds:
    """Greatest less least of A(t) over their mean, percent, of seeds that all managers have."""
    of = [transfers.curves(asked, results, manager, round_trip_ms) for manager in managers]
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


ROWS: Final = (
    _row("000-F6a", AQMS, (20, 200), _spreads_of_aqms),
    _row("000-F6b", _PAIR, (20,), _pair(20, [(2, 7)], [1, 10, 25])),
    _row("000-F6c", _PAIR, (50,), _pair(50, [(7, 18), (18, 25)], range(1, 8))),
    _row("000-F6d", _PAIR, (100,), _pair(100, [(0, 20), (20, 25)])),
    _row("000-F6e", _PAIR, (200,), _pair(200, [], [25])),
    _row("000-F6f", SEVEN, (20, 50), _spreads_of_all),
)
