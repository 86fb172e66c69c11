# SPDX-License-Identifier: Apache-2.0
"""The system in Mininet: its processes, which are killed and started again."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docsis_control.plan import Deployment
from docsis_control.topology.models import Topology
from docsis_experiments.chaos.faults import Part, Target
from docsis_experiments.chaos.mininet.devices import Looked
from docsis_experiments.chaos.mininet.schedule import Schedule
from docsis_experiments.chaos.mininet.traffic import Traffic
from docsis_testbed.addresses import device_address
from docsis_testbed.session import ControllerProgram
from docsis_testbed.testbed import Testbed


class System:
    """What faults happen to.

    Attributes:
        topology: What was built.
        testbed: Its nodes.
        schedule: What is to be done.
        traffic: What hosts do.
        looked: Switches, from outside.
        anew: Told when another controller has begun.
    """

    def __init__(
        self,
        testbed: Testbed,
        controller: ControllerProgram,
        deployment: Deployment,
        folder: Path,
        anew: Callable[[], None],
    ) -> None:
        """Args: nodes, controller, what it deploys, where programs write, and who is told."""
        self.testbed = testbed
        self.topology: Topology = testbed.topology
        self.schedule = Schedule()
        self.traffic = Traffic(testbed, folder)
        self.anew = anew
        self._controller = controller
        devices = {one.name: one for one in (self.topology.cable_modem, self.topology.cmts)}
        self.looked = {
            plan.name: Looked(
                plan.name, plan.device_id, plan.role, device_address(devices[plan.name])
            )
            for plan in deployment.devices
        }

    def controller_process(self) -> subprocess.Popen[bytes] | None:
        """That of the controller."""
        return self._controller.process

    def switch_process(self, name: str) -> subprocess.Popen[bytes] | None:
        """That of a switch."""
        switch: Any = self.testbed.node(name)
        process: subprocess.Popen[bytes] | None = switch.process
        return process

    def kill_controller(self) -> None:
        """SIGKILL, and nobody starts it again before `start_controller`."""
        process = self._controller.process
        if process is not None:
            process.kill()
            process.wait()

    def start_controller(self) -> None:
        """Another process, which knows the topology alone."""
        self._controller.start()
        self.anew()

    def kill_switch(self, name: str) -> None:
        """SIGKILL."""
        process = self.switch_process(name)
        if process is not None:
            process.kill()
            process.wait()

    def start_switch(self, name: str) -> None:
        """Another process, without a pipeline."""
        self.looked[name].forget()
        self.testbed.node(name).start()

    def wait_ready(self, target: Target) -> None:
        """Until what was started serves.

        Raises:
            TestbedError: It ended, or takes too long.
        """
        if target.part is Part.CONTROLLER:
            self._controller.wait_ready()
        else:
            self.testbed.node(target.name).wait_ready()

    def dead(self) -> list[str]:
        """Who has ended, in words."""
        found = []
        for name in self.looked:
            process = self.switch_process(name)
            if process is None or process.poll() is not None:
                found.append(f"switch {name}")
        if (process := self.controller_process()) is None or process.poll() is not None:
            found.append("the controller")
        return found
