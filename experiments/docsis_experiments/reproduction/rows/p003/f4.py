# SPDX-License-Identifier: Apache-2.0
"""Figure 4: distributions of the maximum round trip of a test; and what load adds at the worst."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from docsis_experiments.populations.table import ResultOfTest
from docsis_experiments.reproduction.figure import Figure, Made
from docsis_experiments.reproduction.row import Asked, Exact, Measured, Results, Row, Run
from docsis_experiments.reproduction.rows.p003.f3 import WIDER
from docsis_experiments.reproduction.settings.p003_drawn import distributions, upright
from docsis_experiments.reproduction.settings.p003_population import (
    READINGS,
    STUDY_TESTS,
    TIERS_MBPS,
    Modems,
    works,
)
from docsis_experiments.reproduction.settings.p003_told import (
    Floats,
    Tests,
    outcomes_of_tests,
    ratio_of_means,
)

_SECOND: Final = 1000.0


def _max_ms(one: ResultOfTest) -> float:
    return one.max_ms


def _max_over_mean(one: ResultOfTest) -> float:
    return one.max_ms / one.mean_ms


def _largest_added(one: ResultOfTest) -> float:
    return one.max_ms - one.idle_ms


def _p99_added(one: ResultOfTest) -> float:
    return one.p99_ms - one.idle_ms


def _goodput(one: ResultOfTest) -> float:
    return one.goodput_mbps


def _median(rows: Floats) -> float:
    return float(np.median(rows))


def _tail(rows: Floats) -> float:
    p50, p95 = np.quantile(rows, (0.5, 0.95))
    return float(p95 / p50)


def _works_of_maxima(asked: Asked) -> Iterator[Run]:
    return works(asked, (Modems.AQM, Modems.B2))


def _maxima(asked: Asked, results: Results) -> Mapping[str, Measured]:
    found: dict[str, Measured] = {}
    aqm = outcomes_of_tests(asked, results, Modems.AQM)
    if aqm.of:
        found["max over mean"] = aqm.pooled(_median, _max_over_mean)
        found["maxima in 15-45"] = aqm.share(_max_ms, WIDER)
    none = outcomes_of_tests(asked, results, Modems.B2)
    if none.of:
        found["p95 over p50 b2"] = none.pooled(_tail, _max_ms)
        found["maxima above 1s b2"] = none.above(_max_ms, _SECOND)
    return found


def _works_of_buffer_control(asked: Asked) -> Iterator[Run]:
    return works(asked, (Modems.B1,))


def _largest(asked: Asked, results: Results) -> Mapping[str, Measured]:
    tests = outcomes_of_tests(asked, results, Modems.B1)
    found: dict[str, Measured] = {}
    for mbps in TIERS_MBPS:
        added = [
            value
            for one in tests.of.values()
            if one.tier == f"upload-{mbps}" and not math.isnan(value := _largest_added(one))
        ]
        if added:
            found[f"largest {mbps}mbps"] = Exact(max(added))
    return found


def _throughput(asked: Asked, results: Results) -> Mapping[str, Measured]:
    aqm = outcomes_of_tests(asked, results, Modems.AQM)
    found: dict[str, Measured] = {}
    for modems in (Modems.B1, Modems.B2):
        none = outcomes_of_tests(asked, results, modems)
        if aqm.of and none.of:
            found[f"goodput aqm over {modems}"] = aqm.pooled(ratio_of_means, _goodput, beside=none)
    return found


_ONE_OF: Final = ("003-S2", "003-F4", "003-S7")
"""The runs of these rows are the same: figures are drawn of the first that is there."""


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 4, and what nobody has published yet: tests' 99th percentiles beside 5 ms."""
    row = next((made[name] for name in _ONE_OF if name in made), None)
    if row is None:
        return
    tests: dict[Modems, Tests] = {
        modems: outcomes_of_tests(row.asked, row.results, modems) for modems in Modems
    }
    if not any(one.of for one in tests.values()):
        return
    yield Figure(
        "003-4",
        "Maximum upstream latency under load, modems with and without AQM",
        (
            distributions(
                tests,
                _max_ms,
                "Maximum round trip of a test (ms)",
                (upright("published, none: some above 1 s", _SECOND),),
            ),
        ),
        "A value for each test. A buffer of 250 ms cannot make a second: only one of so many bytes "
        "can, in a slow tier.",
        ("003-F4", "003-S7"),
        _ONE_OF,
    )
    yield Figure(
        "003-12",
        "99th percentile of a test less its idle round trip, beside a hope of 5 ms",
        (
            distributions(
                tests,
                _p99_added,
                "99th percentile less idle (ms)",
                (upright("Low Latency DOCSIS, hoped for: 5 ms", 5),),
            ),
        ),
        "Not a figure of the paper, and unjudged: section 12 hopes for less than 5 ms at the 99th "
        "percentile from Low Latency DOCSIS, which no modem here has.",
        ("003-X",),
        _ONE_OF,
    )


ROWS: Final = (
    Row("003-F4", _works_of_maxima, _maxima, readings=READINGS, study_seeds=STUDY_TESTS),
    Row("003-S7", _works_of_buffer_control, _largest, study_seeds=STUDY_TESTS),
    Row("003-S2", works, _throughput, readings=READINGS, study_seeds=STUDY_TESTS),
)
