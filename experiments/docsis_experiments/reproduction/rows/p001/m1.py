# SPDX-License-Identifier: Apache-2.0
"""001-M1: a buffer that does not match the bandwidth-delay product."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_figures import drop_tail
from docsis_experiments.reproduction.settings.p001_outcomes import goodput_mbps, loss_percent
from docsis_experiments.reproduction.settings.p001_readings import TCP_AND_LATENCY, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio

_LONG: Final = 200
_SHORT: Final = 10
"""Round trips, in ms."""

_TOO_SMALL: Final = [drop_tail(buffer, round_trip_ms=_LONG) for buffer in (50, 200)]
_TOO_LARGE: Final = [drop_tail(buffer, round_trip_ms=_SHORT) for buffer in (50, 10)]


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    return [*_TOO_SMALL, *_TOO_LARGE]


def _measure(made: Measuring) -> None:
    made.part("loss 50ms over 200ms", _TOO_SMALL, lambda found: ratio(*map(loss_percent, found)))
    made.part("goodput 50ms over 200ms", _TOO_SMALL, lambda found: ratio(*map(goodput_mbps, found)))
    made.part(
        "latency 50ms over 10ms",
        _TOO_LARGE,
        lambda found: ratio(*(made.latency_ms(one, round_trip_ms=_SHORT) for one in found)),
    )


ROWS: Final[tuple[Row, ...]] = (row("001-M1", TCP_AND_LATENCY, _settings, _measure),)
