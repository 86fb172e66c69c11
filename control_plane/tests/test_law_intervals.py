# SPDX-License-Identifier: Apache-2.0
"""Ticks of the control loop at which the laws of a device run."""

import numpy as np
import pytest
from law_devices import DQ_TIME, TICK_US, Device, change

from docsis_control.law.fixed_point import PROB_ONE, from_prob
from docsis_control.law.schedule import Timetable
from docsis_control.queue_managers.managers.adaptive_red import AdaptiveRed
from docsis_control.queue_managers.managers.drop_tail import DropTail
from docsis_control.queue_managers.managers.pie import Pie


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


def test_what_a_tick_was_late_is_taken_off_the_next_interval() -> None:
    table = Timetable(np.array([16_000, 40_000]))
    passed = [table.passed(TICK_US).tolist() for _ in range(11)]
    assert all(one for one, _ in passed)
    # At 48, 80, 128 and 160 ms.
    assert [tick for tick, (_, other) in enumerate(passed, 1) if other] == [3, 5, 8, 10]
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


def test_each_service_flow_has_an_interval_of_its_own() -> None:
    slow, fast = ({"update_interval": f"{ms} ms"} for ms in (500, 100))
    device = Device(AdaptiveRed.model_validate(slow), AdaptiveRed.model_validate(fast))
    for tick in range(1, 41):
        _, seen = device.tick(tick, red_avg=100 << 16)
    # 640 ms.
    assert seen.state.drop_prob.tolist() == pytest.approx([0.1 * 0.9, 0.1 * 0.9**6])


def test_pie_of_several_intervals_is_pie_of_each() -> None:
    managements = [Pie.model_validate({"update_interval": f"{ms} ms"}) for ms in (16, 20, 48)]
    together, alone = Device(*managements), [Device(each) for each in managements]
    for tick in range(1, 60):
        settings, _ = together.tick(3_000 * tick, avg_dq_time=DQ_TIME)
        for column, device in enumerate(alone):
            one, _ = device.tick(3_000 * tick, avg_dq_time=DQ_TIME)
            for name in ("drop_prob", "qdelay_old", "burst_allowance"):
                assert getattr(settings, name)[column] == getattr(one, name)[0]
    assert len(set(settings.drop_prob.tolist())) == 3


def test_between_two_updates_the_pipeline_keeps_the_delay_of_the_last() -> None:
    device = Device(Pie.model_validate({"update_interval": "48 ms"}))
    found = []
    for tick in range(1, 8):
        settings, seen = device.tick(10_000 * tick, avg_dq_time=DQ_TIME)
        assert seen.qdelay[0] == pytest.approx(0.004 * tick, rel=1e-3)
        found.append(round(int(settings.qdelay_old[0]), -3))
    assert found == [0, 0, 12_000, 12_000, 12_000, 24_000, 24_000]


@pytest.mark.parametrize("management", [Pie, AdaptiveRed])
def test_a_change_does_not_put_an_update_off(management: type[Pie | AdaptiveRed]) -> None:
    made = management.model_validate({"update_interval": "80 ms"})
    device = Device(made)
    before, _ = device.tick(100_000, avg_dq_time=DQ_TIME, red_avg=1 << 36)
    change(device, made, DropTail())
    # Two ticks were missed on the way.
    after, _ = device.tick(200_000, ticks=3, avg_dq_time=DQ_TIME, red_avg=1 << 36)
    assert after.drop_prob[0] == before.drop_prob[0]
    after, _ = device.tick(200_000, avg_dq_time=DQ_TIME, red_avg=1 << 36)
    assert after.drop_prob[0] > before.drop_prob[0]
