# SPDX-License-Identifier: Apache-2.0
"""A plan that runs on a device: pushed, ticked and changed.

There is no clock, no socket, no thread and no event loop here. In real time `device_controller` has
a task and a thread for each device, and asks the machine's clock; in virtual time a world calls the
same between two moments of its own, with a `p4rt.device.LocalDevice`, whose coroutines never wait.
docs/architecture.md, "One controller, two kinds of time", has an example.
"""

from dataclasses import dataclass

from docsis_control.dynamic.device_change import DeviceChange
from docsis_control.law.service_flows import DeviceLaw, Observation
from docsis_control.mac.client import UpstreamChannels
from docsis_control.p4rt.device import Entrance, P4Device
from docsis_control.p4rt.entities import group_updates, table_updates
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.plan import TOKENS_PER_BYTE, DevicePlan, ServiceFlow
from docsis_control.state.access import BucketState, StateAccess, TickAccess
from docsis_control.state.counters import CounterAccess
from docsis_control.tm.client import TrafficManager


@dataclass(frozen=True)
class Controlled:
    """The service flows of one plan, with their law and the access to their state.

    Attributes:
        flows: The service flows.
        law: Theirs.
        access: Access to their state.
    """

    flows: tuple[ServiceFlow, ...]
    law: DeviceLaw
    access: TickAccess

    def tick(self, number: int) -> Observation:
        """One tick of the control loop: reads, lets the law decide, writes.

        What is decided is a function of the readings, the time in them among them, and of the
        number of the interval; see `DeviceLaw.update`.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It refused.
        """
        settings, seen = self.law.update(self.access.read(), number)
        self.access.write(settings)
        return seen


class RunningPlan:
    """A plan on a device that has it all.

    Attributes:
        plan: Plan that the device has.
        access: Access to the state of its service flows.
        counters: Theirs.
        law: Theirs.
        traffic_manager: Whether the device has docsis.tm.v1.
        uncertain: Whether the device may have anything between two plans, because a change failed
            on the way: it needs everything anew.
        untidy: Whether a change is made and the device went away before it had given back what
            only the old plan needs: it needs everything anew, too.
    """

    def __init__(
        self,
        device: P4Device,
        pipeline: Pipeline,
        plan: DevicePlan,
        access: StateAccess,
        law: DeviceLaw,
        *,
        traffic_manager: bool,
    ) -> None:
        """Args: the device, its program, and what it has; whether it has docsis.tm.v1."""
        self.plan = plan
        self.access = access
        self.law = law
        self.uncertain = self.untidy = False
        self._device = device
        self._pipeline = pipeline
        self.traffic_manager = traffic_manager
        self.counters = self._counters_of(plan)

    @property
    def flows(self) -> tuple[ServiceFlow, ...]:
        """The service flows, in the order of all arrays; of another plan it is another object."""
        return self.plan.service_flows

    def controlled(self, entrance: Entrance) -> Controlled:
        """Makes the part that a control loop ticks until the next change.

        Args:
            entrance: The loop's way to the device.
        """
        return Controlled(self.flows, self.law, self.access.ticks(entrance))

    async def change(self, plan: DevicePlan) -> float:
        """Makes the device run another plan: other service flows and classifiers.

        What both plans have goes on undisturbed. No tick may come in between.

        Returns:
            When packets had it, on time.monotonic().

        Raises:
            NotApplied: The device does not answer, or refused; it has what it had, unless
                `uncertain`.
        """
        change = DeviceChange(
            self.plan,
            plan,
            self._device,
            self._pipeline,
            self.access,
            traffic_manager=self.traffic_manager,
        )
        counters = self._counters_of(plan)
        try:
            in_force = await change.apply(counters)
        finally:
            self.uncertain = self.uncertain or change.uncertain
            self.untidy = self.untidy or change.untidy
        law = DeviceLaw(plan.service_flows)
        law.follow(self.law)
        self.plan, self.law, self.counters = plan, law, counters
        self.access = self.access.of(plan.service_flows)
        return in_force

    def _counters_of(self, plan: DevicePlan) -> CounterAccess:
        indexes = [flow.index for flow in plan.service_flows]
        return CounterAccess(self._device, self._pipeline, indexes)


async def push(
    device: P4Device, pipeline: Pipeline, plan: DevicePlan, access: StateAccess
) -> RunningPlan:
    """Pushes a plan to a device that has its program, and nothing else.

    Args:
        device: The device.
        pipeline: Its program, which it has.
        plan: Plan that it is to have.
        access: Access to the state of the plan's service flows.
    """
    flows = plan.service_flows
    manager = TrafficManager(device)
    has_manager = await manager.configure(plan)
    # Behind its queues, in front of what sends frames there.
    await UpstreamChannels(device).configure(plan)
    # The pipeline's registers follow the traffic manager's buckets, where it has any.
    buckets = (
        await manager.buckets(flows)
        if has_manager
        else [BucketState(flow.initial_tokens * TOKENS_PER_BYTE) for flow in flows]
    )
    await access.provision(buckets)
    groups, entries = plan.groups, plan.tables
    await device.write(
        list(group_updates(groups)), [f"multicast group {group.group_id}" for group in groups]
    )
    await device.write(list(table_updates(pipeline, entries)), [str(entry) for entry in entries])
    return RunningPlan(
        device, pipeline, plan, access, DeviceLaw(flows), traffic_manager=has_manager
    )
