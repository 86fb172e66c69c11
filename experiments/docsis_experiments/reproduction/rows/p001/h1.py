# SPDX-License-Identifier: Apache-2.0
"""001-H1: LRED's drops come one by one, and TCP recovers from them without a timeout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_figures import drop_tail, lred
from docsis_experiments.reproduction.settings.p001_outcomes import of_all_packets
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_BUFFER: Final = 400

_BOTH: Final = [lred(_BUFFER), drop_tail(_BUFFER)]


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    return _BOTH


def _measure(made: Measuring) -> None:
    def over(outcomes: Sequence[Outcome], metric: str) -> float:
        return ratio(*(of_all_packets(one, metric) for one in outcomes))

    made.part("clustered drops", _BOTH, lambda found: over(found, "clustered-drops"))
    made.part("timeouts per lost packet", _BOTH, lambda found: over(found, "timeouts-per-loss"))


ROWS: Final[tuple[Row, ...]] = (row("001-H1", TCP_ALONE, _settings, _measure),)
