# SPDX-License-Identifier: Apache-2.0
"""Names of the switches' interfaces, which are in the namespace in which a run was started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docsis_control.ports import HOST_PORTS, RF_PORT

if TYPE_CHECKING:
    from docsis_control.topology.models import Topology


def switch_interfaces(topology: Topology) -> list[tuple[str, str]]:
    """Returns each interface of the switches, behind the name of its device."""
    # Upstream channels are in the switches' process, and the RF link with them.
    rf = () if topology.upstream_channels else (RF_PORT,)
    return [
        (device.name, f"{device.name}-eth{port}")
        for device, near in (
            (topology.cable_modem, topology.hosts),
            (topology.cmts, topology.servers),
        )
        for port in (*rf, *HOST_PORTS[: len(near)])
    ]
