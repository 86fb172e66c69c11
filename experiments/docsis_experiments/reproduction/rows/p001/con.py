# SPDX-License-Identifier: Apache-2.0
"""001-CON: the conclusions' ranking of the four queue managers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_figures import drop_tail, lred, sfq, sfq_lred
from docsis_experiments.reproduction.settings.p001_levels import LARGEST
from docsis_experiments.reproduction.settings.p001_outcomes import loss_percent
from docsis_experiments.reproduction.settings.p001_readings import TCP_AND_LATENCY, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_traffic import GAME
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_RANKED: Final = {
    "sfq-lred": sfq_lred(LARGEST),
    "sfq": sfq(LARGEST),
    "lred": lred(LARGEST),
    "drop-tail": drop_tail(LARGEST),
}
"""The best first."""


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    return _RANKED.values()


def _measure(made: Measuring) -> None:
    def p90(outcome: Outcome) -> float:
        return outcome.groups[GAME].values["latency p90"] + made.added_ms()

    def over(outcomes: Sequence[Outcome]) -> float:
        return ratio(*map(p90, outcomes))

    names = list(_RANKED)
    for better, worse in pairwise(names):
        made.part(f"{worse} over {better}", [_RANKED[worse], _RANKED[better]], over)
    made.part(
        "loss lred over sfq",
        [_RANKED["lred"], _RANKED["sfq"]],
        lambda found: ratio(*map(loss_percent, found)),
    )


ROWS: Final[tuple[Row, ...]] = (row("001-CON", TCP_AND_LATENCY, _settings, _measure),)
