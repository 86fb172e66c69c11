# SPDX-License-Identifier: Apache-2.0
"""PIE's update against a scalar reference in exact arithmetic, and its consequences.

The reference follows the pseudocode of RFC 8033, appendix A, statement by statement with
fractions and seconds; enqueue() is a function of its own, as it is there. It shares neither code,
constants nor units with the implementation.
"""

from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.law.fixed_point import PROB_ONE, to_prob
from docsis_control.law.pie import (
    Parameters,
    State,
    calculate_drop_prob,
    departure_rate,
    queue_delay,
)

LIMITS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)


@dataclass
class Reference:
    """The RFC's variables, exactly."""

    qdelay_ref: F
    alpha: F = F(1, 8)
    beta: F = F(5, 4)
    t_update: F = F(16, 1000)
    max_burst: F = F(150, 1000)
    drop_prob: F = F(0)
    qdelay_old: F = F(0)
    current_qdelay: F = F(0)
    burst_allowance: F = F(0)
    # What enqueue() asks of, of the two newest samples: the update has already moved on.
    older: F = F(0)

    def enqueue(self) -> None:
        if (
            self.drop_prob == 0
            and self.current_qdelay < self.qdelay_ref / 2
            and self.older < self.qdelay_ref / 2
        ):
            self.burst_allowance = self.max_burst

    def calculate_drop_prob(self, qdelay: F) -> None:
        self.current_qdelay = qdelay
        p = self.alpha * (qdelay - self.qdelay_ref) + self.beta * (qdelay - self.qdelay_old)
        if self.drop_prob < F(1, 10**6):
            p /= 2048
        elif self.drop_prob < F(1, 10**5):
            p /= 512
        elif self.drop_prob < F(1, 10**4):
            p /= 128
        elif self.drop_prob < F(1, 10**3):
            p /= 32
        elif self.drop_prob < F(1, 10**2):
            p /= 8
        elif self.drop_prob < F(1, 10):
            p /= 2
        if self.drop_prob >= F(1, 10) and p > F(2, 100):
            p = F(2, 100)
        self.drop_prob += p
        if qdelay == 0 and self.qdelay_old == 0:
            self.drop_prob *= F(98, 100)
        self.drop_prob = min(F(1), max(F(0), self.drop_prob))
        self.older = self.qdelay_old
        self.qdelay_old = qdelay
        self.burst_allowance = max(F(0), self.burst_allowance - self.t_update)


def parameters(
    count: int = 1,
    qdelay_ref: float = 0.015,
    t_update: int = 16_000,
    max_burst: int = 150_000,
    alpha: float = 0.125,
    beta: float = 1.25,
) -> Parameters:
    return Parameters(
        alpha=np.full(count, alpha),
        beta=np.full(count, beta),
        qdelay_ref=np.full(count, qdelay_ref),
        t_update=np.full(count, t_update),
        max_burst=np.full(count, max_burst),
    )


def state(drop_prob: float = 0.0, qdelay_old: float = 0.0, burst_allowance: int = 0) -> State:
    return State(np.array([drop_prob]), np.array([qdelay_old]), np.array([burst_allowance]))


def step(before: State, qdelay: float, **configured: float) -> State:
    return calculate_drop_prob(parameters(**configured), before, np.array([qdelay]))  # type: ignore[arg-type]


delays_us = st.integers(0, 400_000) | st.sampled_from([0, 7_499, 7_500, 15_000, 250_001])


@given(
    st.lists(delays_us, min_size=1, max_size=120),
    st.sampled_from([2, 15, 45, 100]),
    st.sampled_from([0, 16, 150]),
    st.booleans(),
)
def test_follows_the_pseudocode(
    delays: list[int], ref_ms: int, burst_ms: int, strong: bool
) -> None:
    weights = (F(1, 4), F(5, 2)) if strong else (F(1, 8), F(5, 4))
    exact = Reference(F(ref_ms, 1000), *weights, max_burst=F(burst_ms, 1000))
    configured = parameters(
        qdelay_ref=ref_ms / 1000,
        max_burst=burst_ms * 1000,
        alpha=float(weights[0]),
        beta=float(weights[1]),
    )
    ours = State.initial(configured)
    for delay in delays:
        # Packets come all the time, so enqueue() is called between every two updates.
        exact.enqueue()
        assert int(ours.burst_allowance[0]) == exact.burst_allowance * 10**6
        exact.calculate_drop_prob(F(delay, 10**6))
        ours = calculate_drop_prob(configured, ours, np.array([delay / 1e6]))
        drop_prob = float(exact.drop_prob)
        assert ours.drop_prob[0] == pytest.approx(drop_prob, rel=1e-9, abs=1e-15)
        # Within rounding of a limit it may fall to its other side: then follow the reference.
        if drop_prob < 1e-15 or any(abs(drop_prob / limit - 1) < 1e-6 for limit in LIMITS):
            ours = State(np.array([drop_prob]), ours.qdelay_old, ours.burst_allowance)
            exact.enqueue()
            ours.burst_allowance[0] = int(exact.burst_allowance * 10**6)
    exact.enqueue()
    assert int(ours.burst_allowance[0]) == exact.burst_allowance * 10**6


# drop_prob before and after one update with 17 ms after 16 ms, so
# p = 0.125 * 0.002 + 1.25 * 0.001 = 0.0015 before scaling. Worked out by hand.
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0.0, 0.0015 / 2048),
        (9.9e-7, 9.9e-7 + 0.0015 / 2048),
        (1e-6, 1e-6 + 0.0015 / 512),
        (1e-5, 1e-5 + 0.0015 / 128),
        (1e-4, 1e-4 + 0.0015 / 32),
        (1e-3, 1e-3 + 0.0015 / 8),
        (1e-2, 1e-2 + 0.0015 / 2),
        (0.1, 0.1 + 0.0015),
        (0.9, 0.9 + 0.0015),
        (0.9999, 1.0),
    ],
)
def test_golden_steps(before: float, after: float) -> None:
    found = step(state(before, qdelay_old=0.016), 0.017)
    assert found.drop_prob[0] == pytest.approx(after, rel=1e-12)
    assert found.qdelay_old[0] == 0.017


def test_a_step_is_at_most_two_percent_from_a_tenth_on() -> None:
    # 0.125 * 0.985 + 1.25 * 1.0 is 1.37; above 250 ms the RFC adds nothing.
    assert step(state(0.1), 1.0).drop_prob[0] == pytest.approx(0.12, rel=1e-12)
    assert step(state(0.099), 1.0).drop_prob[0] == pytest.approx(
        0.099 + (0.125 * 0.985 + 1.25) / 2, rel=1e-12
    )
    # Falls are not limited.
    assert step(state(0.9, qdelay_old=0.5), 0.0).drop_prob[0] == pytest.approx(
        0.9 - 0.125 * 0.015 - 1.25 * 0.5, rel=1e-12
    )


def test_decays_only_when_both_delays_are_nothing() -> None:
    after = 0.05 - 0.125 * 0.015 / 2
    assert step(state(0.05), 0.0).drop_prob[0] == pytest.approx(0.98 * after, rel=1e-12)
    little = 0.05 + (0.125 * (1e-6 - 0.015) + 1.25 * 1e-6) / 2
    assert step(state(0.05), 1e-6).drop_prob[0] == pytest.approx(little, rel=1e-12)


def test_the_allowance_runs_out_on_the_tenth_update_and_comes_back_when_quiet() -> None:
    now = state(burst_allowance=150_000)
    for update in range(1, 10):
        now = step(now, 0.1)
        assert now.burst_allowance[0] == 150_000 - 16_000 * update
        # The probability does not wait for it.
        assert now.drop_prob[0] > 0
    assert step(now, 0.1).burst_allowance[0] == 0
    # One loud sample of the two, and half the target is not below half the target.
    assert step(state(qdelay_old=0.0075), 0.001).burst_allowance[0] == 0
    assert step(state(qdelay_old=0.001), 0.0075).burst_allowance[0] == 0
    assert step(state(qdelay_old=0.0074), 0.0074).burst_allowance[0] == 150_000
    assert step(state(0.05), 0.0).burst_allowance[0] == 0
    assert step(state(), 0.0, max_burst=0).burst_allowance[0] == 0
    # T_UPDATE is what it counts down by.
    assert step(state(burst_allowance=150_000), 0.1, t_update=50_000).burst_allowance[0] == 100_000


probabilities = st.floats(0, 1)
seconds = st.floats(0, 10)


@given(probabilities, seconds, seconds, st.integers(0, 150_000))
def test_stays_in_bounds(drop_prob: float, old: float, qdelay: float, burst: int) -> None:
    after = step(state(drop_prob, old, burst), qdelay)
    assert 0 <= after.drop_prob[0] <= 1
    assert 0 <= after.burst_allowance[0] <= 150_000
    assert int(to_prob(after.drop_prob)[0]) <= PROB_ONE
    if drop_prob >= 0.1:
        assert after.drop_prob[0] <= drop_prob + 0.02 + 1e-12


@given(probabilities, seconds, st.floats(1e-6, 10), st.floats(0, 10))
def test_more_delay_is_never_less_probability(
    drop_prob: float, old: float, qdelay: float, more: float
) -> None:
    before = state(drop_prob, old)
    assert step(before, qdelay + more).drop_prob[0] >= step(before, qdelay).drop_prob[0]


@given(st.lists(st.floats(0, 0.015), min_size=1, max_size=200))
def test_no_probability_up_to_the_target_unless_the_delay_rises(delays: list[float]) -> None:
    falling = sorted(delays, reverse=True)
    now = state(qdelay_old=falling[0])
    for qdelay in falling:
        now = step(now, qdelay)
        assert now.drop_prob[0] == 0


@given(
    st.lists(st.tuples(probabilities, seconds, seconds, st.integers(0, 150_000)), min_size=2),
    st.sampled_from([16_000, 32_000]),
)
def test_service_flows_do_not_mix(
    flows: list[tuple[float, float, float, int]], t_update: int
) -> None:
    drop_prob, old, qdelay, burst = (np.array(each) for each in zip(*flows, strict=True))
    configured = parameters(len(flows), t_update=t_update)
    together = calculate_drop_prob(configured, State(drop_prob, old, burst), qdelay)
    for column, flow in enumerate(flows):
        alone = step(state(flow[0], flow[1], flow[3]), flow[2], t_update=t_update)
        assert together.drop_prob[column] == alone.drop_prob[0]
        assert together.burst_allowance[column] == alone.burst_allowance[0]


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**36))
def test_delay_by_the_departure_rate(queue_bytes: int, avg_dq_time: int) -> None:
    """queue_.byte_length() * avg_dq_time_ / DQ_THRESHOLD, the time in 1/256 us."""
    exact = queue_bytes * F(avg_dq_time, 256 * 10**6) / 2**14
    ours = queue_delay(np.array([queue_bytes]), np.array([avg_dq_time]))[0]
    assert ours == pytest.approx(float(exact), rel=1e-12)


def test_departure_rate() -> None:
    # 2^14 bytes in 6.5536 ms are 20 Mbit/s.
    rate, unknown = departure_rate(np.array([int(6553.6 * 256), 0]))
    assert rate == pytest.approx(20e6, rel=1e-6)
    assert np.isnan(unknown)
