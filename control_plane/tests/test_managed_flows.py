# SPDX-License-Identifier: Apache-2.0
"""Service flows under queue managements: who manages which, and what the pipeline gets of it."""

from fractions import Fraction
from typing import Any

import pytest

from docsis_control.config.models import MAX_FRAME, KeyedError
from docsis_control.numbers import GENERATIONS, SUB_QUEUES, FlowKey, NoRoomError, Numbers
from docsis_control.p4rt.entities import table_updates
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.plan import Deployment, Role, ServiceFlow
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.document import changed, from_mapping
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.managers.adaptive_red import AdaptiveRed
from docsis_control.queue_managers.names import Preset, QueueManager
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.queue_managers.table_entries import fixed, reciprocal
from docsis_control.tables import TableEntry
from docsis_control.topology import Topology

UP: FlowKey = (1, "upstream", 1)
DOWN: FlowKey = (1, "downstream", 2)


def upstream(deployment: Deployment) -> ServiceFlow:
    (flow,) = deployment.device(Role.CABLE_MODEM).service_flows
    return flow


def entry(deployment: Deployment, table: str, role: Role = Role.CABLE_MODEM) -> TableEntry:
    """The one entry of a table."""
    (found,) = [e for e in deployment.device(role).tables if e.table == table]
    return found


def set_queue(deployment: Deployment) -> Any:
    return entry(deployment, "FrameIngress.service_flow_queue.service_flow").params


def managed(before: Deployment, choice: Preset | QueueManagement) -> Deployment:
    """Its upstream service flow under another queue management."""
    management = PRESETS[choice] if isinstance(choice, Preset) else choice
    return deploy(before.topology, before.upstream, managers={UP: management}, before=before)


@pytest.mark.parametrize("preset", Preset)
def test_the_programs_take_every_preset_both_ways(
    topology: Topology, pipelines: dict[str, Pipeline], preset: Preset
) -> None:
    deployment = deploy(topology, preset, preset)
    for plan in deployment.devices:
        updates = list(table_updates(pipelines[plan.role.value], plan.tables))
        assert len(updates) == len(plan.tables)
    flow = upstream(deployment)
    assert flow.management == PRESETS[preset]
    assert flow.queue_manager is PRESETS[preset].queue_manager
    assert set_queue(deployment)["queue_manager"] == flow.queue_manager
    queues = PRESETS[preset].flow_queues
    assert set_queue(deployment)["flow_queuing"] == int(queues is not None)
    assert (flow.sub_queues is None) == (queues is None)
    # The CMTS's group flow is nobody's but drop tail's.
    assert deployment.device(Role.CMTS).service_flows[-1].queue_manager is QueueManager.DROP_TAIL


def test_laws_are_for_those_that_the_controller_has_a_part_in(topology: Topology) -> None:
    def controlled(preset: Preset) -> bool:
        return upstream(deploy(topology, preset)).controlled

    assert all(
        map(
            controlled,
            (
                Preset.DOCSIS_PIE,
                Preset.DOCSIS_PIE_RATE_TRACKING,
                Preset.DOCSIS_PIE_2014,
                Preset.PIE,
                Preset.PIE_002,
                Preset.SFQ_PIE,
                Preset.ADAPTIVE_RED,
            ),
        )
    )
    for preset in (Preset.DROP_TAIL, Preset.CODEL, Preset.CODEL_DT, Preset.LRED, Preset.SFQ):
        assert not controlled(preset)


def test_downstream_is_as_configured_unless_it_is_chosen(topology: Topology) -> None:
    def of(deployment: Deployment) -> ServiceFlow:
        return deployment.device(Role.CMTS).service_flows[0]

    assert of(deploy(topology, Preset.CODEL)).queue_manager is QueueManager.DROP_TAIL
    chosen = deploy(topology, Preset.CODEL, Preset.LRED)
    assert of(chosen).queue_manager is QueueManager.LRED
    assert upstream(chosen).queue_manager is QueueManager.CODEL
    assert entry(chosen, "FrameEgress.lred.parameters", Role.CMTS).params["min_threshold"] > 0


def test_a_management_says_how_long_the_queue_may_be(topology: Topology) -> None:
    flow = upstream(deploy(topology, Preset.CODEL))
    own = flow.buffer_size
    rate = flow.max_sustained_rate

    def with_buffer(text: str) -> int:
        return upstream(
            deploy(topology, changed(PRESETS[Preset.CODEL], {"buffer": text}))
        ).buffer_size

    assert with_buffer("100 ms") == rate // 80
    assert with_buffer("64 KB") == 64_000
    assert with_buffer("100 us") == MAX_FRAME
    assert upstream(deploy(topology, Preset.SFQ)).buffer_size == own


def test_targets_in_the_service_flows_entry(topology: Topology) -> None:
    assert set_queue(deploy(topology, Preset.DOCSIS_PIE))["latency_target"] == 10_000
    other = from_mapping({"algorithm": "docsis-pie", "latency_target": "7 ms"})
    assert set_queue(deploy(topology, other))["latency_target"] == 7_000
    assert set_queue(deploy(topology, Preset.SFQ_PIE))["latency_target"] == 45_000
    assert set_queue(deploy(topology, Preset.PIE_002))["latency_target"] == 15_000
    assert set_queue(deploy(topology, Preset.DOCSIS_PIE_2014))["latency_target"] == 15_000


def test_entries_of_each_algorithm(topology: Topology) -> None:
    codel = entry(deploy(topology, Preset.SFQ_CODEL), "FrameEgress.codel.parameters")
    assert codel.params == {"latency_target": 50_000, "control_interval": 200_000}
    codel_dt = entry(deploy(topology, Preset.CODEL_DT), "FrameIngress.codel_dt.parameters")
    assert codel_dt.params == {"latency_target": 20_000, "control_interval": 150_000}
    codel_002 = deploy(topology, Preset.CODEL_002)
    arrival = entry(codel_002, "FrameIngress.codel_002.parameters")
    assert arrival.params == {"control_interval": 100_000}
    departure = entry(codel_002, "FrameEgress.codel_002.parameters")
    assert departure.params == {"latency_target": 20_000, "control_interval": 100_000}
    pie_002 = entry(deploy(topology, Preset.PIE_002), "FrameEgress.pie_002.parameters")
    assert pie_002.params == {"dq_threshold": 16, "max_burst": 142_000}
    red = entry(deploy(topology, Preset.ADAPTIVE_RED), "FrameIngress.adaptive_red.parameters")
    # The thresholds are parts of a buffer of 625,000 bytes.
    assert red.params == {
        "min_threshold": 31_250,
        "max_threshold": 312_500,
        "weight": 131,
        "threshold_reciprocal": 2**32 // 281_250,
    }
    lred = entry(deploy(topology, Preset.LRED), "FrameEgress.lred.parameters")
    assert lred.action == "set_sojourn_curve"
    assert lred.params == {
        "min_threshold": 200_000,
        "max_threshold": 400_000,
        "min_probability": 2_684_355,
        "max_probability": 13_421_773,
        "threshold_reciprocal": 2**32 // 200_000,
    }
    depth = entry(deploy(topology, Preset.LRED_DEPTH), "FrameEgress.lred.parameters")
    assert depth.action == "set_depth_curve"
    assert (depth.params["min_threshold"], depth.params["max_threshold"]) == (125_000, 250_000)
    hashed = entry(deploy(topology, Preset.SFQ_PIE), "FrameIngress.flow_queue.flow_queues")
    assert (hashed.action, dict(hashed.params)) == (
        "set_hashed",
        {"first_queue": 0, "queues": 32, "multiplier": 0x9E3779B1, "queue_limit": 625_000},
    )
    searched = entry(deploy(topology, Preset.SFQ_LRED), "FrameIngress.flow_queue.flow_queues")
    assert (searched.action, searched.params["groups"]) == ("set_searched", 64)
    divided = entry(deploy(topology, Preset.DRR), "FrameIngress.flow_queue.flow_queues")
    assert divided.params["queue_limit"] == 625_000 // 16
    narrow = from_mapping(
        {"algorithm": "drop-tail", "buffer": "20 KB", "flow_queues": {"divided": True}}
    )
    least = entry(deploy(topology, narrow), "FrameIngress.flow_queue.flow_queues")
    assert least.params["queue_limit"] == MAX_FRAME


def test_adaptive_reds_thresholds_are_a_frame_apart() -> None:
    red = AdaptiveRed()
    assert red.thresholds(1_000_000) == (50_000, 500_000)
    for buffer in (MAX_FRAME, 2000, 3000):
        low, high = red.thresholds(buffer)
        assert low == buffer // 20
        assert high == low + MAX_FRAME


@pytest.mark.parametrize("value", [0.002, 0.01, 0.05, 0.1, 1e-05, 1 / 3, 0.5, 1])
@pytest.mark.parametrize("one", [1 << 16, 1 << 28])
def test_fixed_point_is_the_nearest_to_what_was_written(value: float, one: int) -> None:
    written = Fraction(str(value))
    assert abs(Fraction(fixed(value, one), one) - written) <= Fraction(1, 2 * one)


def test_reciprocals_fit_and_never_overshoot() -> None:
    for width in (2, 3, 1522, 200_000, 2**31):
        assert reciprocal(5, 5 + width) == 2**32 // width < 2**32
    assert reciprocal(5, 6) == 2**32 - 1


def test_another_algorithm_is_another_generation(topology: Topology) -> None:
    first = deploy(topology, Preset.DOCSIS_PIE)
    assert set_queue(first)["generation"] == 0
    codel = managed(first, Preset.CODEL)
    assert set_queue(codel)["generation"] == 1
    # Other parameters go on with the state that there is.
    faster = managed(codel, changed(PRESETS[Preset.CODEL], {"target": "5 ms"}))
    assert set_queue(faster)["generation"] == 1
    assert entry(faster, "FrameEgress.codel.parameters").params["latency_target"] == 5_000
    queued = managed(faster, Preset.SFQ_CODEL)
    assert set_queue(queued)["generation"] == 2
    assert set_queue(managed(queued, Preset.SFQ_CODEL))["generation"] == 2
    assert set_queue(managed(queued, Preset.CODEL))["generation"] == 3
    # Nobody else is disturbed.
    for plan in (first, codel, queued):
        assert {f.generation for f in plan.device(Role.CMTS).service_flows} == {0}


def test_generations_start_over(topology: Topology) -> None:
    now = deploy(topology, Preset.DOCSIS_PIE)
    last = 0
    for step in range(GENERATIONS + 3):
        now = managed(now, (Preset.CODEL, Preset.LRED)[step % 2])
        generation = set_queue(now)["generation"]
        assert generation == (last + 1) % GENERATIONS
        last = generation


def test_what_comes_has_no_generation_of_what_went(topology: Topology) -> None:
    """It may have the index or the sub-queues of another, with what that left in registers."""
    from docsis_control.dynamic.change import Action, Change, Kind
    from docsis_control.dynamic.change import changed as configured

    before = deploy(topology, Preset.SFQ_CODEL)
    name = before.modems[0].name

    def change(before: Deployment, action: Action, reference: int | None) -> Deployment:
        values = {"maximum_sustained_traffic_rate": "1 Mbps"} if action is Action.ADD else {}
        after = configured(
            before.modems[0].configuration,
            [Change(action, Kind.UPSTREAM_SERVICE_FLOW, reference, values)],
        )
        return deploy(before.topology, before.upstream, changed={name: after}, before=before)

    added = change(before, Action.ADD, None)
    first, second = added.device(Role.CABLE_MODEM).service_flows
    assert first == upstream(before)
    assert (second.index, second.generation) == (2, 1)
    gone = change(added, Action.DELETE, second.reference)
    third_in = change(gone, Action.ADD, None)
    _, third = third_in.device(Role.CABLE_MODEM).service_flows
    assert third.index == second.index
    assert third.generation != second.generation


def test_flow_queues_take_turns_by_deficit_unless_it_is_said(topology: Topology) -> None:
    for preset in (Preset.DRR, Preset.SFQ, Preset.SFQ_CODEL):
        flow = upstream(deploy(topology, preset))
        assert flow.sub_queues is not None
        assert flow.sub_queues.round_robin == "deficit"
    by_packets = changed(PRESETS[Preset.SFQ], {"flow_queues": {"round_robin": "packets"}})
    found = upstream(deploy(topology, by_packets)).sub_queues
    assert found is not None
    assert found.round_robin == "packets"


def test_sub_queues_stay_a_service_flows_own(topology: Topology) -> None:
    sfq = deploy(topology, Preset.SFQ_PIE)
    flow = upstream(sfq)
    assert flow.sub_queues is not None
    assert (flow.sub_queues.first, flow.sub_queues.queues) == (0, 32)
    # Under a manager without them, frames may still be in them.
    plain = managed(sfq, Preset.CODEL)
    assert upstream(plain).sub_queues is None
    assert upstream(plain).ranges == (range(32),)
    more = managed(plain, Preset.SFQ)
    assert upstream(more).ranges == (range(32), range(32, 288))
    assert entry(more, "FrameIngress.flow_queue.flow_queues").params["first_queue"] == 32
    fewer = managed(more, Preset.DRR)
    assert upstream(fewer).ranges == upstream(more).ranges
    assert entry(fewer, "FrameIngress.flow_queue.flow_queues").params["queues"] == 16


def test_ranges_are_the_first_that_fit() -> None:
    def key(reference: int) -> FlowKey:
        return (1, "upstream", reference)

    numbers = Numbers().assigned(
        [key(n) for n in range(4)], {key(n): wanted for n, wanted in enumerate((8, 16, 8))}
    )
    assert [numbers.ranges[key(n)] for n in range(3)] == [
        (range(8),),
        (range(8, 24),),
        (range(24, 32),),
    ]
    assert key(3) not in numbers.ranges
    # What goes leaves its sub-queues for the next time.
    left = numbers.assigned([key(0), key(2), key(4)], {key(4): 16})
    assert left.ranges[key(4)] == (range(32, 48),)
    after = left.assigned([key(0), key(2), key(4), key(5)], {key(5): 16})
    assert after.ranges[key(5)] == (range(8, 24),)
    # The other direction is another device's.
    other = after.assigned([*after.indexes, DOWN], {DOWN: 4})
    assert other.ranges[DOWN] == (range(4),)


def test_no_more_sub_queues_than_there_are() -> None:
    keys: list[FlowKey] = [(1, "upstream", reference) for reference in range(1, 34)]
    full = Numbers().assigned(keys[:32], dict.fromkeys(keys[:32], 256))
    taken = {queue for given in full.ranges.values() for r in given for queue in r}
    assert taken == set(range(SUB_QUEUES))
    with pytest.raises(NoRoomError, match="for 2 more flow queues upstream: .* has 8192, 0 of"):
        full.assigned(keys, {keys[32]: 2})
    holes = full.assigned(keys[:32:2]).assigned(keys[:32:2])
    with pytest.raises(NoRoomError, match="257 more .* 4096 of which are free, but not 257 side"):
        holes.assigned([*keys[:32:2], keys[32]], {keys[32]: 257})


def test_too_many_flow_queues_are_an_error_of_the_configuration(topology: Topology) -> None:
    deployment = deploy(topology, Preset.DRR)
    # Each larger one leaves the one before it reserved.
    for queues in range(17, 128):
        deployment = managed(
            deployment, changed(PRESETS[Preset.DRR], {"flow_queues": {"queues": queues}})
        )
    with pytest.raises(KeyedError, match="there is no room for 256 more flow queues upstream"):
        managed(deployment, Preset.SFQ)
