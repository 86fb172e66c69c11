# SPDX-License-Identifier: Apache-2.0
"""The control law against a scalar reference in exact arithmetic, and its consequences.

The reference follows the pseudocode of RFC 8034, appendix A, statement by
statement with fractions and seconds; it shares neither code, constants nor units
with the implementation.
"""

from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.law.docsis_pie import (
    MAX_BURST_US,
    Parameters,
    State,
    Status,
    calculate_drop_prob,
    queue_delay,
)
from docsis_control.law.fixed_point import from_prob, to_delay_us, to_prob
from docsis_control.law.handshake import adopt, control_state

INACTIVE, QUIESCENT, ACTIVE = "INACTIVE", "QUIESCENT", "ACTIVE"
STATES = {INACTIVE: Status.INACTIVE, QUIESCENT: Status.QUIESCENT, ACTIVE: Status.ACTIVE}

MBPS = 1e6 / 8


@dataclass
class Reference:
    """The variables of A.1, exactly."""

    target: F
    msr: F
    peak: F
    drop_prob: F = F(0)
    qdelay_old: F = F(0)
    burst_allowance: F = F(0)
    burst_reset: F = F(0)
    state: str = INACTIVE

    def qdelay(self, queue: int, tokens: F) -> F:
        if queue <= tokens:
            return queue / self.peak
        return (queue - tokens) / self.msr + tokens / self.peak

    def control_path(self, qdelay: F) -> None:
        if self.burst_allowance > 0:
            self.drop_prob = F(0)
            self.burst_allowance = max(F(0), self.burst_allowance - F(16, 1000))
        else:
            p = F(1, 4) * (qdelay - self.target) + F(5, 2) * (qdelay - self.qdelay_old)
            if self.drop_prob < F(1, 10**6):
                p = p / 2048
            elif self.drop_prob < F(1, 10**5):
                p = p / 512
            elif self.drop_prob < F(1, 10**4):
                p = p / 128
            elif self.drop_prob < F(1, 10**3):
                p = p / 32
            elif self.drop_prob < F(1, 10**2):
                p = p / 8
            elif self.drop_prob < F(1, 10):
                p = p / 2
            elif self.drop_prob < 1:
                p = p / F(1, 2)
            elif self.drop_prob < 10:
                p = p / F(1, 8)
            else:
                p = p / F(1, 32)
            if self.drop_prob >= F(1, 10) and p > F(2, 100):
                p = F(2, 100)
            self.drop_prob = self.drop_prob + p
            if qdelay < F(5, 1000) and self.qdelay_old < F(5, 1000):
                self.drop_prob = self.drop_prob * F(98, 100)
            elif qdelay > F(200, 1000):
                self.drop_prob = self.drop_prob + F(2, 100)
            self.drop_prob = max(F(0), self.drop_prob)
            self.drop_prob = min(self.drop_prob, F(85, 100) * 1024 / 64)
        quiet = (
            qdelay < self.target / 2
            and self.qdelay_old < self.target / 2
            and self.drop_prob == 0
            and self.burst_allowance == 0
        )
        if self.state == ACTIVE and quiet:
            self.state = QUIESCENT
            self.burst_reset = F(0)
        elif self.state == QUIESCENT:
            if quiet:
                self.burst_reset = self.burst_reset + F(16, 1000)
                if self.burst_reset > 1:
                    self.burst_reset = F(0)
                    self.state = INACTIVE
            else:
                self.burst_reset = F(0)
        self.qdelay_old = qdelay


def parameters(count: int = 1, target: float = 0.01) -> Parameters:
    return Parameters(
        msr=np.full(count, 20 * MBPS),
        peak_rate=np.full(count, 25 * MBPS),
        latency_target=np.full(count, target),
    )


def state(
    drop_prob: float = 0.0,
    qdelay_old: float = 0.0,
    burst_allowance: int = 0,
    burst_reset: int = 0,
    status: Status = Status.ACTIVE,
) -> State:
    return State(
        np.array([drop_prob]),
        np.array([qdelay_old]),
        np.array([burst_allowance]),
        np.array([burst_reset]),
        np.array([int(status)]),
    )


def step(before: State, qdelay: float, target: float = 0.01) -> State:
    return calculate_drop_prob(parameters(target=target), before, np.array([qdelay]))


# Whole microseconds, so that both sides compare the same delays with the limits.
delays_us = st.integers(0, 400_000) | st.sampled_from([4999, 5000, 5001, 200_000, 200_001])


@given(
    st.lists(delays_us, min_size=1, max_size=120),
    st.sampled_from([1, 5, 10, 20, 100]),
    st.sampled_from([INACTIVE, QUIESCENT, ACTIVE]),
    st.integers(0, 142_000),
)
def test_follows_the_pseudocode(
    delays: list[int], target_ms: int, status: str, burst_us: int
) -> None:
    exact = Reference(target=F(target_ms, 1000), msr=F(2_500_000), peak=F(3_125_000))
    exact.state = status
    exact.burst_allowance = F(burst_us, 10**6)
    ours = state(burst_allowance=burst_us, status=STATES[status])
    for delay in delays:
        exact.control_path(F(delay, 10**6))
        ours = step(ours, delay / 1e6, target_ms / 1000)
        # A probability within rounding of a limit may fall to its other side, and so
        # may one that is 0 exactly; then follow the reference.
        limits = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
        assert ours.drop_prob[0] == pytest.approx(float(exact.drop_prob), rel=1e-9, abs=1e-15)
        if abs(float(exact.drop_prob)) < 1e-15 or any(
            abs(float(exact.drop_prob) / limit - 1) < 1e-6 for limit in limits
        ):
            exact.drop_prob = F(float(ours.drop_prob[0]))
            exact.state = {int(code): name for name, code in STATES.items()}[int(ours.status[0])]
            exact.burst_reset = F(int(ours.burst_reset[0]), 10**6)
        assert int(ours.status[0]) == STATES[exact.state]
        assert int(ours.burst_reset[0]) == exact.burst_reset * 10**6
        assert int(ours.burst_allowance[0]) == exact.burst_allowance * 10**6


@given(
    st.integers(0, 10_000_000),
    st.integers(0, 10_000_000),
    st.integers(10**5, 10**9),
    st.integers(0, 10**9),
)
def test_queue_delay(queue: int, tokens: int, rate: int, more: int) -> None:
    exact = Reference(target=F(1, 100), msr=F(rate), peak=F(rate + more))
    ours = queue_delay(
        Parameters(np.array([float(rate)]), np.array([float(rate + more)]), np.array([0.01])),
        np.array([float(queue)]),
        np.array([float(tokens)]),
    )
    assert ours[0] == pytest.approx(float(exact.qdelay(queue, F(tokens))), rel=1e-12)


# The table of section 4.2, with the factor below each limit and from it on. The delay falls from
# 12 to 11 ms, so p = 0.25 * 0.001 - 2.5 * 0.001 = -0.00225 before scaling, which no bound hides.
@pytest.mark.parametrize(
    ("limit", "below", "above"),
    [
        (1e-6, 1 / 2048, 1 / 512),
        (1e-5, 1 / 512, 1 / 128),
        (1e-4, 1 / 128, 1 / 32),
        (1e-3, 1 / 32, 1 / 8),
        (1e-2, 1 / 8, 1 / 2),
        (0.1, 1 / 2, 2),
        (1.0, 2, 8),
        (10.0, 8, 32),
    ],
)
def test_the_table_changes_at_its_limits(limit: float, below: float, above: float) -> None:
    for drop_prob, factor in ((np.nextafter(limit, 0), below), (limit, above)):
        after = step(state(drop_prob=drop_prob, qdelay_old=0.012), 0.011).drop_prob[0]
        assert after == pytest.approx(max(0.0, drop_prob - 0.00225 * factor), rel=1e-9, abs=1e-15)


# drop_prob before and after one interval with qdelay 12 ms, qdelay_old 11 ms, so
# p = 0.25 * 0.002 + 2.5 * 0.001 = 0.003 before scaling. Worked out by hand.
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0.0, 0.003 / 2048),
        (9.9e-7, 9.9e-7 + 0.003 / 2048),
        (1e-6, 1e-6 + 0.003 / 512),
        (1e-5, 1e-5 + 0.003 / 128),
        (1e-4, 1e-4 + 0.003 / 32),
        (1e-3, 1e-3 + 0.003 / 8),
        (1e-2, 1e-2 + 0.003 / 2),
        (0.1, 0.1 + 0.006),
        (1.0, 1.0 + 0.02),
        (10.0, 10.0 + 0.02),
        (13.59, 13.6),
    ],
)
def test_golden_steps(before: float, after: float) -> None:
    found = step(state(before, qdelay_old=0.011), 0.012)
    assert found.drop_prob[0] == pytest.approx(after, rel=1e-12)
    assert found.qdelay_old[0] == 0.012


def test_falls_without_the_limit_on_rises() -> None:
    # p = (0.25 * -0.005 + 2.5 * -0.095) * 8.
    found = step(state(5.0, qdelay_old=0.1), 0.005)
    assert found.drop_prob[0] == pytest.approx(5.0 + 8 * (-0.00125 - 0.2375), rel=1e-12)


def test_decays_when_both_delays_are_low_and_not_at_the_limit() -> None:
    kept = 0.05 + (0.25 * -0.006) / 2
    assert step(state(0.05, 0.004), 0.004).drop_prob[0] == pytest.approx(0.98 * kept, rel=1e-12)
    at_limit = 0.05 + (0.25 * -0.005 + 2.5 * 0.001) / 2
    assert step(state(0.05, 0.004), 0.005).drop_prob[0] == pytest.approx(at_limit, rel=1e-12)


def test_rises_by_two_percent_above_the_high_latency_only() -> None:
    base = 0.5 + 0.02
    assert step(state(0.5, 0.2), 0.2).drop_prob[0] == pytest.approx(base, rel=1e-12)
    assert step(state(0.5, 0.2), 0.2001).drop_prob[0] == pytest.approx(base + 0.02, rel=1e-12)


def test_a_burst_clears_on_the_ninth_interval() -> None:
    now = state(drop_prob=0.5, burst_allowance=MAX_BURST_US)
    for interval in range(1, 10):
        assert now.burst_allowance[0] > 0, f"over before interval {interval}"
        now = step(now, 0.3)
        assert now.drop_prob[0] == 0
    assert now.burst_allowance[0] == 0
    assert step(now, 0.3).drop_prob[0] > 0


def test_inactive_on_the_63rd_quiet_interval() -> None:
    now = state(status=Status.QUIESCENT)
    for interval in range(1, 63):
        now = step(now, 0.0)
        assert now.status[0] == Status.QUIESCENT, f"early: interval {interval}"
    now = step(now, 0.0)
    assert now.status[0] == Status.INACTIVE
    assert now.burst_reset[0] == 0


def test_noise_starts_the_quiet_period_again() -> None:
    now = state(status=Status.QUIESCENT)
    for _ in range(62):
        now = step(now, 0.0)
    # Half the target is not below half the target.
    now = step(now, 0.005)
    assert (now.status[0], now.burst_reset[0]) == (Status.QUIESCENT, 0)
    # qdelay_old is still loud once.
    for _ in range(63):
        now = step(now, 0.0)
        assert now.status[0] == Status.QUIESCENT
    assert step(now, 0.0).status[0] == Status.INACTIVE


def test_active_and_quiet_is_quiescent() -> None:
    now = step(state(burst_reset=0), 0.0)
    assert now.status[0] == Status.QUIESCENT
    assert now.burst_reset[0] == 0
    # A burst that lasts is not quiet.
    assert step(state(burst_allowance=20_000), 0.0).status[0] == Status.ACTIVE
    assert step(state(burst_allowance=16_000), 0.0).status[0] == Status.QUIESCENT


@given(
    st.floats(0, 13.6),
    st.floats(0, 10),
    st.floats(0, 10),
    st.integers(0, MAX_BURST_US),
    st.sampled_from(Status),
)
def test_stays_in_bounds(
    drop_prob: float, qdelay_old: float, qdelay: float, burst: int, status: Status
) -> None:
    after = step(state(drop_prob, qdelay_old, burst, 0, status), qdelay)
    assert 0 <= after.drop_prob[0] <= 13.6
    assert 0 <= after.burst_allowance[0] <= MAX_BURST_US
    assert 0 <= after.burst_reset[0] <= 1_000_000
    assert int(to_prob(after.drop_prob)[0]) < 2**32
    if drop_prob >= 0.1:
        assert after.drop_prob[0] <= drop_prob + 0.04 + 1e-12


def test_service_flows_do_not_mix() -> None:
    delays = np.array([0.0, 0.012, 0.3, 0.05])
    together = State.initial(4)
    alone = [State.initial(1) for _ in range(4)]
    for _ in range(50):
        together = calculate_drop_prob(parameters(4), together, delays)
        alone = [
            calculate_drop_prob(parameters(), one, delays[i : i + 1]) for i, one in enumerate(alone)
        ]
    assert together.drop_prob.tolist() == [one.drop_prob[0] for one in alone]
    assert len(set(together.drop_prob.tolist())) == 4


def test_does_not_change_what_it_is_given() -> None:
    before = state(0.5, 0.01, MAX_BURST_US, 0)
    step(before, 0.3)
    assert before.drop_prob[0] == 0.5
    assert before.burst_allowance[0] == MAX_BURST_US


@given(st.integers(0, 2**32 - 1))
def test_fixed_point_is_exact_both_ways(fixed: int) -> None:
    assert to_prob(from_prob(np.array([fixed])))[0] == fixed


def test_fixed_point_constants_of_the_pipeline() -> None:
    assert to_prob(np.array([0.85, 8.5, 0.2, 13.6])).tolist() == [
        228170138,
        2281701376,
        53687091,
        3650722202,
    ]
    assert to_delay_us(np.array([0.0100004, 5000.0])).tolist() == [10_000, 2**32 - 1]


def test_adopts_a_burst_and_acknowledges_it() -> None:
    seen = np.array([4])
    now, acknowledged = adopt(
        state(burst_reset=48_000, status=Status.QUIESCENT), seen, np.array([(5 << 2) | 2])
    )
    assert (now.status[0], now.burst_allowance[0], now.burst_reset[0]) == (2, MAX_BURST_US, 0)
    assert control_state(now.status, acknowledged)[0] == (5 << 2) | 2


def test_adopts_the_start_of_control() -> None:
    now, acknowledged = adopt(
        state(status=Status.INACTIVE), np.array([0]), np.array([(1 << 2) | 1])
    )
    assert (now.status[0], now.burst_allowance[0]) == (Status.QUIESCENT, 0)
    assert control_state(now.status, acknowledged)[0] == (1 << 2) | 1


def test_keeps_its_own_state_when_nothing_moved() -> None:
    # The data path last went to ACTIVE; the controller has since gone to INACTIVE.
    before = state(status=Status.INACTIVE)
    now, acknowledged = adopt(before, np.array([7]), np.array([(7 << 2) | 2]))
    assert now.status[0] == Status.INACTIVE
    assert control_state(now.status, acknowledged)[0] == 7 << 2


def test_sequence_numbers_use_all_bits() -> None:
    now, acknowledged = adopt(state(), np.array([2**30 - 1]), np.array([1]))
    assert now.status[0] == Status.QUIESCENT
    assert acknowledged[0] == 0
    top = control_state(state(status=Status.ACTIVE).status, np.array([2**30 - 1]))
    assert int(top[0]) == 2**32 - 2
