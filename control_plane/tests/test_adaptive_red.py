# SPDX-License-Identifier: Apache-2.0
"""Adaptive RED's maxp against 002's pseudocode in exact arithmetic."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from docsis_control.law.adaptive_red import Parameters, adapted, average
from docsis_control.queue_managers.managers.adaptive_red import AdaptiveRed

BUFFER = 625_000


def parameters(count: int = 1) -> Parameters:
    """002's thresholds: a twentieth and a half of the buffer."""
    return Parameters(
        target=np.full(count, AdaptiveRed().target_of(BUFFER)),
        decrease=np.full(count, 0.9),
    )


def step(maxp: float, avg: float, *, arrived: bool = True) -> float:
    found = adapted(parameters(), np.array([maxp]), np.array([avg]), np.array([arrived]))
    return float(found[0])


def reference(maxp: F, avg: F) -> F:
    """The appendix's lines, with the target read as Floyd's band has it."""
    minth, maxth = F(BUFFER, 20), F(BUFFER, 2)
    target = minth + (maxth - minth) / 2
    if avg > target and maxp <= F(1, 2):
        return maxp + maxp / 4
    if avg < target and maxp >= F(1, 100):
        return F(9, 10) * maxp
    return maxp


@given(st.lists(st.integers(0, BUFFER), min_size=1, max_size=60))
def test_follows_the_pseudocode(averages: list[int]) -> None:
    exact, ours = F(1, 10), 0.1
    for avg in averages:
        exact = reference(exact, F(avg))
        ours = step(ours, float(avg))
        assert ours == pytest.approx(float(exact), rel=1e-12)


def test_golden_steps() -> None:
    # The middle of 31,250 and 312,500 bytes.
    target = 171_875.0
    assert parameters().target.tolist() == [target]
    assert step(0.1, target + 1) == pytest.approx(0.125, rel=1e-15)
    assert step(0.1, target - 1) == pytest.approx(0.09, rel=1e-15)
    assert step(0.1, target) == 0.1
    assert step(0.5, BUFFER) == 0.625
    assert step(0.501, BUFFER) == 0.501
    assert step(0.01, 0) == pytest.approx(0.009, rel=1e-15)
    assert step(0.0099, 0) == 0.0099


def test_the_target_is_within_floyds_band() -> None:
    band = BUFFER / 20 + np.array([0.4, 0.6]) * (BUFFER / 2 - BUFFER / 20)
    assert band[0] < parameters().target[0] < band[1]
    # The formula as 002 prints it is not.
    printed = BUFFER / 20 + (BUFFER / 20 + BUFFER / 2) / 2
    assert printed > band[1]
    # Of 2048 packets it makes 666, which are 0.325 of them.
    assert AdaptiveRed(target_queue=0.325).target_of(BUFFER) == printed
    assert AdaptiveRed(target_queue=0.325).target_of(2048) == pytest.approx(665.6)


@pytest.mark.parametrize("target", [0.04, 0.51])
def test_a_target_outside_of_the_thresholds_is_refused(target: float) -> None:
    with pytest.raises(ValidationError, match="is not within the thresholds"):
        AdaptiveRed(target_queue=target)


def test_climbs_from_the_least_to_the_most_in_18_intervals() -> None:
    maxp = 0.01
    for _ in range(18):
        assert maxp <= 0.5
        maxp = step(maxp, BUFFER)
    assert maxp > 0.5
    assert step(maxp, BUFFER) == maxp


@given(st.floats(0.01, 0.5), st.lists(st.floats(0, BUFFER), max_size=100))
def test_stays_in_bounds(maxp: float, averages: list[float]) -> None:
    for avg in averages:
        maxp = step(maxp, avg)
        assert 0.009 - 1e-12 <= maxp <= 0.625 + 1e-12


@given(st.floats(0.009, 0.625), st.floats(0, BUFFER), st.floats(0, BUFFER))
def test_a_longer_queue_is_never_less_probability(maxp: float, one: float, other: float) -> None:
    assert step(maxp, max(one, other)) >= step(maxp, min(one, other))


@given(st.floats(0.009, 0.625), st.floats(0, BUFFER))
def test_nothing_moves_without_packets(maxp: float, avg: float) -> None:
    assert step(maxp, avg, arrived=False) == maxp


@given(st.lists(st.tuples(st.floats(0.009, 0.625), st.floats(0, BUFFER)), min_size=2))
def test_service_flows_do_not_mix(flows: list[tuple[float, float]]) -> None:
    maxp, avg = (np.array(each) for each in zip(*flows, strict=True))
    together = adapted(parameters(len(flows)), maxp, avg, np.full(len(flows), True))
    assert together.tolist() == [step(*flow) for flow in flows]


def test_the_average_is_q32_16() -> None:
    assert average(np.array([0, 1 << 15, 625_000 << 16])).tolist() == [0.0, 0.5, 625_000.0]
