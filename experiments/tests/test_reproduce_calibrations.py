# SPDX-License-Identifier: Apache-2.0
"""What is calibrated on trial seeds: the search, and what it plays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from docsis_experiments.reproduction.calibrations.web_round_trip import (
    ROUND_TRIPS_MS,
    nearest,
    works,
)
from docsis_experiments.reproduction.row import TRIAL_SEEDS
from docsis_experiments.reproduction.settings.p000_managers import Manager


@given(
    st.lists(st.floats(0, 10), min_size=7, max_size=7, unique=True).map(sorted), st.floats(0, 10)
)
def test_the_search_finds_what_trying_all_finds(values: list[float], wanted: float) -> None:
    of = dict(zip(ROUND_TRIPS_MS, values, strict=True))
    found = nearest(of.__getitem__, ROUND_TRIPS_MS, wanted)
    assert abs(of[found.round_trip_ms] - wanted) == min(abs(one - wanted) for one in values)
    assert len(found.percentiles) <= 3


def test_trial_seeds_alone_are_played_with_pie_under_the_conditions_of_a_study() -> None:
    runs = works(60)
    assert {run.unit.seed for run in runs} == set(TRIAL_SEEDS[:3])
    assert {run.unit.label for run in runs} == {Manager.PIE.value}
    assert len({run.label for run in runs}) == 8
    assert {run.unit for run in runs}.isdisjoint(run.unit for run in works(80))
