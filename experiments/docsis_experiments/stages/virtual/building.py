# SPDX-License-Identifier: Apache-2.0
"""A world with the devices, links and hosts of a topology, as Mininet's testbed has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docsis_control.ports import CPU_PORT, HOST_PORTS, RF_PORT
from docsis_control.topology.models import Topology
from docsis_experiments.stages.virtual.machine import Machine
from docsis_experiments.stages.virtual.module import empty_world
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_world import World


def build(topology: Topology, seed: int, machine: Machine) -> World:
    """Make a world without pipelines, queues or traffic yet.

    Rates and delays are those of the devices' ports, which the controller configures, so links
    have neither; a host's link has the 1 Gbit/s of a CPE's.

    Args:
        topology: What to build.
        seed: The seed of all that is random in it.
        machine: How late hosts and switches are.

    Raises:
        TestbedError: The topology is beyond the world's limits.
    """
    world = empty_world(seed)
    sides = ((topology.cable_modem, topology.hosts), (topology.cmts, topology.servers))
    try:
        for device, near in sides:
            ports = (RF_PORT, *HOST_PORTS[: len(near)])
            world.add_device(
                device.name, device.device_id, ports, cpu_port=CPU_PORT, lateness=machine.switches
            )
        world.connect((topology.cable_modem.name, RF_PORT), (topology.cmts.name, RF_PORT))
        for device, near in sides:
            for port, host in zip(HOST_PORTS, near, strict=False):
                world.add_host(
                    host.name, host.mac, str(host.ip), device.name, port, lateness=machine.hosts
                )
    except ValueError as error:
        raise TestbedError(
            f"topology {topology.name} is beyond what a virtual world can have: {error}"
        ) from None
    return world
