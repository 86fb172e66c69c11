# SPDX-License-Identifier: Apache-2.0
"""001-I4: a burst disturbs a single queue, and none of flow queues but its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_levels import LARGEST
from docsis_experiments.reproduction.settings.p001_outcomes import asked
from docsis_experiments.reproduction.settings.p001_quantities import beside_trains
from docsis_experiments.reproduction.settings.p001_readings import TCP_AND_LATENCY, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_traffic import GAME_GROUP, TRAIN_GROUP
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_POINTS: Final = {
    manager: Setting(manager, LARGEST, beside=(GAME_GROUP, TRAIN_GROUP))
    for manager in ("codel", "pie", "lred", "sfq")
}


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    return _POINTS.values()


def _measure(made: Measuring) -> None:
    def after_over_before(outcomes: Sequence[Outcome]) -> float:
        [one] = outcomes
        after, before = (
            asked(one, beside_trains(metric)) + made.added_ms()
            for metric in ("latency-after-train", "latency-before-train")
        )
        return ratio(after, before)

    for manager, point in _POINTS.items():
        made.part(f"p99 after over before {manager}", [point], after_over_before)


ROWS: Final[tuple[Row, ...]] = (row("001-I4", TCP_AND_LATENCY, _settings, _measure),)
