# SPDX-License-Identifier: Apache-2.0
"""004-AF1, AF2, AF3: filtering acknowledgements needs room for bursts.

"The downstream utilization actually dropped significantly as the small CMTS queue size (set to 50
packets) was not able to absorb the bursty TCP connection behavior"; with 300 packets in "all nodes
in the simulation" it came to 75%, comparable to the equivalent simulation without filtering.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p004_network import PAPERS, Channel
from docsis_experiments.reproduction.settings.p004_outcomes import utilisation, variation
from docsis_experiments.reproduction.settings.p004_points import largest, points
from docsis_experiments.reproduction.settings.p004_readings import TCP
from docsis_experiments.reproduction.settings.p004_rows import Measuring, row
from docsis_experiments.reproduction.settings.p004_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_FILTER: Final = replace(PAPERS, ack_filter=True)
_LARGE: Final = replace(PAPERS, packets=300)
_LARGE_FILTER: Final = replace(_LARGE, ack_filter=True)


def _difference(outcomes: Sequence[Outcome]) -> float:
    """The difference of the largest utilisations: those with the filter come first."""
    half = len(outcomes) // 2
    best = largest(utilisation)
    return best(outcomes[:half]) - best(outcomes[half:])


def _with_and_without(level: Level, filtered: Channel, without: Channel) -> list[Setting]:
    return [*points(level, filtered), *points(level, without)]


def _small(level: Level) -> Iterable[Setting]:
    return _with_and_without(level, _FILTER, PAPERS)


def _large(level: Level) -> Iterable[Setting]:
    return _with_and_without(level, _LARGE_FILTER, _LARGE)


def _with_small_queues(made: Measuring) -> None:
    made.part("filter minus none", list(_small(made.level)), _difference)


def _with_large_queues(made: Measuring) -> None:
    made.part("filter", points(made.level, _LARGE_FILTER), largest(utilisation))
    made.part("filter minus none", list(_large(made.level)), _difference)


def _bursts(made: Measuring) -> None:
    """Compares burstiness with and without the filter, where the utilisation is comparable."""

    def over(outcomes: Sequence[Outcome]) -> float:
        found = np.asarray([variation(one) for one in outcomes]).reshape(2, -1).mean(axis=1)
        return ratio(float(found[0]), float(found[1]))

    made.part("variation filter over none", list(_large(made.level)), over)


ROWS: Final[tuple[Row, ...]] = (
    row("004-AF1", TCP, _small, _with_small_queues),
    row("004-AF2", TCP, _large, _with_large_queues),
    row("004-AF3", TCP, _large, _bursts),
)
