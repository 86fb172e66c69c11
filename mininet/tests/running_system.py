# SPDX-License-Identifier: Apache-2.0
"""A system for tests to use as its operator does: in Mininet, with its controller."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docsis_control.queue_managers.names import Preset
from docsis_control.topology import Topology
from docsis_control.topology.document import write_topology
from docsis_testbed.runstate import recorded_run
from docsis_testbed.session import ControllerProgram
from docsis_testbed.testbed import Testbed, running_testbed

PROGRAM = Path(sys.executable).with_name("docsis-p4")


@dataclass(frozen=True)
class Running:
    """A system under way.

    Attributes:
        topology: The topology that was built.
        testbed: Its nodes.
        controller: Its controller's process id.
        folder: Folder of its logs.
    """

    topology: Topology
    testbed: Testbed
    controller: int
    folder: Path

    def command(self, *words: str, status: int = 0) -> str:
        """Runs `docsis-p4 WORDS` for this controller; gives its output, or its errors."""
        result = subprocess.run(
            [str(PROGRAM), *words, "--pid", str(self.controller)],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        assert result.returncode == status, result.stderr or result.stdout
        return result.stderr if status else result.stdout

    def show(self) -> dict[str, Any]:
        """The status."""
        status: dict[str, Any] = json.loads(self.command("show", "--json"))
        return status

    def address(self, node: str) -> str:
        """A host's IPv4 address."""
        return str(self.topology.node(node).ip.ip)

    def wait_for_port(self, node: str, port: int, *, udp: bool = False) -> None:
        """Until something in a host listens."""
        deadline = time.monotonic() + 10
        listing = ["ss", "-H", "-lun" if udp else "-ltn"]
        while f":{port} " not in self.testbed.node(node).pexec(listing)[0]:
            assert time.monotonic() < deadline, f"nothing listens at port {port} of {node}"
            time.sleep(0.02)


@contextmanager
def running_system(
    topology: Topology, folder: Path, metrics_port: int | None = None, *, static_arp: bool = False
) -> Iterator[Running]:
    """A system that is gone at the end of the block."""
    topology_file = folder / "topology.yaml"
    write_topology(topology, topology_file)
    with (
        recorded_run("test") as run,
        running_testbed(
            topology, target="embedded", run=run, logs=folder, static_arp=static_arp
        ) as testbed,
    ):
        controller = ControllerProgram(
            testbed,
            topology_file,
            folder / "controller",
            upstream=Preset.DOCSIS_PIE,
            metrics_port=metrics_port,
        ).started()
        yield Running(topology, testbed, controller.pid, folder)
