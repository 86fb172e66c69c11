# SPDX-License-Identifier: Apache-2.0
"""A testbed with its controller under way: what every experiment does with it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from docsis_control.queue_managers.document import write
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import preset_of, resolve
from docsis_control.topology.models import Topology
from docsis_testbed import preflight
from docsis_testbed.addresses import device_address, thrift_address
from docsis_testbed.endings import how, last_words, said
from docsis_testbed.errors import TestbedError
from docsis_testbed.nodes import programs_of
from docsis_testbed.progress import Progress
from docsis_testbed.runstate import RunState
from docsis_testbed.taps import NO_TAPS, Taps
from docsis_testbed.testbed import Testbed, running_testbed

_READY_SECONDS: Final = 30.0
_END_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.1
_DEATH_SECONDS: Final = 0.5
"""How long after the end of its connections a process may take to have ended."""


class Controlled(Protocol):
    """A system that a controller controls.

    Attributes:
        topology: Its topology.
        target: Name of the switch target.
        logs: Folder that gets its log.
    """

    topology: Topology
    target: str
    logs: Path

    def launch_here(
        self, command: Sequence[str], log: Path, *, append: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start a program in this network namespace; see `Testbed.launch_here`."""


class ControllerProgram:
    """The controller, which can be started again.

    Attributes:
        process: The controller's process, once started.
        log: File with its output.
    """

    def __init__(
        self,
        testbed: Controlled,
        topology_file: Path,
        record: Path,
        *,
        upstream: Preset | QueueManagement = Preset.DOCSIS_PIE,
        downstream: Preset | QueueManagement | None = None,
        metrics_port: int | None = None,
        addresses: Mapping[str, str] | None = None,
    ) -> None:
        """Prepares the controller of running switches; `start` starts it.

        Args:
            testbed: Running switches.
            topology_file: The topology as resolved, tier included.
            record: Folder that gets its statistics and samples at its end.
            upstream: Queue management of the upstream service flows.
            downstream: Queue management of the downstream ones; None keeps what is configured.
            metrics_port: TCP port on the loopback interface for Prometheus, or None.
            addresses: Addresses at which it finds the switches, by name; their own unless given.
        """
        self.process: subprocess.Popen[bytes] | None = None
        self.log = testbed.logs / "controller.log"
        self._log_start = 0
        self._testbed = testbed
        managers = ["--aqm", controller_argument(upstream, testbed.logs / "upstream-aqm.yaml")]
        if downstream is not None:
            file = testbed.logs / "downstream-aqm.yaml"
            managers += ["--downstream-aqm", controller_argument(downstream, file)]
        self._command = [
            *(sys.executable, "-m", "docsis_control"),
            *("--topology", str(topology_file)),
            *managers,
            *("--record", str(record)),
            *_address_arguments(testbed, addresses or {}),
            *_thrift_arguments(testbed),
            *(("--metrics-port", str(metrics_port)) if metrics_port else ()),
        ]

    def start(self) -> None:
        """Start it; what an earlier one said stays in the log."""
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self.process = self._testbed.launch_here(self._command, self.log, append=True)

    def wait_ready(self) -> None:
        """Until it has provisioned both devices.

        Raises:
            TestbedError: it ended, or took too long.
        """
        assert self.process is not None, "started"
        wait_until_ready(self.process, "the controller", self.log, self._log_start)

    def started(self) -> subprocess.Popen[bytes]:
        """Starts it, waits until it has provisioned both devices, and returns its process.

        Raises:
            TestbedError: It ended, or took too long.
        """
        self.start()
        self.wait_ready()
        assert self.process is not None
        return self.process


def _address_arguments(testbed: Controlled, others: Mapping[str, str]) -> Iterator[str]:
    """Yields the controller's arguments that tell the switches' addresses."""
    for device in (testbed.topology.cable_modem, testbed.topology.cmts):
        address = others.get(device.name) or device_address(device, testbed.target)
        yield from ("--address", f"{device.name}={address}")


def _thrift_arguments(testbed: Controlled) -> Iterator[str]:
    """Yields arguments that tell the Thrift addresses of switches without docsis.tm.v1."""
    if testbed.target == "bmv2":
        for device in (testbed.topology.cable_modem, testbed.topology.cmts):
            yield from ("--thrift", f"{device.name}={thrift_address(device)}")


def controller_argument(choice: Preset | QueueManagement, file: Path) -> str:
    """Returns the controller's argument: a preset's name, or a file, which is written."""
    management = resolve(choice)
    preset = preset_of(management)
    if preset is not None:
        return preset.value
    write(management, file)
    return str(file)


def wait_until_ready(
    process: subprocess.Popen[bytes], what: str, log: Path, since: int = 0
) -> None:
    """Until a program has printed a line that starts with "ready".

    Args:
        process: The program.
        what: Name of the process, for messages.
        log: File with its output.
        since: Bytes of the log that are not its.

    Raises:
        TestbedError: it ended, or took too long.
    """
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        if any(line.startswith("ready") for line in said(log, since).splitlines()):
            return
        if process.poll() is not None:
            raise TestbedError(
                f"{what} {how(process.returncode)} at its start: {last_words(log, since)}"
            )
        time.sleep(0.02)
    raise TestbedError(f"{what} was not ready within {_READY_SECONDS:.0f} s; see {log}")


@dataclass
class Session:
    """Switches and controller while an experiment goes on.

    Attributes:
        testbed: Its nodes.
        folder: Gets the raw files.
        progress: Told how far the run is.
        controller: The controller's process.
        started: When the run began, by CLOCK_MONOTONIC in seconds.
        phase: The phase of the run.
    """

    testbed: Testbed
    folder: Path
    progress: Progress
    controller: subprocess.Popen[bytes]
    started: float
    phase: str = "starting"
    _watched: list[tuple[str, subprocess.Popen[bytes], Path]] = field(default_factory=list)

    def address(self, name: str) -> str:
        """A host's IPv4 address."""
        return str(self.testbed.topology.node(name).ip.ip)

    def launch(self, node: str, command: Sequence[str], name: str) -> subprocess.Popen[bytes]:
        """Start a program in a host; what it prints goes into the folder under that name."""
        return self.testbed.launch(node, command, self.folder / name)

    def watch(self, what: str, process: subprocess.Popen[bytes], log: Path) -> None:
        """Makes the run fail, from now on, when this process ends."""
        self._watched.append((what, process, log))

    def let_end(self, *processes: subprocess.Popen[bytes]) -> None:
        """Lets these processes end from now on."""
        self._watched = [w for w in self._watched if w[1] not in processes]

    def check(self, phase: str) -> None:
        """Fail when something has ended that must go on.

        Raises:
            TestbedError: it has.
        """
        for what, process, log in self._watched:
            if process.poll() is not None:
                raise TestbedError(
                    f"{what} {how(process.returncode)} while {phase}; its last words: "
                    f"{last_words(log)} ({log})"
                )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Explains a failure in the block by a process that has died, where one has."""
        try:
            yield
        except TestbedError:
            deadline = time.monotonic() + _DEATH_SECONDS
            while time.monotonic() < deadline:
                self.check(self.phase)
                time.sleep(_POLL_SECONDS / 10)
            raise

    def wait(self, phase: str, seconds: float) -> None:
        """Let time pass while watching what must go on."""
        self.phase = phase
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.progress(phase, time.monotonic() - self.started)
            self.check(phase)
            time.sleep(min(left, _POLL_SECONDS))

    def wait_for(self, process: subprocess.Popen[bytes], what: str) -> None:
        """Until a process has ended.

        Raises:
            TestbedError: it does not.
        """
        self.phase = "ending"
        deadline = time.monotonic() + _END_SECONDS
        while process.poll() is None:
            self.progress("ending", time.monotonic() - self.started)
            self.check("ending")
            if time.monotonic() > deadline:
                raise TestbedError(f"{what} does not end; see {self.folder}")
            time.sleep(_POLL_SECONDS)

    def end_controller(self) -> None:
        """End the controller, which writes its record then.

        Raises:
            TestbedError: it does not end, or failed.
        """
        self.check("ending")
        self.let_end(self.controller)
        self.controller.terminate()
        try:
            status = self.controller.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            raise TestbedError(
                f"the controller did not end within {_END_SECONDS:.0f} s of SIGTERM"
            ) from None
        if status != 0:
            words = last_words(self.testbed.logs / "controller.log")
            raise TestbedError(f"the controller failed at its end: {words}")


@contextmanager
def running_session(
    topology: Topology,
    topology_file: Path,
    *,
    upstream: Preset | QueueManagement = Preset.DOCSIS_PIE,
    downstream: Preset | QueueManagement | None = None,
    target: str,
    run: RunState,
    folder: Path,
    progress: Progress,
    metrics_port: int | None = None,
    static_arp: bool = False,
    recordings: Path | None = None,
    taps: Taps = NO_TAPS,
    seed: int = 0,
) -> Iterator[Session]:
    """Builds and provisions a system on an empty machine, and removes it at the end of the block.

    Args:
        topology: Topology to build.
        topology_file: The same as a file, for the controller.
        upstream: Queue management of the upstream service flows.
        downstream: Queue management of the downstream ones; None keeps what is configured.
        target: Name of the switch target.
        run: Records what is made.
        folder: Gets the raw files, controller/ with its record, and queue managements that
            are no presets as YAML; exists.
        progress: Told how far the run is.
        metrics_port: TCP port on the loopback interface for Prometheus, or None.
        static_arp: Fill the ARP tables of hosts and servers with each other's addresses
            instead of letting them ask.
        recordings: Folder in which the embedded switches record what they are given, or None.
        taps: Files of packets that the embedded switches write.
        seed: Seed of what the embedded switches draw; other targets have none.

    Raises:
        TestbedError: something did not work; nothing is left behind.
    """
    preflight.check_queue_managers(target, upstream, downstream)
    with ExitStack() as stack:
        progress("building", 0.0)
        testbed = stack.enter_context(
            running_testbed(
                topology,
                target=target,
                run=run,
                logs=folder,
                static_arp=static_arp,
                recordings=recordings,
                taps=taps,
                seed=seed if target == "embedded" else 0,
            )
        )
        controller = ControllerProgram(
            testbed,
            topology_file,
            folder / "controller",
            upstream=upstream,
            downstream=downstream,
            metrics_port=metrics_port,
        ).started()
        session = Session(testbed, folder, progress, controller, time.monotonic())
        session.watch("the controller", controller, testbed.logs / "controller.log")
        for switch in programs_of(testbed.net.switches):
            assert switch.process is not None, "started"
            session.watch(switch.told, switch.process, switch.log)
        with session.explained():
            yield session
        session.end_controller()
