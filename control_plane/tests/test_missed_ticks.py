# SPDX-License-Identifier: Apache-2.0
"""Ticks of the control loop that were missed, against the same run with none missed."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_devices import DQ_TIME, LAWS, PACKET_RATE, TICK_US, flow, readings

from docsis_control.law import docsis_pie, missed
from docsis_control.law.docsis_pie import Status
from docsis_control.law.fixed_point import PROB_ONE
from docsis_control.law.service_flows import DeviceLaw
from docsis_control.queue_managers.managers.adaptive_red import AdaptiveRed
from docsis_control.queue_managers.managers.docsis_pie import DocsisPie
from docsis_control.queue_managers.managers.pie import Pie
from docsis_control.queue_managers.managers.pie_002 import Pie002

SETTINGS = ("drop_prob", "qdelay_old", "burst_allowance", "control_state")
MSR = 20_000_000 / 8
"""Bytes per second of `law_devices.flow`."""

EVERY = (*LAWS, Pie.model_validate({"update_interval": "48 ms"}))
FAST_RED = AdaptiveRed.model_validate({"update_interval": "100 ms"})

ticks_seen = st.sets(st.integers(2, 59), min_size=1).map(lambda seen: [1, *sorted(seen), 60])


def line(knots: Sequence[int], values: Sequence[int]) -> dict[int, int]:
    """Whole numbers on the lines between them, by tick, rounded down as the law does."""
    found = {knots[0]: values[0]}
    for (first, last), (low, high) in zip(pairwise(knots), pairwise(values), strict=True):
        for tick in range(first + 1, last + 1):
            found[tick] = low + (high - low) * (tick - first) // (last - first)
    return found


def state(law: DeviceLaw) -> docsis_pie.State:
    (only,) = law._laws
    found: Any = only
    return found._state  # type: ignore[no-any-return]


@given(seen=ticks_seen, data=st.data())
def test_where_the_queue_moved_evenly_nothing_is_different(seen: list[int], data: Any) -> None:
    """Between two readings the delay, what left and the averages are on a line: any law."""
    amounts = st.lists(st.integers(0, 620_000), min_size=len(seen), max_size=len(seen))
    backlog = line(seen, data.draw(amounts, label="backlog"))
    left = line(seen, np.cumsum(data.draw(amounts, label="left")).tolist())
    met = line(seen, np.cumsum([n % 5 for n in data.draw(amounts, label="met")]).tolist())
    average = line(seen, [n << 16 for n in data.draw(amounts, label="average")])
    managements: tuple[Any, ...] = (*EVERY, FAST_RED)
    flows = [flow(i + 1, each) for i, each in enumerate(managements)]

    def run(ticks: Sequence[int]) -> Any:
        law, found = DeviceLaw(flows), None
        for tick in ticks:
            registers = {
                "dequeued_bytes": left[tick] & 0xFFFFFFFF,
                "enqueued_bytes": (left[tick] + backlog[tick]) & 0xFFFFFFFF,
                "avg_dq_time": DQ_TIME,
                "requests_met": met[tick],
                "red_avg": average[tick],
                # The data path went to ACTIVE before the first tick.
                "data_state": (1 << 2) | Status.ACTIVE,
            }
            given = {name: [value] * len(flows) for name, value in registers.items()}
            found = law.update(readings(tick, **given), tick)
        return found

    whole, with_gaps = run(range(1, 61)), run(seen)
    for name in SETTINGS:
        # A microsecond and two units of Q4.28 are what roundings add up to.
        tolerance = {"drop_prob": 2, "qdelay_old": 1}.get(name, 0)
        one, other = getattr(whole[0], name), getattr(with_gaps[0], name)
        assert (abs(one - other) <= tolerance).all(), name
    assert whole[1].qdelay == pytest.approx(with_gaps[1].qdelay, abs=1e-12)
    assert np.array_equal(whole[1].state.status, with_gaps[1].state.status)


@given(seen=ticks_seen, delays=st.lists(st.integers(0, 12_000), min_size=60, max_size=60))
def test_elsewhere_the_error_is_that_of_the_trapezoidal_rule(
    seen: list[int], delays: list[int]
) -> None:
    """The delay goes anywhere; the probability stays where one factor scales the steps."""
    # Around the target, so that 60 ticks do not leave the range in which the factor is 1/2.
    backlog = {tick: 20_000 + delay for tick, delay in enumerate(delays, 1)}
    assumed = line(seen, [backlog[tick] for tick in seen])
    off = sum(abs(backlog[tick] - assumed[tick]) for tick in backlog) / MSR

    def run(ticks: Sequence[int]) -> float:
        law = DeviceLaw([flow(1, DocsisPie())])
        (only,) = law._laws
        known: Any = only
        start = replace(known._state, drop_prob=np.full(1, 0.05), qdelay_old=np.full(1, 0.008))
        known._state = start
        for tick in ticks:
            law.update(readings(tick, enqueued_bytes=[backlog[tick]]), tick)
            assert 0.01 < state(law).drop_prob[0] < 0.1
        return float(state(law).drop_prob[0])

    rounded = 60 / MSR
    assert abs(run(range(1, 61)) - run(seen)) <= 0.5 * docsis_pie.A * (off + rounded) + 1e-12


def test_without_making_up_for_them_missed_ticks_would_show() -> None:
    """Ten ticks at 40 ms of delay, of which eight are missed, are ten steps and not two."""
    found = []
    for ticks in (range(1, 12), (1, 11)):
        law = DeviceLaw([flow(1, DocsisPie())])
        for tick in ticks:
            settings, _ = law.update(readings(tick, enqueued_bytes=[100_000]), tick)
        found.append(int(settings.drop_prob[0]))
    assert found[0] == found[1] > 5 * 0.25 * 0.03 / 2048 * PROB_ONE


def test_a_burst_lasts_as_long_whatever_is_missed() -> None:
    """The data path went to ACTIVE in tick 3, which is missed; 142 ms from there are nine ticks."""
    found = []
    for ticks in (range(1, 14), (1, 2, 6, 10, 13)):
        law, allowances = DeviceLaw([flow(1, DocsisPie())]), {}
        for tick in ticks:
            data_state = (1 << 2) | Status.ACTIVE if tick >= 3 else 0
            settings, _ = law.update(
                readings(tick, enqueued_bytes=[100_000], data_state=[data_state]), tick
            )
            allowances[tick] = int(settings.burst_allowance[0])
        found.append((allowances, int(settings.drop_prob[0])))
    (whole, probability), (with_gaps, same) = found
    assert with_gaps == {tick: whole[tick] for tick in with_gaps}
    assert with_gaps[6] == 142_000 - 4 * TICK_US
    assert probability == same > 0


def test_quiet_time_is_counted_whatever_is_missed() -> None:
    """ACTIVE to QUIESCENT to INACTIVE takes 63 quiet intervals behind the burst."""
    became = []
    for ticks in (range(1, 90), [*range(1, 89, 4), 89]):
        law = DeviceLaw([flow(1, DocsisPie())])
        for tick in ticks:
            _, seen = law.update(
                readings(tick, enqueued_bytes=[0], data_state=[(1 << 2) | Status.ACTIVE]), tick
            )
            if seen.state.status[0] == Status.INACTIVE:
                became.append(tick)
                break
    whole, with_gaps = became
    assert whole <= with_gaps < whole + 4


@pytest.mark.parametrize("management", [DocsisPie(), DocsisPie(rate_tracking=True), Pie()])
@pytest.mark.parametrize("reconnected", [False, True])
def test_behind_a_gap_nothing_is_integrated(management: Any, reconnected: bool) -> None:
    """One step from the reading now, and no trend; the state is what it was."""
    law = DeviceLaw([flow(1, management)])

    def at(tick: int, backlog: int) -> Any:
        # At the sustained rate.
        left = 40_000 * tick
        return readings(
            tick, dequeued_bytes=[left], enqueued_bytes=[left + backlog], avg_dq_time=[DQ_TIME]
        )

    for tick in range(1, 20):
        law.update(at(tick, 80_000), tick)
    probability = state(law).drop_prob[0]
    assert probability > 0
    if reconnected:
        law.resume()
    # A new loop counts from its own beginning.
    next_tick = 1 if reconnected else 19 + missed.LONGEST + 1
    now = at(600, 500_000)
    _, found = law.update(now, next_tick)
    target = 0.015 if isinstance(management, Pie) else 0.01
    alpha = 0.125 if isinstance(management, Pie) else 0.25
    step = alpha * (found.qdelay[0] - target)
    assert state(law).drop_prob[0] - probability == pytest.approx(
        step * _scale(probability), rel=1e-9
    )
    # And from there on as ever.
    law.update(now, next_tick + 1)
    assert state(law).drop_prob[0] > probability


@pytest.mark.parametrize("reconnected", [False, True])
def test_behind_a_gap_pie_of_002_has_no_trend(reconnected: bool) -> None:
    management = Pie002.model_validate({})
    law = DeviceLaw([flow(1, management)])

    def at(tick: int, packets: int) -> Any:
        return readings(
            tick,
            arrivals=[tick],
            dequeued_packets=[100 * tick],
            enqueued_packets=[100 * tick + packets],
            departure_rate=[PACKET_RATE if tick else 0],
        )

    law.update(at(0, 0), 0)
    for tick in range(1, 20):
        law.update(at(tick, 20), tick)
    found: Any = law._laws[0]
    probability = found._state.drop_prob[0]
    assert 0 < probability < 0.5
    if reconnected:
        law.resume()
    next_tick = 1 if reconnected else 19 + missed.LONGEST + 1
    _, seen = law.update(at(600, 60), next_tick)
    step = management.alpha * (seen.qdelay[0] - management.target / 1e9)
    assert found._state.drop_prob[0] - probability == pytest.approx(step, rel=1e-9)


def _scale(probability: float) -> float:
    below = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    factors = (1 / 2048, 1 / 512, 1 / 128, 1 / 32, 1 / 8, 1 / 2)
    return next(f for b, f in zip(below, factors, strict=True) if probability < b)


def test_a_second_is_made_up_for() -> None:
    law = DeviceLaw([flow(1, DocsisPie())])
    whole = DeviceLaw([flow(1, DocsisPie())])
    for tick in range(1, missed.LONGEST + 2):
        settings, _ = whole.update(readings(tick, enqueued_bytes=[100_000]), tick)
    law.update(readings(1, enqueued_bytes=[100_000]), 1)
    found, _ = law.update(
        readings(missed.LONGEST + 1, enqueued_bytes=[100_000]), missed.LONGEST + 1
    )
    assert found.drop_prob[0] == settings.drop_prob[0] > 0


def test_a_tick_that_is_late_because_of_a_change_is_made_up_for() -> None:
    """Only service flows that were there are made up for; one that has just come has no past."""
    flows = [flow(1, DocsisPie()), flow(2, DocsisPie())]
    law, whole = DeviceLaw(flows[:1]), DeviceLaw(flows[:1])
    for one in (law, whole):
        one.update(readings(1, enqueued_bytes=[100_000]), 1)
    for tick in range(2, 7):
        expected, _ = whole.update(readings(tick, enqueued_bytes=[100_000]), tick)
    after = DeviceLaw([flows[1], flows[0]])
    after.follow(law)
    found, _ = after.update(readings(6, enqueued_bytes=[0, 100_000]), 6)
    assert found.drop_prob[1] == expected.drop_prob[0] > 0
    assert found.drop_prob[0] == 0


def test_one_that_has_just_come_is_not_given_the_past_of_another() -> None:
    """Whatever others read before, all ticks that were missed see what it reads now."""
    flows = [flow(1, DocsisPie()), flow(2, DocsisPie())]
    law, alone = DeviceLaw(flows[:1]), DeviceLaw(flows[1:])
    law.update(readings(1, enqueued_bytes=[0]), 1)
    for tick in range(2, 7):
        expected, _ = alone.update(readings(tick, enqueued_bytes=[400_000]), tick)
    after = DeviceLaw([flows[1], flows[0]])
    after.follow(law)
    found, _ = after.update(readings(6, enqueued_bytes=[400_000, 0]), 6)
    assert found.drop_prob[0] == expected.drop_prob[0] > 0
