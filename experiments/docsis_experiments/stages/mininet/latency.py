# SPDX-License-Identifier: Apache-2.0
"""The main job in Mininet: uploads and a game's packets through the modem.

Each queue manager gets a testbed of its own, so that no bucket, queue or
connection remembers the one before; `measurement` has the plan.
"""

from __future__ import annotations

import time
from pathlib import Path

from docsis_control.plan import PRIMARY_SERVICE_FLOW, Role
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.models import Topology
from docsis_experiments.demo.plan import TAIL_SECONDS, Measurement, Plan
from docsis_experiments.stages.mininet.counters import CounterReader, counters
from docsis_experiments.stages.mininet.goodput import GoodputSampler, Watched
from docsis_experiments.stages.mininet.lateness import LatenessReader, lateness_of
from docsis_experiments.stages.mininet.traffic import iperf3, irtt
from docsis_testbed.progress import Progress
from docsis_testbed.realtime import PROBE_PRIORITY, real_time
from docsis_testbed.runstate import RunState
from docsis_testbed.session import Session, running_session


def measure(
    topology: Topology,
    topology_file: Path,
    aqm: Preset,
    *,
    plan: Plan,
    target: str,
    run: RunState,
    folder: Path,
    progress: Progress,
    metrics_port: int | None = None,
    recordings: Path | None = None,
) -> Measurement:
    """Run one queue manager from an empty machine to an empty machine.

    Args:
        topology: What to build.
        topology_file: The same as a file, for the controller.
        aqm: The upstream queue manager.
        plan: Times and traffic.
        target: Name of the switch target.
        run: Records what is made.
        folder: Gets the raw files; exists.
        progress: Told how far the run is.
        metrics_port: TCP port on the loopback interface for Prometheus, or None.
        recordings: Folder in which the embedded switches record what they are given, or None.

    Raises:
        TestbedError: something did not work; nothing is left behind.
    """
    with (
        running_session(
            topology,
            topology_file,
            upstream=aqm,
            target=target,
            run=run,
            folder=folder,
            progress=progress,
            metrics_port=metrics_port,
            recordings=recordings,
        ) as session,
        counters(topology.cable_modem, Role.CABLE_MODEM) as reader,
        lateness_of((topology.cable_modem, topology.cmts)) as clocks,
    ):
        return _measure(session, plan, reader, clocks, aqm)


def _measure(
    session: Session, plan: Plan, reader: CounterReader, clocks: LatenessReader, aqm: Preset
) -> Measurement:
    testbed = session.testbed
    servers = testbed.topology.servers
    server = session.launch(
        plan.probed,
        real_time(irtt.server_command(session.address(plan.probed)), PROBE_PRIORITY),
        "irtt-server.log",
    )
    irtt.wait_until_bound(server, session.folder / "irtt-server.log")
    for upload in plan.uploads:
        session.launch(
            upload.destination,
            iperf3.server_command(upload.port),
            f"iperf3-server-{upload.name}.json",
        )
    sampler = GoodputSampler(
        [
            Watched(
                testbed.node(server.name).pid,
                tuple(u.port for u in plan.uploads if u.destination == server.name),
            )
            for server in servers
        ]
    )
    sampler.start()
    probes_file = session.folder / "irtt.json"
    prober = session.launch(
        plan.prober,
        real_time(
            irtt.client_command(session.address(plan.probed), plan.seconds, probes_file),
            PROBE_PRIORITY,
        ),
        "irtt-client.log",
    )
    session.watch("irtt", prober, session.folder / "irtt-client.log")
    idle = session.wait("idle baseline", plan.idle_seconds)
    clients = []
    for upload in plan.uploads:
        name = f"iperf3-client-{upload.name}.json"
        seconds = plan.ramp_up_seconds + plan.measured_seconds + TAIL_SECONDS
        command = iperf3.client_command(session.address(upload.destination), upload.port, seconds)
        client = session.launch(upload.source, command, name)
        session.watch(f"the upload {upload.name}", client, session.folder / name)
        clients.append((upload, client, session.folder / name))
    session.wait("ramp-up", plan.ramp_up_seconds)
    before, late = reader.packets(PRIMARY_SERVICE_FLOW), clocks.read()
    loaded = session.wait("measuring", plan.measured_seconds)
    after, timing = reader.packets(PRIMARY_SERVICE_FLOW), clocks.since(late)
    # From here on traffic may end.
    session.let_end(prober, *(client for _, client, _ in clients))
    session.wait("ending", TAIL_SECONDS)
    session.wait_for(prober, "irtt")
    for upload, client, _ in clients:
        session.wait_for(client, f"the upload {upload.name}")
    goodput = sampler.stop()
    return Measurement(
        aqm=aqm,
        idle=idle,
        loaded=loaded,
        probes=irtt.load(probes_file),
        goodput=goodput,
        uploads={upload.name: iperf3.load(path) for upload, _, path in clients},
        counters={name: after[name] - before[name] for name in after},
        timing=timing,
        folder=session.folder,
        monotonic_offset_ns=time.time_ns() - time.monotonic_ns(),
    )
