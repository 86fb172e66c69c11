# SPDX-License-Identifier: Apache-2.0
"""004-D1: the least access delay is two MAPs and the transmission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from docsis_experiments.reproduction.row import (
    Asked,
    Computation,
    Level,
    Measured,
    Results,
    Row,
    Seeds,
    Work,
)
from docsis_experiments.reproduction.settings.p004_access_delay import (
    access_delays,
    few_access_delays,
)
from docsis_experiments.reproduction.settings.p004_levels import MAP_TIMES, USUAL
from docsis_experiments.reproduction.settings.p004_outcomes import slope

_LABEL: Final = "lone frames"


def _works(asked: Asked) -> Iterable[Work]:
    compute = few_access_delays if asked.level is Level.SMOKE else access_delays
    for seed in asked.seeds:
        yield Computation(_LABEL, compute, seed)


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    del asked
    found = results.computed(_LABEL)
    if not found:
        return {}
    minimum = {seed: values[f"t{USUAL}"] for seed, values in found.items()}
    slopes = {
        seed: slope(MAP_TIMES, [values[f"t{time}"] for time in MAP_TIMES])
        for seed, values in found.items()
    }
    return {"minimum at t2": Seeds(minimum), "slope of minimum": Seeds(slopes)}


ROWS: Final[tuple[Row, ...]] = (Row("004-D1", _works, _parts),)
