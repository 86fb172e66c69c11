# SPDX-License-Identifier: Apache-2.0
"""The controller's work without clock, socket or thread: a plan pushed, ticked and changed."""

import asyncio
import inspect
from typing import Any

import grpc
import pytest
from fake_switch import FakeSwitch
from finsy.proto import U128, p4r

from docsis_control.dynamic.change import Action, Change, Kind, changed
from docsis_control.dynamic.device_change import NotApplied
from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2 as tm
from docsis_control.http2 import Failed
from docsis_control.numbers import FlowKey
from docsis_control.p4rt.device import LocalDevice
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.plan import CONTROL_INTERVAL_US, Deployment, Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers import document
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.running import RunningPlan, push
from docsis_control.state.registers import RegisterAccess
from docsis_control.topology import Topology

ADDED = Change(
    Action.ADD,
    Kind.UPSTREAM_SERVICE_FLOW,
    values={"service_flow_reference": 9, "maximum_sustained_traffic_rate": "2 Mbps"},
)


class Refusing:
    """The refusal of a handler of the fake switch."""

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise Failed(code, details, [])


def at_once(waiting: Any) -> Any:
    """The result of a coroutine that waits for nothing."""
    try:
        waiting.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it waits")


class World:
    """A clock that stands still unless it is told, and one switch: an entrance to it."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.now_us = 1_000
        self.switch = FakeSwitch(pipeline, 1)
        self.switch.primary = 1
        service = "/docsis.tm.v1.TrafficManager"
        self._methods: dict[str, tuple[Any, Any]] = {
            "/p4.v1.P4Runtime/Write": (p4r.WriteRequest, self.switch._write),
            "/p4.v1.P4Runtime/Read": (p4r.ReadRequest, self.switch._read),
            "/p4.v1.P4Runtime/SetForwardingPipelineConfig": (
                p4r.SetForwardingPipelineConfigRequest,
                self.switch._set_config,
            ),
            "/p4.v1.P4Runtime/GetForwardingPipelineConfig": (
                p4r.GetForwardingPipelineConfigRequest,
                self.switch._get_config,
            ),
            f"{service}/Configure": (tm.ConfigureRequest, self.switch._tm_configure),
            f"{service}/Get": (tm.GetRequest, self._state),
        }

    def now(self) -> int:
        return self.now_us

    def call(self, method: str, request: bytes) -> list[bytes]:
        message, handler = self._methods[method]
        answers = handler(message.FromString(request), Refusing())
        if not inspect.isasyncgen(answers):
            return [at_once(answers).SerializeToString()]
        found = []
        while True:
            try:
                found.append(at_once(anext(answers)).SerializeToString())
            except StopAsyncIteration:
                return found

    async def _state(self, request: Any, context: Any) -> Any:
        """The traffic manager's clock is the world's."""
        response = await self.switch._tm_get(request, context)
        response.now_ns = self.now_us * 1000
        return response

    def pass_interval(self, queued: int) -> None:
        """An interval, after which so many bytes are queued in each service flow."""
        self.now_us += CONTROL_INTERVAL_US
        for index in (1, 2):
            self.switch.registers["sf_enqueued_bytes", index] = queued


@pytest.fixture
def deployment(topology: Topology) -> Deployment:
    return deploy(topology, Preset.DOCSIS_PIE)


def pushed(world: World, pipeline: Pipeline, deployment: Deployment) -> RunningPlan:
    plan = deployment.device(Role.CABLE_MODEM)
    device = LocalDevice(world, plan.name, plan.device_id)
    assert U128.decode(device.election_id) == 1
    access = RegisterAccess(device, pipeline, world, plan.service_flows)

    async def work() -> RunningPlan:
        await device.set_pipeline(pipeline, 77)
        return await push(device, pipeline, plan, access)

    # No event loop is needed: nothing of it waits.
    running: RunningPlan = at_once(work())
    return running


def with_added(before: Deployment) -> Deployment:
    (modem,) = before.modems
    configurations = {modem.name: changed(modem.configuration, [ADDED])}
    return deploy(before.topology, before.upstream, changed=configurations, before=before)


def history(pipeline: Pipeline, deployment: Deployment) -> list[Any]:
    """The history of a device with a service flow added in the middle."""
    world = World(pipeline)
    running = pushed(world, pipeline, deployment)
    seen = []
    for number in range(40):
        if number == 20:
            after = with_added(deployment).device(Role.CABLE_MODEM)
            asyncio.run(running.change(after))
            assert len(running.flows) == 2
        world.pass_interval(100_000)
        observed = running.controlled(world).tick(number)
        seen.append((observed.qdelay.tolist(), observed.state.drop_prob.tolist()))
        assert world.switch.registers["controller_heartbeat", 0] == world.now_us
    assert running.plan.name == "cm1"
    counted = asyncio.run(running.counters.read())
    assert set(counted.flows) == {0, 1, 2}
    return [seen, world.switch.registers, world.switch.tables, world.switch.traffic_manager]


def test_time_is_the_worlds(pipelines: dict[str, Pipeline], deployment: Deployment) -> None:
    seen, registers, tables, traffic_manager = history(pipelines["cm"], deployment)
    # 100 KB at 25 and 2 Mbit/s are long queues; the second one is there since tick 20.
    assert seen[39][1][0] > 0
    assert [len(delays) for delays, _ in seen] == [1] * 20 + [2] * 20
    assert registers["aqm_drop_prob", 2] > 0
    assert registers["msr_updated", 2] == 1_000 + 20 * CONTROL_INTERVAL_US
    assert len(traffic_manager.service_flows) == 2
    # The same again, to the bit: nothing is taken from the machine's clock.
    assert history(pipelines["cm"], deployment) == [seen, registers, tables, traffic_manager]


def test_pie_with_flow_queues_does_not_go_on_with_the_probability_of_pie(
    pipelines: dict[str, Pipeline], topology: Topology
) -> None:
    deployment = deploy(topology, Preset.PIE)
    world = World(pipelines["cm"])
    running = pushed(world, pipelines["cm"], deployment)
    registers = world.switch.registers
    # 2^14 bytes in 8,192 us.
    registers["pie_avg_dq_time", 1] = 8_192 * 256

    def manage(management: QueueManagement) -> int:
        """The probability in the pipeline, once another management is in force."""
        nonlocal deployment
        key: FlowKey = (1, "upstream", 1)
        deployment = deploy(
            topology,
            deployment.upstream,
            managers={key: management},
            before=deployment,
        )
        asyncio.run(running.change(deployment.device(Role.CABLE_MODEM)))
        return registers["aqm_drop_prob", 1]

    for number in range(40):
        world.pass_interval(100_000)
        seen = running.controlled(world).tick(number)
    before = registers["aqm_drop_prob", 1]
    assert before > 0
    # Another parameter keeps the state.
    assert manage(document.changed(PRESETS[Preset.PIE], {"alpha": 0.2})) == before
    observed = running.law.observe(at_once(running.access.read()))
    assert observed.state.drop_prob == seen.state.drop_prob
    # Other queues are another generation, in the pipeline and here.
    assert manage(PRESETS[Preset.SFQ_PIE]) == 0
    observed = running.law.observe(at_once(running.access.read()))
    assert observed.state.drop_prob == 0


def test_a_refusal_leaves_what_there_was(
    pipelines: dict[str, Pipeline], deployment: Deployment
) -> None:
    world = World(pipelines["cm"])
    running = pushed(world, pipelines["cm"], deployment)
    before = dict(world.switch.tables)
    world.switch.refuses = "FrameIngress.service_flow_queue.service_flow"
    with pytest.raises(NotApplied, match="cm1: Write on device 1, cm1 failed: .*the table is full"):
        asyncio.run(running.change(with_added(deployment).device(Role.CABLE_MODEM)))
    assert not running.uncertain
    assert world.switch.tables == before
    assert len(world.switch.traffic_manager.service_flows) == 1
    assert running.plan is deployment.device(Role.CABLE_MODEM)


def test_a_device_without_a_program_refuses_ticks(
    pipelines: dict[str, Pipeline], deployment: Deployment
) -> None:
    world = World(pipelines["cm"])
    running = pushed(world, pipelines["cm"], deployment)
    world.switch.forget()
    with pytest.raises(P4RuntimeError, match="Read on device 1, cm1 failed: .*no pipeline"):
        running.controlled(world).tick(0)
