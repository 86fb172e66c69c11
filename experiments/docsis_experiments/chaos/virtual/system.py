# SPDX-License-Identifier: Apache-2.0
"""The whole system in a world: devices and the ways to them, and one controller after the other."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from docsis_control.controller import Controller
from docsis_control.p4rt.device import LocalDevice
from docsis_control.p4rt.pipeline import load_pipeline
from docsis_control.plan import Deployment, DevicePlan
from docsis_control.state.counters import SERVICE_FLOW_COUNTERS
from docsis_control.tm.client import TrafficManager
from docsis_control.topology.models import Topology
from docsis_experiments.chaos import books
from docsis_experiments.chaos.audit import BucketAudit
from docsis_experiments.chaos.buckets import Numbers
from docsis_experiments.chaos.findings import Findings, Invariant
from docsis_experiments.chaos.provisioned import differences
from docsis_experiments.chaos.virtual.reach import WorldReach, WorldWay
from docsis_experiments.chaos.virtual.way import Life, Process, Way
from docsis_experiments.stages.mininet.counters import CounterQuery
from docsis_experiments.stages.virtual.machine import Machine

if TYPE_CHECKING:
    from docsis_world import World

_RESTART_SECONDS: Final = 1.0
"""Between a controller's end by itself and the next one."""
_READ: Final = "/p4.v1.P4Runtime/Read"


@dataclass
class System:
    """What faults happen to.

    Attributes:
        world: Devices and hosts.
        topology: What it is built of.
        deployment: What a controller begins with.
        machine: How late it is without faults.
        findings: What does not hold.
        origin_ns: When the plan of faults begins, nanoseconds of the world.
        ways: To each device.
        life: The life of the controller that there is.
        controller: It.
        updated_ns: When each device's control loop was last acknowledged an update.
        anew: Told when a controller that knows nothing of the one before has begun.
    """

    world: World
    topology: Topology
    deployment: Deployment
    machine: Machine
    findings: Findings
    origin_ns: int
    anew: Callable[[], None] = lambda: None
    ways: dict[str, Way] = field(init=False)
    life: Life = field(init=False)
    controller: Controller = field(init=False)
    updated_ns: dict[str, int] = field(default_factory=dict)
    starts: int = 0
    _audits: dict[str, BucketAudit] = field(init=False)
    _ended: list[dict[str, int]] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None
    _reaped: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ways = {}
        self._audits = {}
        for plan in self.deployment.devices:
            chance = random.Random(f"ways {self.world.seed} {plan.name}")
            way = Way(self.world, plan.name, chance)
            self.ways[plan.name] = way
            self._audits[plan.name] = BucketAudit(plan.name)
            self.world.take_departures(plan.name)
            self._follow(way)

    def _follow(self, way: Way) -> None:
        audit = self._audits[way.name]

        def configured(request: bytes | None) -> None:
            if request is None:
                self._drain(way.name)
            else:
                audit.configured(request)

        way.on_configure = configured

    @property
    def now_ns(self) -> int:
        """Nanoseconds since the plan's beginning."""
        return self.world.now_ns - self.origin_ns

    # --- the controller --------------------------------------------------------------------

    def start_controller(self) -> None:
        """Another process of the controller, which knows the topology alone."""
        self.life = life = Life()
        self.starts += 1
        reaches = {
            name: WorldReach(way, life, self.machine, self._updates(name))
            for name, way in self.ways.items()
        }
        self.controller = Controller(self.deployment, reaches=reaches)
        self._task = asyncio.create_task(self.controller.run(), name="controller")
        self._task.add_done_callback(self._controller_ended)
        self.anew()

    def _updates(self, device: str) -> Callable[[int], None]:
        def updated(at_ns: int) -> None:
            self.updated_ns[device] = at_ns - self.origin_ns

        return updated

    def _controller_ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task is not self._task:
            return
        error = task.exception()
        words = f"the controller ended: {type(error).__name__}: {error}"
        self.findings.check(self.now_ns, Invariant.RECOVERY, [words])
        # As whoever watches over it does, and not at once for ever.
        self.life.died.set()
        self.changed()
        life = self.life

        def again() -> None:
            if self.life is life:
                self.start_controller()

        asyncio.get_running_loop().call_later(_RESTART_SECONDS, again)

    def kill_controller(self) -> None:
        """Its process dies: what it was about to say is never said."""
        self.life.died.set()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            self._reaped.append(task)
        self.changed()

    def changed(self) -> None:
        """Something about the controller is different."""
        for way in self.ways.values():
            way.change()

    async def end(self) -> None:
        """Ends the controller in an orderly way, and waits for all that was killed."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            self._reaped.append(task)
        await asyncio.gather(*self._reaped, return_exceptions=True)

    # --- switches --------------------------------------------------------------------------

    def kill_switch(self, name: str) -> None:
        """Its process dies with its state and the frames in it."""
        self._drain(name)
        self._ended.append(self.world.books(name))
        self.world.kill_device(name)
        way = self.ways[name]
        way.process = Process.DEAD
        way.died()
        way.change()

    def start_switch(self, name: str) -> None:
        """Another process, which has no pipeline yet."""
        self.world.start_device(name)
        self._audits[name].forget()
        way = self.ways[name]
        way.process = Process.RUNS
        way.change()

    # --- what must hold --------------------------------------------------------------------

    def _drain(self, name: str) -> None:
        columns: dict[str, Numbers] = {
            key: np.frombuffer(values, np.int64)
            for key, values in self.world.take_departures(name).items()
        }
        failures = self._audits[name].departed(columns)
        self.findings.check(self.now_ns, Invariant.BUCKETS, failures)

    @property
    def departures(self) -> int:
        """Frames that were compared with buckets so far."""
        return sum(audit.frames for audit in self._audits.values())

    def check_buckets(self) -> None:
        """Compares what has left since the last look."""
        for name in self.ways:
            self._drain(name)

    def check_books(self) -> None:
        """Counts frames: devices, wires and those that died with a process."""
        self.findings.check(self.now_ns, Invariant.PACKETS, self._books())

    def _books(self) -> Iterator[str]:
        now = {name: self.world.books(name) for name in self.ways}
        living = {
            name: one for name, one in now.items() if self.ways[name].process is not Process.DEAD
        }
        for name, one in living.items():
            yield from books.of_device(name, one)
        totals = self.totals()
        yield from books.of_wires(totals, [*living.values(), *self._ended])
        yield from books.of_deaths(totals, self._ended)

    def totals(self) -> dict[str, int]:
        """Frames of the whole world."""
        there = self.world.totals()
        return {
            "sent": there["sent"],
            "received": there["received"],
            "link_dropped": there["link_dropped"],
            "unconnected": there["unconnected"],
            "lost": there["lost"],
            "lost_inside": there["lost_inside"],
            "on_links": there["on_links"],
        }

    async def check_provisioned(self) -> None:
        """Compares all devices with what the controller believes, while the world stands still."""
        failures: list[str] = []
        for plan in self.controller.deployment.devices:
            device = LocalDevice(WorldWay(self.ways[plan.name]), plan.name, plan.device_id)
            failures += await differences(device, load_pipeline(plan.role.value), plan)
        self.findings.check(self.now_ns, Invariant.PROVISIONING, failures)

    async def check_service_flows(self) -> None:
        """Sums up what the pipelines have counted of each service flow."""
        failures: list[str] = []
        for plan in self.controller.deployment.devices:
            failures += await self._service_flows(plan)
        self.findings.check(self.now_ns, Invariant.PACKETS, failures)

    async def _service_flows(self, plan: DevicePlan) -> list[str]:
        device = LocalDevice(WorldWay(self.ways[plan.name]), plan.name, plan.device_id)
        query = CounterQuery(plan.device_id, plan.role)
        state = await TrafficManager(device).state()
        indexes = [flow.index for flow in plan.service_flows]
        answers = self.world.call(plan.name, _READ, query.request(indexes, SERVICE_FLOW_COUNTERS))
        counts = query.counts(answers)
        queues = {
            (one.config.queue.port, one.config.queue.queue_id): one for one in state.service_flows
        }
        failures: list[str] = []
        for flow in plan.service_flows:
            queue = queues.get((flow.port, flow.index))
            if queue is None:
                # `check_provisioned` tells.
                continue
            failures += books.of_service_flow(
                f"{plan.name}, service flow {flow.index}",
                {name: count.packets for name, count in counts[flow.index].items()},
                books.Waiting.exactly(
                    queue.queued.frames, queue.overflow.frames, queue.suppressed.frames
                ),
            )
        return failures

    def controlled_ns(self, name: str) -> int | None:
        """When a device was last under control; now, where it needs no loop and has its plan."""
        device = self.controller.devices[name]
        if device.provisioned and not device.looped and self.life.alive:
            self.updated_ns[name] = self.now_ns
        return self.updated_ns.get(name)

    @property
    def provisioned(self) -> bool:
        """Whether the controller has all devices."""
        return self.life.alive and all(
            device.provisioned for device in self.controller.devices.values()
        )

    def left_behind(self) -> Iterator[str]:
        """What is there when controller and traffic have ended."""
        for name, way in self.ways.items():
            if way.streams:
                yield f"{way.streams} streams to {name} are open"
            if held := self.world.books(name)["held"]:
                yield f"{held} frames are still in {name}"
        if there := self.world.totals()["on_links"]:
            yield f"{there} frames are still on links"
        mine = asyncio.current_task()
        tasks = sorted(task.get_name() for task in asyncio.all_tasks() if task is not mine)
        if tasks:
            yield f"{len(tasks)} tasks go on: {', '.join(tasks[:5])}"
