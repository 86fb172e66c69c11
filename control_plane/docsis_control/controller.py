# SPDX-License-Identifier: Apache-2.0
"""The controller: provisions the devices, runs their control loops, changes what they run."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Final

from docsis_control.config.models import KeyedError
from docsis_control.device_controller import DeviceController
from docsis_control.dynamic.change import Change, Managed, changed
from docsis_control.dynamic.device_change import NotApplied
from docsis_control.options import Options
from docsis_control.p4rt.pipeline import load_pipeline
from docsis_control.plan import Deployment
from docsis_control.provisioning import deploy
from docsis_control.reach import Reach
from docsis_control.recording import DeviceRecord

_LOG: Final = logging.getLogger(__name__)


class Controller:
    """Provisions all devices of a deployment and controls them until it is cancelled.

    Attributes:
        deployment: The deployment now. It is never changed in place: another one is another object.
        revision: How many times the deployment has changed.
        devices: The devices, by name.
        records: Records of the control loops, by device name.
        ready: Set when every device has been provisioned once.
    """

    def __init__(
        self,
        deployment: Deployment,
        options: Options | None = None,
        reaches: Mapping[str, Reach] | None = None,
    ) -> None:
        """Loads the programs.

        Args:
            deployment: The deployment to run.
            options: How to run.
            reaches: The way to a device, by its name, where that is not the network.

        Raises:
            PipelineError: A compiled program cannot be used.
        """
        options = options or Options()
        pipelines = {
            plan.role: load_pipeline(plan.role.value, options.pipelines)
            for plan in deployment.devices
        }
        self._deployment = deployment
        self.revision = 0
        self.devices = {
            plan.name: DeviceController(
                plan, pipelines[plan.role], options, (reaches or {}).get(plan.name)
            )
            for plan in deployment.devices
        }
        self.records: dict[str, DeviceRecord] = {
            name: device.record for name, device in self.devices.items()
        }
        self.ready = asyncio.Event()
        self._changing = asyncio.Lock()

    @property
    def deployment(self) -> Deployment:
        """The deployment now."""
        return self._deployment

    @deployment.setter
    def deployment(self, after: Deployment) -> None:
        self._deployment = after
        self.revision += 1

    async def run(self) -> None:
        """Runs until it is cancelled.

        Raises:
            P4RuntimeError: A device refused something, or has another primary controller.
            PipelineError: A program does not have what the plan needs.
            ConnectionLost: A device never answered.
        """
        tasks = [
            asyncio.create_task(device.run(), name=name) for name, device in self.devices.items()
        ]
        tasks.append(asyncio.create_task(self._wait_until_ready(), name="ready"))
        try:
            # One failure ends it all, and is raised itself and not in a group.
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def change(
        self, modem: str, changes: Sequence[Change], managed: Sequence[Managed] = ()
    ) -> tuple[Deployment, float]:
        """Adds, sets or deletes service flows and classifiers of a modem: all of it or nothing.

        Args:
            modem: Name of the modem.
            changes: The changes, in the order in which they are made.
            managed: Service flows that get another queue manager, after the changes.

        Returns:
            The deployment with the change made, and when packets had it, on time.monotonic().

        Raises:
            KeyedError: The changes are not possible; the key is that of the configuration.
            NotApplied: A device does not answer, or refused.
        """
        async with self._changing:
            before = self.deployment
            plan = next((plan for plan in before.modems if plan.name == modem), None)
            if plan is None:
                names = ", ".join(plan.name for plan in before.modems)
                raise KeyedError("modem", f'there is no modem "{modem}"; there are {names}')
            if not changes and not managed:
                return before, time.monotonic()
            configurations = {plan.name: plan.configuration for plan in before.modems}
            configurations[modem] = changed(plan.configuration, changes)
            managers = {
                (plan.number, choice.direction, choice.reference): choice.management
                for choice in managed
            }
            # Not in a thread: it takes less than to wait for the interpreter's lock.
            after = deploy(
                before.topology,
                before.upstream,
                before.downstream,
                changed=configurations,
                managers=managers,
                before=before,
            )
            for key in managers.keys() - after.managers.keys():
                raise KeyedError(
                    f"{key[1]}_service_flows", f"there is no active {key[1]} service flow {key[2]}"
                )
            in_force = await self._apply(before, after)
            self.deployment = after
            _LOG.info("%s: %s", modem, "; ".join(map(str, (*changes, *managed))))
            return after, in_force

    async def _apply(self, before: Deployment, after: Deployment) -> float:
        done: list[str] = []
        in_force = time.monotonic()
        try:
            for old, new in zip(before.devices, after.devices, strict=True):
                if new != old:
                    in_force = await self.devices[new.name].change(new)
                    done.append(new.name)
        except NotApplied as refused:
            failures = [str(refused)]
            for plan in before.devices:
                if plan.name in done:
                    try:
                        await self.devices[plan.name].restore(plan)
                    except NotApplied as error:
                        failures.append(
                            f"{plan.name} has the change, because undoing it failed "
                            f"({error.reason}); it gets everything anew, as it was before"
                        )
            if len(failures) > 1:
                _LOG.warning("%s", ". ".join(failures))
                raise NotApplied(". ".join(failures)) from None
            raise
        return in_force

    async def _wait_until_ready(self) -> None:
        for device in self.devices.values():
            await device.ready.wait()
        self.ready.set()
