# SPDX-License-Identifier: Apache-2.0
"""A device's laws together: each on its own service flows, and what a change keeps."""

from random import Random

import numpy as np
import pytest
from law_devices import DQ_TIME, EVERY, LAWS, Device, change, flow, loaded, readings

from docsis_control.law import docsis_pie
from docsis_control.law.docsis_pie import Status
from docsis_control.law.fixed_point import to_prob
from docsis_control.law.service_flows import DeviceLaw
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.managers.adaptive_red import AdaptiveRed
from docsis_control.queue_managers.managers.codel import Codel
from docsis_control.queue_managers.managers.codel_dt import CodelDt
from docsis_control.queue_managers.managers.docsis_pie import DocsisPie
from docsis_control.queue_managers.managers.drop_tail import DropTail
from docsis_control.queue_managers.managers.lred import Lred
from docsis_control.queue_managers.managers.pie import Pie


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
    # Some ticks are missed.
    for tick in sorted(random.sample(range(1, 180), 120)):
        dequeued = [was + random.randrange(60_000) for was in dequeued]
        registers = {
            "enqueued_bytes": [was + random.randrange(300_000) for was in dequeued],
            "dequeued_bytes": dequeued,
            "msr_tokens": [random.randrange(500_000) * 8_000_000 for _ in order],
            "data_state": [random.choice((0, (1 << 2) | 1)) for _ in order],
            "avg_dq_time": [random.randrange(1, 2 * DQ_TIME) for _ in order],
            "requests_met": [random.randrange(2) for _ in order],
            "red_avg": [random.randrange(625_000 << 16) for _ in order],
            "arrivals": [random.randrange(3) for _ in order],
            "dequeued_packets": [random.randrange(100) for _ in order],
            "enqueued_packets": [random.randrange(100, 300) for _ in order],
            "departure_rate": [
                (random.randrange(4) << 40) | (random.randrange(1, 9_000) << 16) for _ in order
            ],
        }
        settings, seen = together.update(readings(tick, **registers), tick)
        for column, law in enumerate(alone):
            own = {name: [values[column]] for name, values in registers.items()}
            one, found = law.update(readings(tick, **own), tick)
            for name in ("drop_prob", "qdelay_old", "burst_allowance", "control_state"):
                assert getattr(settings, name)[column] == getattr(one, name)[0], name
            for name in ("backlog", "msr_tokens", "msr_bucket", "qdelay", "rate_estimate"):
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


def test_adaptive_red_leaves_an_idle_queue_alone() -> None:
    device = Device(AdaptiveRed())
    for _ in range(40):
        _, seen = device.tick(5_000, red_avg=600_000 << 16)
    assert seen.state.drop_prob[0] == 0.125
    for _ in range(400):
        _, seen = device.tick(5_000, red_avg=600_000 << 16)
    assert seen.state.drop_prob[0] == 0.125


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


@pytest.mark.parametrize("management", LAWS)
def test_another_generation_starts_the_same_law_afresh(management: QueueManagement) -> None:
    """As from PIE to PIE with flow queues: what the pipeline has measured is gone, too."""
    device, before = loaded(management, DocsisPie())
    law = DeviceLaw([flow(1, management, generation=1), flow(2, DocsisPie())])
    law.follow(device.law)
    fresh = DeviceLaw([flow(1, management)])
    seen = law.observe(readings(device.now, enqueued_bytes=[0, 0])).state
    alone = fresh.observe(readings(device.now, enqueued_bytes=[0])).state
    assert seen.drop_prob[0] == alone.drop_prob[0] != before.state.drop_prob[0]
    # The other one goes on.
    assert seen.drop_prob[1] == before.state.drop_prob[1] > 0


def test_the_pipelines_transitions_stay_acknowledged_under_another_law() -> None:
    """A change before DOCSIS-PIE comes back does not count as a burst."""
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
        device.law.observe(readings(device.now, enqueued_bytes=[500_000] * len(LAWS)))
    one, another = device.tick(1_000), other.tick(1_000)
    assert one[0].drop_prob.tolist() == another[0].drop_prob.tolist()
    assert one[1].rate_estimate[1] == another[1].rate_estimate[1]


def test_a_device_without_service_flows() -> None:
    settings, seen = DeviceLaw([]).update(readings(1, enqueued_bytes=[]), 1)
    assert len(settings.drop_prob) == len(seen.qdelay) == 0


def test_behind_a_mac_the_tokens_for_what_waits_are_spent() -> None:
    """They go with the request, though the pipeline's register counts frames that left."""
    flows = [flow(1, DocsisPie()), flow(2, DocsisPie(), granted=True)]
    backlog = [50_000, 50_000]
    # A burst that is left, the outstanding requests of a modem that uses its rate, and nothing.
    for tokens, left in ((400_000, 350_000), (10_000, 0), (0, 0)):
        seen = DeviceLaw(flows).observe(
            readings(1, enqueued_bytes=backlog, msr_tokens=[tokens * 8_000_000] * 2)
        )
        assert seen.msr_tokens.tolist() == [tokens, left]
        assert seen.msr_bucket.tolist() == [tokens, tokens], "it spends a frame's when that leaves"
        # RFC 8034, A.2, with the tokens that are left.
        at_peak = [min(50_000, each) for each in (tokens, left)]
        expected = [each * 8 / 25e6 + (50_000 - each) * 8 / 20e6 for each in at_peak]
        assert seen.qdelay == pytest.approx(expected)
