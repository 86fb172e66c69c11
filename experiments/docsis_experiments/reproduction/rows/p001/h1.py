# SPDX-License-Identifier: Apache-2.0
"""001-H1: LRED's drops come one by one, and TCP recovers from them without a timeout."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_figures import drop_tail, lred
from docsis_experiments.reproduction.settings.p001_outcomes import of_all_packets, ratio
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting

_BUFFER: Final = 400

_BOTH: Final = [lred(_BUFFER), drop_tail(_BUFFER)]


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    return _BOTH


def _measure(made: Measuring) -> None:
    for name, metric in (
        ("clustered drops", "clustered-drops"),
        ("timeouts per lost packet", "timeouts-per-loss"),
    ):
        made.part(
            name,
            _BOTH,
            lambda found, metric=metric: ratio(*(of_all_packets(one, metric) for one in found)),
        )


ROWS: Final[tuple[Row, ...]] = (row("001-H1", TCP_ALONE, _settings, _measure),)
