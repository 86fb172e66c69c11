# SPDX-License-Identifier: Apache-2.0
"""Dequeue rate tracking: 000's pseudocode, and what its figures 11 to 14 show.

The channel of those figures: a Maximum Sustained Traffic Rate of 20 Mbit/s, and a capacity that
varies between 10, 12, 18 and 20 Mbit/s. PIE's estimator beside it is deque() of RFC 8033,
appendix B, written down here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction as F
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.law.docsis_pie import Parameters as Rates
from docsis_control.law.docsis_pie import queue_delay
from docsis_control.law.rate_tracking import Counted, State, by_departures, limited

TICK_US = 16_000
MSR = 20e6 / 8
STEPS_MBPS = (20, 10, 18, 12, 20)
MAP_US = 4_000
LINE_RATE = 100e6 / 8
FRAME = 1_500


def rates(count: int = 1, msr: float = MSR, peak: float = 25e6 / 8) -> Rates:
    return Rates(np.full(count, msr), np.full(count, peak), np.full(count, 0.01))


def array(value: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([value], np.int64)


class Tracker:
    """One service flow, tick by tick."""

    def __init__(self) -> None:
        self.state = State.initial(rates())
        self.now_us = 5_000_000
        self.dequeued = 2**32 - 10_000
        self.met = 2**32 - 1
        self.tick(0, 0, 0)

    def tick(self, sent: int, met: int, backlog: int, elapsed_us: int = TICK_US) -> float:
        self.now_us += elapsed_us
        self.dequeued = (self.dequeued + sent) % 2**32
        self.met = (self.met + met) % 2**32
        counted = Counted(array(self.dequeued), array(self.met), array(backlog) > 0)
        self.state = by_departures(self.state, self.now_us, counted)
        return float(self.state.rate_estimate[0])


@dataclass
class Reference:
    """The variables of appendix A, in bits and seconds."""

    rate_estimate: F
    dq_count: int = 0
    pending: bool = True

    def on_map(self, granted_bytes: int, acked_req_bytes: int) -> None:
        self.dq_count += granted_bytes
        if acked_req_bytes == 0:
            self.pending = False

    def on_calculation(self) -> None:
        inst_rate = 8 * self.dq_count / F(16, 1000)
        if self.pending or inst_rate > self.rate_estimate:
            self.rate_estimate = self.rate_estimate / 2 + inst_rate / 2
        self.dq_count = 0
        self.pending = True


# Granted bytes of an interval, and whether at one of its MAPs nothing was asked for any more.
intervals = st.lists(st.tuples(st.integers(1, 100_000), st.booleans()), max_size=60)


@given(intervals)
def test_follows_the_pseudocode(seen: list[tuple[int, bool]]) -> None:
    exact, ours = Reference(F(20_000_000)), Tracker()
    # A backlog from here on; the interval that it began in is not one with requests throughout.
    exact.on_map(1, 0)
    exact.on_calculation()
    ours.tick(1, 0, FRAME)
    for granted, met in seen:
        exact.on_map(granted, 0 if met else FRAME)
        exact.on_calculation()
        found = ours.tick(granted, int(met), FRAME)
        assert 8 * found == pytest.approx(float(exact.rate_estimate), rel=1e-9)


def test_golden_steps() -> None:
    flow = Tracker()
    flow.tick(0, 0, 1)
    # 20,000 bytes in 16 ms are 10 Mbit/s, half of what was thought.
    assert flow.tick(20_000, 0, 1) == 0.75 * MSR
    assert flow.tick(20_000, 0, 1) == 0.625 * MSR
    # Asked for no more than it got: that says nothing of the channel.
    assert flow.tick(1_000, 1, 1) == 0.625 * MSR
    assert flow.tick(1_000, 0, 0) == 0.625 * MSR
    # But what it got, there was: 40 Mbit/s.
    assert flow.tick(80_000, 1, 0) == pytest.approx((0.3125 + 1) * MSR)


def test_a_missed_update_makes_a_longer_interval() -> None:
    flow = Tracker()
    flow.tick(0, 0, 1)
    assert flow.tick(60_000, 0, 1, elapsed_us=48_000) == 0.75 * MSR


def test_the_first_readings_are_no_interval() -> None:
    waiting = array(1) > 0
    first, second = (Counted(array(count), array(7), waiting) for count in (2**31, 5))
    state = by_departures(State.initial(rates()), 10**9, first)
    assert state.rate_estimate[0] == MSR
    # Nor are two of one moment.
    assert by_departures(state, 10**9, second).rate_estimate[0] == MSR


@given(st.integers(1, 10_000))
def test_an_idle_service_flow_keeps_a_stale_estimate(ticks: int) -> None:
    """A stale estimate, which 000 leaves for future study, is healed by the first busy interval."""
    flow = Tracker()
    flow.tick(0, 0, 1)
    for _ in range(10):
        congested = flow.tick(20_000, 0, 1)
    assert congested == pytest.approx(MSR / 2, rel=0.01)
    assert flow.tick(1_500, 1, 0, elapsed_us=ticks * TICK_US) == congested
    # The channel is free now, and the modem asks for less than all of it.
    assert flow.tick(40_000, 1, 0) == pytest.approx(0.75 * MSR, rel=0.01)
    assert flow.tick(30_000, 1, 0) == pytest.approx(0.75 * MSR, rel=0.01)


def test_a_channel_that_grants_nothing_leaves_a_delay_that_is_a_number() -> None:
    flow = Tracker()
    for _ in range(2_000):
        flow.tick(0, 0, 100_000)
    delay = queue_delay(limited(rates(), flow.state.rate_estimate), np.array([1e5]), np.array([0]))
    assert delay[0] == 1e5


@given(
    st.integers(1, 10**7),
    st.integers(0, 10**7),
    st.floats(1e5, 1e8),
    st.floats(1, 4),
    st.floats(1, 1e9),
)
def test_the_delay_of_the_paper(
    queue: int, tokens: int, msr: float, more: float, rate_estimate: float
) -> None:
    peak = msr * more
    pr_limited, msr_limited = F(min(rate_estimate, peak)), F(min(rate_estimate, msr))
    if queue <= tokens:
        exact = queue / pr_limited
    else:
        exact = (queue - tokens) / msr_limited + tokens / pr_limited
    found = queue_delay(
        limited(rates(1, msr, peak), np.array([rate_estimate])),
        np.array([float(queue)]),
        np.array([float(tokens)]),
    )
    assert found[0] == pytest.approx(float(exact), rel=1e-9)


@given(st.integers(0, 100_000), st.integers(0, 100_000), st.booleans(), st.integers(0, 1))
def test_more_bytes_are_never_less_rate(one: int, more: int, pending: bool, backlog: int) -> None:
    met = 0 if pending else 1
    slow, fast = Tracker(), Tracker()
    for flow in (slow, fast):
        flow.tick(0, 0, 1)
    assert slow.tick(one, met, backlog) <= fast.tick(one + more, met, backlog)


def test_service_flows_do_not_mix() -> None:
    random = Random(5)
    together = State.initial(rates(3))
    alone = [State.initial(rates()) for _ in range(3)]
    dequeued = np.zeros(3, np.int64)
    for tick in range(1, 50):
        dequeued = dequeued + np.array([random.randrange(60_000) for _ in range(3)])
        met = np.array([random.randrange(tick) for _ in range(3)])
        backlog = np.array([random.randrange(2) for _ in range(3)])
        now = tick * TICK_US
        together = by_departures(together, now, Counted(dequeued, met, backlog > 0))
        alone = [
            by_departures(
                one, now, Counted(dequeued[i : i + 1], met[i : i + 1], backlog[i : i + 1] > 0)
            )
            for i, one in enumerate(alone)
        ]
    assert together.rate_estimate.tolist() == [one.rate_estimate[0] for one in alone]


def departures(seed: int, seconds_a_step: int = 2) -> Iterator[tuple[float, int, float]]:
    """Time in microseconds and bytes of each departure, and the capacity then, bytes per second.

    In each MAP the service flow gets its share in one burst at the line rate, anywhere in it.
    """
    random = Random(seed)
    granted = 0.0
    start = 0
    for mbps in STEPS_MBPS:
        capacity = mbps * 1e6 / 8
        for _ in range(seconds_a_step * 1_000_000 // MAP_US):
            granted += capacity * MAP_US / 1e6
            frames = int(granted // FRAME)
            granted -= frames * FRAME
            at = start + random.uniform(0, MAP_US - frames * FRAME / LINE_RATE * 1e6)
            for _ in range(frames):
                at += FRAME / LINE_RATE * 1e6
                yield at, FRAME, capacity
            start += MAP_US


def pie_estimates(seed: int) -> Iterator[tuple[float, float]]:
    """The capacity and what PIE takes it for, at each tick; the queue is always long."""
    dq_count, measurement_start, avg_dq_time, next_tick = 0, 0.0, 0.0, float(TICK_US)
    for now, size, capacity in departures(seed):
        if now >= next_tick and avg_dq_time:
            yield capacity, 2**14 / avg_dq_time * 1e6
            next_tick += TICK_US
        dq_count += size
        if dq_count >= 2**14:
            dq_time = now - measurement_start
            avg_dq_time = dq_time / 4 + avg_dq_time * 3 / 4 if avg_dq_time else dq_time
            measurement_start, dq_count = now, 0


def tracked_estimates(seed: int, offset_us: int = 0) -> Iterator[tuple[float, float]]:
    """The same for the tracking, with its ticks so long after the start of a MAP."""
    flow, sent, next_tick = Tracker(), 0, TICK_US + offset_us
    flow.tick(0, 0, 1)
    for now, size, capacity in departures(seed):
        while now >= next_tick:
            yield capacity, flow.tick(sent, 0, 1)
            sent, next_tick = 0, next_tick + TICK_US
        sent += size


def errors(estimates: Iterator[tuple[float, float]], settling: int = 8) -> list[float]:
    """Relative errors, without the first ticks of a capacity."""
    found, since, before = [], 0, 0.0
    for capacity, estimate in estimates:
        since = since + 1 if capacity == before else 0
        before = capacity
        if since >= settling:
            found.append(estimate / capacity - 1)
    return found


def rms(estimates: Iterator[tuple[float, float]]) -> float:
    """Root of the mean square of the errors, which are of every tick but those after a step."""
    found = np.array(errors(estimates))
    assert len(found) > 550
    assert abs(found.mean()) < 0.01
    return float(np.sqrt((found**2).mean()))


@pytest.mark.parametrize("seed", range(5))
def test_tracks_the_capacity_of_the_figures(seed: int) -> None:
    """Intervals hold whole MAPs, as the paper counts what MAPs grant."""
    ours = rms(tracked_estimates(seed))
    assert ours < 0.02
    # PIE measures from within one burst to within another: figures 11 and 12.
    assert rms(pie_estimates(seed)) > 4 * ours


@pytest.mark.parametrize("offset_us", [1_000, 2_000, 3_000])
def test_intervals_that_cut_bursts_are_noisier_but_right_on_average(offset_us: int) -> None:
    """Departures are counted, not grants: a tick in the middle of a burst counts half of it."""
    assert rms(tracked_estimates(1, offset_us)) < 0.08


def test_a_step_is_followed_within_five_ticks() -> None:
    since, before = 0, 0.0
    for capacity, estimate in tracked_estimates(1):
        since = since + 1 if capacity == before else 0
        before = capacity
        # Of 10 Mbit/s the estimate knows half after a tick, and 31/32 after five.
        if since == 6:
            assert estimate == pytest.approx(capacity, rel=0.1)
