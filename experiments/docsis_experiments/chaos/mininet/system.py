# SPDX-License-Identifier: Apache-2.0
"""The system in Mininet: its processes, which are killed and started again."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from docsis_control.local_socket import Service, default_folder, socket_of
from docsis_control.plan import Deployment
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.document import write_topology
from docsis_control.topology.models import Topology
from docsis_experiments.chaos.faults import CONTROLLER, Part, Target
from docsis_experiments.chaos.mininet.devices import Looked
from docsis_experiments.chaos.mininet.schedule import Schedule
from docsis_experiments.chaos.mininet.traffic import Traffic
from docsis_experiments.chaos.mininet.ways import Ways
from docsis_testbed.addresses import device_address
from docsis_testbed.endings import how, last_words
from docsis_testbed.errors import TestbedError
from docsis_testbed.session import ControllerProgram
from docsis_testbed.testbed import Testbed

_START_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.01


def switch_addresses(topology: Topology) -> dict[str, str]:
    """Addresses of the switches' servers, by the switches' names."""
    return {one.name: device_address(one) for one in (topology.cable_modem, topology.cmts)}


class System:
    """What faults happen to.

    Attributes:
        topology: What was built.
        testbed: Its nodes.
        schedule: What is to be done.
        traffic: What hosts do.
        ways: From the controller to the switches.
        looked: Switches, from outside.
        anew: Told when another controller has begun.
    """

    def __init__(self, testbed: Testbed, ways: Ways, deployment: Deployment, folder: Path) -> None:
        """Args: nodes, the controller's ways, what it deploys, and where programs write."""
        self.testbed = testbed
        self.topology: Topology = testbed.topology
        self.schedule = Schedule()
        self.traffic = Traffic(testbed, folder)
        self.ways = ways
        self.anew: Callable[[], None] = lambda: None
        file = folder / "topology.yaml"
        write_topology(self.topology, file)
        self._controller = ControllerProgram(
            testbed,
            file,
            folder / "controller",
            upstream=Preset.DOCSIS_PIE,
            downstream=Preset.DOCSIS_PIE,
            addresses=ways.addresses,
        )
        addresses = switch_addresses(self.topology)
        self.looked = {plan.name: Looked(plan, addresses[plan.name]) for plan in deployment.devices}

    def start(self) -> None:
        """Starts the first controller, and returns when it has provisioned both switches.

        Raises:
            TestbedError: It ended, or takes too long.
        """
        self._controller.start()
        self._controller.wait_ready()

    def process(self, target: Target) -> subprocess.Popen[bytes]:
        """The process of the controller or of a switch."""
        if target.part is Part.CONTROLLER:
            process = self._controller.process
        else:
            process = self.testbed.node(target.name).process
        assert process is not None, "it was started, and is only ended with the run"
        return process

    def kill(self, target: Target) -> None:
        """SIGKILL to the controller or a switch, and nobody starts it again before `restart`."""
        process = self.process(target)
        process.kill()
        process.wait()

    def restart(self, target: Target) -> None:
        """Another process: of a controller that knows the topology alone, or an empty switch."""
        if target.part is Part.CONTROLLER:
            self._controller.start()
            self.anew()
        else:
            self.looked[target.name].forget()
            self.testbed.node(target.name).start()

    def wait_serving(self, target: Target) -> None:
        """Until what was started again has been loaded and serves: how long is the machine's.

        A switch has its server by then, and a controller its socket for changes, which is when it
        begins to look for its switches.

        Raises:
            TestbedError: It ended, or takes too long.
        """
        if target.part is not Part.CONTROLLER:
            self.testbed.node(target.name).wait_ready(_START_SECONDS)
            return
        process, log = self.process(target), self._controller.log
        there = socket_of(default_folder(), process.pid, Service.CHANGES)
        deadline = time.monotonic() + _START_SECONDS
        while not there.exists():
            if process.poll() is not None:
                raise TestbedError(
                    f"the controller {how(process.returncode)} at its start: {last_words(log)}"
                )
            if time.monotonic() > deadline:
                raise TestbedError(f"the controller was not loaded within {_START_SECONDS:.0f} s")
            time.sleep(_POLL_SECONDS)

    def dead(self) -> list[Target]:
        """The parts whose processes have ended."""
        targets = [CONTROLLER, *(Target(Part.SWITCH, name) for name in self.looked)]
        return [target for target in targets if self.process(target).poll() is not None]

    def ending(self, target: Target) -> str:
        """How one that is dead has ended, in words."""
        log: Any = (
            self._controller.log
            if target.part is Part.CONTROLLER
            else self.testbed.node(target.name).log
        )
        return f"{target} {how(self.process(target).returncode)}: {last_words(log)}"
