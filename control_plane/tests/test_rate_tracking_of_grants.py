# SPDX-License-Identifier: Apache-2.0
"""Dequeue rate tracking behind a request/grant MAC, where registers are as old as the last frame.

000's pseudocode sees every MAP. Here the controller reads what the last frame that left brought.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_devices import Device, change
from test_rate_tracking import FRAME, MAP_US, MSR, TICK_US, Reference, array, departures, rates, rms

from docsis_control.law.rate_tracking import Counted, State, by_grants, resumed
from docsis_control.queue_managers.managers.codel import Codel
from docsis_control.queue_managers.managers.docsis_pie import DocsisPie

COUNTER = 2**32


class Flow:
    """A service flow: what the traffic manager counts at MAPs, and its registers."""

    def __init__(self) -> None:
        self.state = State.initial(rates())
        self.now_us = 5_000_000
        self.granted, self.met, self.acked = COUNTER - 10_000, COUNTER - 1, 0
        self.registers = (self.granted, self.met, self.acked)
        # The first reading may be of any age, and the first news of all that was since then.
        self.tick()
        self.map(1, 0)
        self.leave()
        self.tick()

    def map(self, granted_bytes: int, acked_req_bytes: int) -> None:
        self.granted = (self.granted + granted_bytes) % COUNTER
        self.acked = acked_req_bytes
        self.met = (self.met + (acked_req_bytes == 0)) % COUNTER

    def leave(self) -> None:
        self.registers = (self.granted, self.met, self.acked)

    def tick(self, elapsed_us: int = TICK_US) -> float:
        self.now_us += elapsed_us
        granted, met, acked = self.registers
        counted = Counted(array(granted), array(met), array(acked) > 0)
        self.state = by_grants(self.state, self.now_us, counted)
        return float(self.state.rate_estimate[0])


MAPS = st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 3)), min_size=1, max_size=8)


@given(st.lists(MAPS, max_size=40))
def test_follows_the_pseudocode_where_frames_leave(intervals: list[list[tuple[int, int]]]) -> None:
    exact, ours = Reference(rate_estimate=20_000_000), Flow()  # type: ignore[arg-type]
    exact.on_map(1, 0)
    exact.on_calculation()
    waited = False
    for maps in intervals:
        # No grant, no frame.
        for granted, acked in [(1, maps[0][1]), *maps]:
            exact.on_map(granted, acked)
            ours.map(granted, acked)
        ours.leave()
        # MAPs that say nothing of a service flow are not counted: an interval in which requests
        # have only begun to wait is not known to be one with requests throughout.
        exact.pending = exact.pending and waited
        exact.on_calculation()
        waited = maps[-1][1] > 0
        assert 8 * ours.tick() == pytest.approx(float(exact.rate_estimate), rel=1e-9)


@given(st.integers(1, 20))
def test_requests_that_wait_and_get_nothing_halve_the_estimate(ticks: int) -> None:
    flow = Flow()
    flow.map(20_000, FRAME)
    flow.leave()
    before = flow.tick()
    for _ in range(ticks):
        flow.map(0, FRAME)
        now = flow.tick()
        assert now == max(before / 2, 1.0)
        before = now


@given(st.integers(1, 400), st.integers(0, 30_000))
def test_what_nobody_asked_for_says_nothing_of_the_channel(ticks: int, unsolicited: int) -> None:
    """Such grants go on when nothing leaves: the next frame tells of all of them."""
    flow = Flow()
    for _ in range(ticks):
        flow.map(unsolicited, 0)
        assert flow.tick() == MSR
    flow.leave()
    assert flow.tick() == MSR


def test_an_idle_time_is_no_interval_in_which_requests_waited() -> None:
    flow = Flow()
    for _ in range(100):
        flow.tick()
    # MAPs that say nothing of it are not counted; then it asks, and waits for the rest.
    flow.map(FRAME, FRAME)
    flow.leave()
    assert flow.tick() == MSR
    flow.map(20_000, FRAME)
    flow.leave()
    assert flow.tick() == 0.75 * MSR


def test_requests_that_began_to_wait_are_seen_with_the_frame_that_tells() -> None:
    flow = Flow()
    for _ in range(100):
        flow.tick()
    # Granted before, and told of by a frame that leaves after the MAP which only acknowledges.
    flow.map(0, FRAME)
    flow.leave()
    assert flow.tick() == MSR
    flow.map(20_000, FRAME)
    flow.leave()
    assert flow.tick() == 0.75 * MSR


def test_registers_of_another_time_say_nothing() -> None:
    """Another queue manager had the service flow meanwhile: nothing wrote them."""
    device = Device(DocsisPie(rate_tracking=True), granted=True)
    device.tick(granted_bytes=1_000, acked_req_bytes=FRAME)
    device.tick(granted_bytes=21_000, acked_req_bytes=FRAME)
    change(device, Codel(), granted=True)
    device.tick(ticks=1_000, granted_bytes=21_000, acked_req_bytes=FRAME)
    change(device, DocsisPie(rate_tracking=True), granted=True)
    estimates = [
        device.tick(granted_bytes=granted, acked_req_bytes=FRAME)[1].rate_estimate[0]
        for granted in (21_000, 21_000, 30_000_000, 30_020_000, 30_040_000)
    ]
    assert estimates == pytest.approx([20e6, 20e6, 20e6, 15e6, 12.5e6])


def test_after_a_gap_the_next_news_is_a_beginning() -> None:
    flow = Flow()
    flow.map(10**8, FRAME)
    flow.leave()
    flow.state = resumed(flow.state)
    assert flow.tick(60_000_000) == MSR
    flow.map(10**6, FRAME)
    flow.leave()
    assert flow.tick() == MSR
    flow.map(20_000, FRAME)
    flow.leave()
    assert flow.tick() == 0.75 * MSR


def test_departures_elsewhere_and_grants_behind_a_mac() -> None:
    """The same readings, once with and once without one."""
    sent = [tick * 20_000 for tick in range(20)]
    behind, elsewhere = (Device(DocsisPie(rate_tracking=True), granted=way) for way in (1, 0))
    for left in sent:
        # 5 Mbit/s granted, and of what was sent 10.
        registers = {"granted_bytes": left // 2, "acked_req_bytes": FRAME, "dequeued_bytes": left}
        by_grant = behind.tick(left + 100_000, **registers)[1].rate_estimate[0]
        by_departure = elsewhere.tick(left + 100_000, **registers)[1].rate_estimate[0]
    assert by_grant == pytest.approx(5e6, rel=1e-3)
    assert by_departure == pytest.approx(10e6, rel=1e-3)


def tracked_estimates(seed: int, offset_us: int) -> Iterator[tuple[float, float]]:
    """The channel of 000's figures: the capacity and the estimate at each tick."""
    flow, next_tick = Flow(), TICK_US + offset_us
    left: Sequence[tuple[float, int, float]] = list(departures(seed))
    maps: dict[int, int] = {}
    for at, size, _ in left:
        maps[int(at // MAP_US)] = maps.get(int(at // MAP_US), 0) + size
    told = -1
    for at, _, capacity in left:
        while at >= next_tick:
            yield capacity, flow.tick()
            next_tick += TICK_US
        # A MAP tells of all that leaves in it, before it does.
        if int(at // MAP_US) != told:
            told = int(at // MAP_US)
            flow.map(maps[told], FRAME)
        flow.leave()


@pytest.mark.parametrize("offset_us", [200, 1_000, 2_000, 3_000])
def test_tracks_the_capacity_of_the_figures_wherever_ticks_are(offset_us: int) -> None:
    """An interval may have a MAP too much or too few: as by departures (`test_rate_tracking`)."""
    assert rms(tracked_estimates(1, offset_us)) < 0.08


def test_more_granted_is_never_less_rate() -> None:
    found = []
    for granted in range(0, 100_000, 5_000):
        flow = Flow()
        flow.map(1, FRAME)
        flow.leave()
        flow.tick()
        flow.map(granted, FRAME)
        flow.leave()
        found.append(flow.tick())
    assert all(one <= more for one, more in pairwise(found))
    assert np.isfinite(found).all()
