# SPDX-License-Identifier: Apache-2.0
"""Figures 3, 5 and 6: distributions of the mean round trip of a test, with AQM and without."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from docsis_experiments.populations.models import Band
from docsis_experiments.populations.table import ResultOfTest
from docsis_experiments.reproduction.figure import Figure, Made
from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run
from docsis_experiments.reproduction.settings.p003_drawn import (
    distributions,
    in_bins,
    upright,
)
from docsis_experiments.reproduction.settings.p003_population import (
    READINGS,
    STUDY_TESTS,
    TIERS_MBPS,
    Modems,
    works,
    works_in_mininet,
)
from docsis_experiments.reproduction.settings.p003_told import (
    Tests,
    least_ratio,
    outcomes_of_tests,
    ratio_of_means,
    spread_of_medians,
)

NEAR: Final = Band.model_validate({"at_least": "15 ms", "at_most": "30 ms"})
WIDER: Final = Band.model_validate({"at_least": "15 ms", "at_most": "45 ms"})

_NONE: Final = (Modems.B1, Modems.B2)

_QUANTILES: Final = tuple(percent / 100 for percent in range(5, 96))


def mean_ms(one: ResultOfTest) -> float:
    """Mean round trip under load."""
    return one.mean_ms


def _tier(one: ResultOfTest) -> float:
    return float(one.tier.removeprefix("upload-"))


def _added(one: ResultOfTest) -> float:
    return one.added_ms


def _suffix(modems: Modems) -> str:
    return "" if modems is Modems.AQM else f" {modems}"


def _consistency(asked: Asked, results: Results) -> Mapping[str, Measured]:
    found: dict[str, Measured] = {}
    for modems in Modems:
        tests = outcomes_of_tests(asked, results, modems)
        if not tests.of:
            continue
        found[f"tests in 15-30{_suffix(modems)}"] = tests.share(mean_ms, NEAR)
        found[f"tests in 15-45{_suffix(modems)}"] = tests.share(mean_ms, WIDER)
        # A spread of some of the tiers would be of another thing.
        if len({one.tier for one in tests.of.values()}) == len(TIERS_MBPS):
            found[f"spread of tiers{_suffix(modems)}"] = tests.pooled(
                spread_of_medians, _tier, _added
            )
    return found


def _works_without(asked: Asked) -> Iterator[Run]:
    return works(asked, _NONE)


def _without(asked: Asked, results: Results) -> Mapping[str, Measured]:
    found: dict[str, Measured] = {}
    for modems in _NONE:
        tests = outcomes_of_tests(asked, results, modems)
        if tests.of:
            found[f"tests in 15-30 {modems}"] = tests.share(mean_ms, NEAR)
            found[f"mean {modems}"] = tests.seeds(mean_ms)
    return found


def _lower(asked: Asked, results: Results) -> Mapping[str, Measured]:
    aqm = outcomes_of_tests(asked, results, Modems.AQM)
    found: dict[str, Measured] = {}
    for modems in _NONE:
        tests = outcomes_of_tests(asked, results, modems)
        if tests.of and aqm.of:
            found[f"none over aqm {modems}"] = tests.pooled(ratio_of_means, mean_ms, beside=aqm)
            found[f"least ratio {modems}"] = tests.pooled(
                least_ratio(_QUANTILES), mean_ms, beside=aqm
            )
    return found


_ONE_OF: Final = ("003-F3", "003-F3b", "003-F5")
"""The runs of these rows are the same: figures are drawn of the first that is there."""


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figures 3, 5 and 6."""
    row = next((made[name] for name in _ONE_OF if name in made), None)
    if row is None:
        return
    tests: dict[Modems, Tests] = {
        modems: outcomes_of_tests(row.asked, row.results, modems) for modems in Modems
    }
    if not any(one.of for one in tests.values()):
        return
    rows = ("003-F3", "003-F5", "003-F3b")
    yield Figure(
        "003-3",
        "Mean upstream latency under load, modems with and without AQM",
        (
            distributions(
                tests,
                mean_ms,
                "Mean round trip of a test (ms)",
                (
                    upright("published, AQM: 77% in 15 to 30", 15, 30),
                    upright("published, none: mean 250", 250),
                ),
            ),
        ),
        "A value for each test; the paper has two variants of a modem on its network, whose tiers, "
        "distances and buffers it does not tell. Without AQM the buffer is 250 ms at the rate, or "
        "625 KB for all tiers.",
        rows,
        _ONE_OF,
    )
    yield Figure(
        "003-5",
        "Distribution of mean upstream latency, in steps of 15 ms",
        tuple(
            in_bins(tests[modems], mean_ms, modems, published)
            for modems, published in (
                (Modems.B1, (22.5, 1.0)),
                (Modems.B2, (22.5, 1.0)),
                (Modems.AQM, (22.5, 77.0)),
            )
            if tests[modems].of
        ),
        "Figure 5 of the paper is of the modem without AQM, figure 6 of that with it: their "
        "captions swap the models' names, and the text decides. Published are the shares from 15 "
        "to 30 ms.",
        rows,
        _ONE_OF,
    )


ROWS: Final = (
    Row(
        "003-F3",
        works,
        _consistency,
        readings=READINGS,
        study_seeds=STUDY_TESTS,
        mininet=works_in_mininet,
    ),
    Row("003-F5", _works_without, _without, readings=READINGS, study_seeds=STUDY_TESTS),
    Row("003-F3b", works, _lower, readings=READINGS, study_seeds=STUDY_TESTS),
)
