# SPDX-License-Identifier: Apache-2.0
"""A device's laws together: which runs when, on which service flows, and what a change keeps."""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from docsis_control.law import docsis_pie
from docsis_control.law.docsis_pie import Status
from docsis_control.law.fixed_point import PROB_ONE, from_prob, to_prob
from docsis_control.law.readings import Readings, Settings
from docsis_control.law.schedule import Ticks, Timetable
from docsis_control.law.service_flows import DeviceLaw, Observation
from docsis_control.plan import ServiceFlow
from docsis_control.queue_managers.models import (
    AdaptiveRed,
    Codel,
    CodelDt,
    DocsisPie,
    DropTail,
    Lred,
    Pie,
    QueueManagement,
)

EVERY = (
    DocsisPie(),
    DropTail(),
    Pie(),
    AdaptiveRed(),
    DocsisPie(rate_tracking=True),
    Codel(),
    CodelDt(),
    Lred(),
)
FIELDS = ("enqueued_bytes", "dequeued_bytes", "msr_tokens", "msr_updated", "data_state")
NEEDED = ("avg_dq_time", "requests_met", "red_avg")
TICK_US = 16_000
DQ_TIME = int(6553.6 * 256)  # 2^14 bytes at 20 Mbit/s.


def flow(sfid: int, management: QueueManagement, **changes: Any) -> ServiceFlow:
    made = ServiceFlow(
        index=sfid,
        port=1,
        direction="upstream",
        modem=1,
        modem_name="cm1",
        reference=sfid,
        sfid=sfid,
        class_name="",
        primary=False,
        traffic_priority=0,
        max_sustained_rate=20_000_000,
        peak_rate=25_000_000,
        max_burst=500_000,
        min_reserved_rate=0,
        assumed_packet_size=64,
        channel_rate=100_000_000,
        initial_tokens=500_000,
        buffer_size=625_000,
        max_frame=1522,
        management=management,
        latency_target_us=15_000 if isinstance(management, Pie) else 10_000,
        tos_and=255,
        tos_or=0,
    )
    return replace(made, **changes)


def readings(tick: float, **registers: list[int]) -> Readings:
    """At a tick; registers that are not given are 0."""
    count = len(next(iter(registers.values())))
    now_us = int(10**9 + tick * TICK_US)
    registers = {"msr_updated": [now_us] * count, **registers}
    return Readings(
        now_us,
        *(np.array(registers.get(name, [0] * count), np.int64) for name in FIELDS + NEEDED),
    )


class Device:
    """Some service flows with the same backlog, tick by tick."""

    def __init__(self, *managements: QueueManagement) -> None:
        self.law = DeviceLaw([flow(i + 1, each) for i, each in enumerate(managements)])
        self.count = len(managements)
        self.now = 0.0

    def tick(self, backlog: int = 0, ticks: float = 1.0, **registers: int) -> tuple[Settings, Any]:
        self.now += ticks
        given = {name: [value] * self.count for name, value in registers.items()}
        return self.law.update(readings(self.now, enqueued_bytes=[backlog] * self.count, **given))


def test_docsis_pie_alone_is_rfc_8034() -> None:
    device = Device(DocsisPie(), DocsisPie(), DocsisPie())
    parameters = docsis_pie.Parameters(np.full(3, 20e6 / 8), np.full(3, 25e6 / 8), np.full(3, 0.01))
    state = docsis_pie.State.initial(3)
    for tick in range(100):
        backlog = 1_000 * tick
        settings, seen = device.tick(backlog)
        state = docsis_pie.calculate_drop_prob(parameters, state, np.full(3, backlog * 8 / 20e6))
        assert seen.state.drop_prob.tolist() == state.drop_prob.tolist()
        assert settings.drop_prob.tolist() == to_prob(state.drop_prob).tolist()
    assert state.drop_prob.any()


def test_every_service_flow_gets_what_it_would_get_alone() -> None:
    random = Random(3)
    order = [random.choice(EVERY) for _ in range(40)]
    together = DeviceLaw([flow(i + 1, each) for i, each in enumerate(order)])
    alone = [DeviceLaw([flow(i + 1, each)]) for i, each in enumerate(order)]
    dequeued = [0] * len(order)
    probabilities: set[float] = set()
    for tick in range(1, 120):
        dequeued = [was + random.randrange(60_000) for was in dequeued]
        registers = {
            "enqueued_bytes": [was + random.randrange(300_000) for was in dequeued],
            "dequeued_bytes": dequeued,
            "msr_tokens": [random.randrange(500_000) * 8_000_000 for _ in order],
            "data_state": [random.choice((0, (1 << 2) | 1)) for _ in order],
            "avg_dq_time": [random.randrange(1, 2 * DQ_TIME) for _ in order],
            "requests_met": [random.randrange(2) for _ in order],
            "red_avg": [random.randrange(625_000 << 16) for _ in order],
        }
        settings, seen = together.update(readings(tick, **registers))
        for column, law in enumerate(alone):
            own = {name: [values[column]] for name, values in registers.items()}
            one, found = law.update(readings(tick, **own))
            for name in ("drop_prob", "qdelay_old", "burst_allowance", "control_state"):
                assert getattr(settings, name)[column] == getattr(one, name)[0], name
            for name in ("backlog", "msr_tokens", "qdelay", "rate_estimate"):
                assert np.array_equal(
                    getattr(seen, name)[column], getattr(found, name)[0], equal_nan=True
                ), name
            assert seen.state.status[column] == found.state.status[0]
        probabilities |= set(seen.state.drop_prob.tolist())
    assert len(probabilities) > 100


def test_sees_the_delay_as_the_manager_does() -> None:
    device = Device(*EVERY)
    _, seen = device.tick(100_000, avg_dq_time=2 * DQ_TIME)
    by_manager = dict(zip(EVERY, zip(seen.qdelay, seen.rate_estimate, strict=True), strict=True))
    # No tokens: 100,000 bytes at 20 Mbit/s; the departures were half as fast.
    management: QueueManagement
    for management in (DocsisPie(), DropTail(), AdaptiveRed(), Codel(), Lred()):
        delay, rate = by_manager[management]
        assert delay == pytest.approx(0.04)
        assert np.isnan(rate)
    for management in (Pie(), CodelDt()):
        delay, rate = by_manager[management]
        assert delay == pytest.approx(0.08, rel=1e-6)
        assert rate == pytest.approx(10e6, rel=1e-6)
    assert by_manager[DocsisPie(rate_tracking=True)] == (pytest.approx(0.04), 20e6)


def test_without_a_law_there_is_no_probability() -> None:
    device = Device(DropTail(), Codel(), CodelDt(), Lred())
    for _ in range(40):
        settings, seen = device.tick(600_000, avg_dq_time=DQ_TIME)
        assert not settings.drop_prob.any()
        assert set(seen.state.status.tolist()) == {Status.INACTIVE}


def test_tracking_lengthens_the_delay_on_a_congested_channel() -> None:
    device = Device(DocsisPie(), DocsisPie(rate_tracking=True))
    sent = 0
    for _ in range(20):
        sent += 10_000
        _, seen = device.tick(sent + 100_000, dequeued_bytes=sent)
    assert seen.rate_estimate[1] == pytest.approx(5e6, rel=1e-3)
    assert seen.qdelay.tolist() == pytest.approx([0.04, 0.16], rel=1e-3)


def pie_updates(intervals_ms: int, jitter_us: int = 0, ticks: int = 13) -> list[int]:
    """The ticks at which PIE ran: its burst allowance went down."""
    device = Device(
        Pie.model_validate({"update_interval": f"{intervals_ms} ms", "max_burst": "10 s"})
    )
    allowance, ran = 10_000_000, []
    for tick in range(1, ticks):
        at = tick + (jitter_us if tick % 2 else -jitter_us) / TICK_US
        settings, _ = device.tick(100_000, ticks=at - device.now, avg_dq_time=DQ_TIME)
        if settings.burst_allowance[0] != allowance:
            assert allowance - settings.burst_allowance[0] == intervals_ms * 1_000
            allowance = int(settings.burst_allowance[0])
            ran.append(tick)
    return ran


def test_a_law_runs_at_the_first_tick_at_which_its_interval_has_passed() -> None:
    assert pie_updates(16) == list(range(1, 13))
    assert pie_updates(20) == [2, 3, 4, 5, 7, 8, 9, 10, 12]
    assert pie_updates(48) == [3, 6, 9, 12]


@pytest.mark.parametrize("jitter_us", [100, 5_000])
def test_jitter_takes_no_update_from_a_law_that_runs_at_every_tick(jitter_us: int) -> None:
    assert pie_updates(16, jitter_us) == list(range(1, 13))


def test_intervals_that_were_missed_are_not_made_up_for() -> None:
    ticks, table = Ticks(), Timetable(np.array([16_000, 40_000]))
    assert ticks.step(1_000_000) == TICK_US
    assert table.passed(TICK_US).tolist() == [True, False]
    step = ticks.step(1_000_000 + 10 * TICK_US + 3_000)
    assert step == 10 * TICK_US
    assert table.passed(step).tolist() == [True, True]
    # 176 ms have gone: the next of 40 ms is at 200.
    assert table.remaining.tolist() == [16_000, 24_000]


def test_adaptive_red_adapts_every_half_second() -> None:
    device = Device(AdaptiveRed())
    found = []
    for tick in range(1, 70):
        settings, seen = device.tick(tick, red_avg=600_000 << 16)
        found.append(float(seen.state.drop_prob[0]))
        assert from_prob(settings.drop_prob)[0] == pytest.approx(found[-1], abs=1 / PROB_ONE)
    # 500 ms are 31.25 ticks, and 1,000 ms 62.5.
    assert found == [0.1] * 31 + [0.125] * 31 + [0.15625] * 7


def test_adaptive_red_leaves_an_idle_queue_alone() -> None:
    device = Device(AdaptiveRed())
    for _ in range(40):
        _, seen = device.tick(5_000, red_avg=600_000 << 16)
    assert seen.state.drop_prob[0] == 0.125
    for _ in range(400):
        _, seen = device.tick(5_000, red_avg=600_000 << 16)
    assert seen.state.drop_prob[0] == 0.125


def change(device: Device, *managements: QueueManagement) -> None:
    law = DeviceLaw([flow(i + 1, each) for i, each in enumerate(managements)])
    law.follow(device.law)
    device.law, device.count = law, len(managements)


def loaded(*managements: QueueManagement) -> tuple[Device, Observation]:
    """After so many ticks that each law has a probability of its own."""
    device, sent = Device(*managements), 0
    for tick in range(60):
        sent += 20_000
        _, seen = device.tick(
            sent + 3_000 * tick, dequeued_bytes=sent, avg_dq_time=DQ_TIME, red_avg=1 << 36
        )
    return device, seen


LAWS = (DocsisPie(), DocsisPie(rate_tracking=True), Pie(), AdaptiveRed())


@pytest.mark.parametrize("management", LAWS)
def test_a_change_keeps_the_law_of_who_keeps_its_algorithm(management: QueueManagement) -> None:
    device, before = loaded(*LAWS)
    column = LAWS.index(management)
    probability = before.state.drop_prob[column]
    assert probability > 0
    law = DeviceLaw([flow(9, DropTail()), flow(column + 1, management, buffer_size=400_000)])
    law.follow(device.law)
    idle = readings(device.now, enqueued_bytes=[0, 0])
    assert law.observe(idle).state.drop_prob.tolist() == [0, probability]
    if management == DocsisPie(rate_tracking=True):
        assert law.observe(idle).rate_estimate[1] == before.rate_estimate[column] < 11e6


@pytest.mark.parametrize("management", LAWS)
@pytest.mark.parametrize("other", LAWS)
def test_another_algorithm_starts_afresh(
    management: QueueManagement, other: QueueManagement
) -> None:
    if management == other:
        return
    device, _ = loaded(management, DocsisPie())
    change(device, other, DocsisPie())
    settings, _ = device.tick(0)
    fresh, _ = Device(other, DocsisPie()).tick(0)
    assert settings.drop_prob[0] == fresh.drop_prob[0]
    assert settings.burst_allowance[0] == fresh.burst_allowance[0]


def test_the_pipelines_transitions_stay_acknowledged_under_another_law() -> None:
    """What happened before the change is no burst when DOCSIS-PIE comes back."""
    device = Device(DocsisPie(), DocsisPie())
    settings, _ = device.tick(0, data_state=(4 << 2) | Status.QUIESCENT)
    assert (settings.control_state >> 2).tolist() == [4, 4]
    change(device, Pie(), DropTail())
    # The data path moved once more before the change was in force.
    settings, _ = device.tick(0, data_state=(5 << 2) | Status.ACTIVE)
    assert (settings.control_state >> 2).tolist() == [5, 5]
    change(device, DocsisPie(), DocsisPie())
    settings, seen = device.tick(0, data_state=(5 << 2) | Status.ACTIVE)
    assert settings.control_state.tolist() == [5 << 2, 5 << 2]
    assert seen.state.burst_allowance.tolist() == [0, 0]


def test_a_restart_forgets_all() -> None:
    device, _ = loaded(*LAWS)
    device.law.restart()
    settings, _ = device.tick(0)
    fresh, _ = Device(*LAWS).tick(0)
    for name in ("drop_prob", "qdelay_old", "burst_allowance", "control_state"):
        assert getattr(settings, name).tolist() == getattr(fresh, name).tolist()


def test_to_look_changes_nothing() -> None:
    (device, _), (other, _) = loaded(*LAWS), loaded(*LAWS)
    for _ in range(50):
        device.law.observe(readings(device.now, enqueued_bytes=[500_000] * 4))
    one, another = device.tick(1_000), other.tick(1_000)
    assert one[0].drop_prob.tolist() == another[0].drop_prob.tolist()
    assert one[1].rate_estimate[1] == another[1].rate_estimate[1]


def test_a_device_without_service_flows() -> None:
    settings, seen = DeviceLaw([]).update(readings(1, enqueued_bytes=[]))
    assert len(settings.drop_prob) == len(seen.qdelay) == 0
