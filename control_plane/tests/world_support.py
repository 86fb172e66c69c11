# SPDX-License-Identifier: Apache-2.0
"""The residential testbed in virtual time, provisioned through the entrance, without a law."""

from pathlib import Path

from docsis_world import Stream, World
from finsy.proto import U128, p4r

from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2 as tm
from docsis_control.p4rt.entities import group_updates, table_updates
from docsis_control.p4rt.pipeline import load_pipeline
from docsis_control.plan import DevicePlan
from docsis_control.ports import CPU_PORT, HOST_PORTS, RF_PORT
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology import Topology, load_topology

TOPOLOGIES = Path(__file__).resolve().parents[2] / "topologies"
ELECTION_ID = U128.encode(1)
SECOND = 1_000_000_000
LATE = (37_000, 246_000)
"""Hosts' lateness, nanoseconds."""


def arbitrate(world: World, name: str, device_id: int) -> Stream:
    """A stream whose client is the device's primary controller, as long as it is open."""
    stream = world.open_stream(name)
    request = p4r.StreamMessageRequest()
    request.arbitration.device_id = device_id
    request.arbitration.election_id.CopyFrom(ELECTION_ID)
    stream.send(request.SerializeToString())
    return stream


class Residential:
    """A world with the devices and hosts of topologies/residential.yaml.

    Attributes:
        world: The world; cpe1 and cpe2 are at the modem, server1 and server2 at the CMTS.
    """

    def __init__(self, seed: int = 7, lateness: tuple[int, int] = LATE) -> None:
        self.world = World(seed)
        topology = load_topology(TOPOLOGIES / "residential.yaml")
        self._build(topology, lateness)
        plans = deploy(topology, Preset.DROP_TAIL_250MS).devices
        self.streams = [self._provision(plan) for plan in plans]

    def _build(self, topology: Topology, lateness: tuple[int, int]) -> None:
        world = self.world
        sides = ((topology.cable_modem, topology.hosts), (topology.cmts, topology.servers))
        for device, near in sides:
            ports = (RF_PORT, *HOST_PORTS[: len(near)])
            world.add_device(device.name, device.device_id, ports, cpu_port=CPU_PORT)
            for port, host in zip(HOST_PORTS, near, strict=False):
                world.add_host(
                    host.name, host.mac, str(host.ip), device.name, port, lateness=lateness
                )
        world.connect((topology.cable_modem.name, RF_PORT), (topology.cmts.name, RF_PORT))

    def _provision(self, plan: DevicePlan) -> Stream:
        stream = arbitrate(self.world, plan.name, plan.device_id)
        pipeline = load_pipeline(plan.role.value)
        config = p4r.SetForwardingPipelineConfigRequest(
            device_id=plan.device_id,
            election_id=ELECTION_ID,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=p4r.ForwardingPipelineConfig(
                p4info=pipeline.p4info, p4_device_config=pipeline.device_config
            ),
        )
        self._call(plan, "/p4.v1.P4Runtime/SetForwardingPipelineConfig", config)
        queues = tm.ConfigureRequest(device_id=plan.device_id)
        for port in plan.ports:
            queues.ports.add(port=port.port, receive_delay_ns=port.receive_delay_ns, rate=port.rate)
        for flow in plan.service_flows:
            queues.service_flows.add(
                queue={"port": flow.port, "queue_id": flow.index},
                max_sustained_rate=flow.max_sustained_rate,
                max_burst=flow.max_burst,
                peak_rate=flow.peak_rate,
                queue_limit=flow.queue_limit,
            )
        self._call(plan, "/docsis.tm.v1.TrafficManager/Configure", queues)
        updates = [*group_updates(plan.groups), *table_updates(pipeline, plan.tables)]
        write = p4r.WriteRequest(device_id=plan.device_id, election_id=ELECTION_ID, updates=updates)
        self._call(plan, "/p4.v1.P4Runtime/Write", write)
        return stream

    def _call(
        self,
        plan: DevicePlan,
        method: str,
        request: p4r.WriteRequest | p4r.SetForwardingPipelineConfigRequest | tm.ConfigureRequest,
    ) -> None:
        self.world.call(plan.name, method, request.SerializeToString())

    def load(self) -> list[int]:
        """Adds four uploads, a call, a web user and a stream; their numbers."""
        world = self.world
        pairs = [(host, server) for host in ("cpe1", "cpe2") for server in ("server1", "server2")]
        uploads = [
            world.tcp_transfer(host, server, 5201 + number)
            for number, (host, server) in enumerate(pairs)
        ]
        return [
            *uploads,
            world.probes("cpe1", "server1", count=10_000),
            world.requests("cpe2", "server1", 80, think_ns=SECOND // 10),
            world.udp_stream("server2", "cpe1", 6000, interval_ns=5_000_000, one_in=8),
        ]


if __name__ == "__main__":
    residential = Residential()
    residential.load()
    residential.world.run_until(3 * SECOND)
    print(residential.world.digest(), residential.world.totals())
