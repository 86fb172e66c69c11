# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 run`: the system running, with the user in Mininet's command line."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mininet.cli import CLI
from rich.console import Console

from docsis_control.queue_managers.models import QueueManagement
from docsis_control.queue_managers.presets import name_of
from docsis_control.topology.models import Topology
from docsis_testbed import preflight
from docsis_testbed.results.folder import write_topology
from docsis_testbed.runstate import recorded_run
from docsis_testbed.session import start_controller
from docsis_testbed.testbed import running_testbed


def run(
    topology: Topology,
    *,
    target: str,
    upstream: QueueManagement,
    downstream: QueueManagement | None = None,
    console: Console,
    metrics_port: int | None = None,
) -> None:
    """Build the topology, provision it, and hand over until the user leaves.

    Args:
        topology: What to build.
        target: Name of the switch target.
        upstream: Queue manager of the upstream service flows.
        downstream: That of the downstream ones; None where they keep what is configured.
        console: Where to tell what can be done.
        metrics_port: TCP port on the loopback interface for Prometheus, or None.

    Raises:
        TestbedError: something is missing or did not work; nothing is left behind.
    """
    preflight.check_queue_managers(target, upstream, downstream)
    preflight.check_root()
    with recorded_run("run") as state, tempfile.TemporaryDirectory(prefix="docsis-p4-") as scratch:
        preflight.check_all(topology, target)
        logs = Path(scratch)
        topology_file = logs / "topology.yaml"
        write_topology(topology, topology_file)
        with running_testbed(topology, target=target, run=state, logs=logs) as testbed:
            start_controller(
                testbed,
                topology_file,
                logs / "controller",
                upstream=upstream,
                downstream=downstream,
                metrics_port=metrics_port,
            )
            host, server = topology.hosts[0].name, topology.servers[0].name
            console.print(
                f"{topology.name} is running with {name_of(upstream)}; "
                f"logs are in {logs} until you leave.",
                soft_wrap=True,
            )
            console.print(
                f"Try: {server} iperf3 -s -D -1; {host} iperf3 -c {server} -C cubic -t 5; "
                "`docsis-p4 show` in another terminal; exit leaves and cleans up.",
                soft_wrap=True,
                markup=False,
            )
            CLI(testbed.net)
