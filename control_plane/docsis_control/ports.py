# SPDX-License-Identifier: Apache-2.0
"""Port numbers of a device: which there are, and which hosts and servers get.

v1model's port numbers have 9 bits (port_t of p4src/include/types.p4). 0 is not used, 511 is where
v1model sends what it drops, and 255 is the port of packet-in and packet-out.
"""

from typing import Final

RF_PORT: Final = 1
"""Port towards the cable, of the switch that runs the modems and of the CMTS."""

CPU_PORT: Final = 255
"""CPU_PORT of p4src/include/types.p4."""

DROP_PORT: Final = 511
"""The port to which v1model's mark_to_drop() sends a frame."""

HOST_PORTS: Final = tuple(port for port in range(RF_PORT + 1, DROP_PORT) if port != CPU_PORT)
"""Ports of the CPEs of the modems' switch, and of the servers of a CMTS, in their order."""

FIRST_HOST_PORT: Final = HOST_PORTS[0]
"""Port of the first CPE, and of the first server of a CMTS."""

LOOP_PORT: Final = HOST_PORTS[-1]
"""Port of a CMTS whose downstream service flows share one queue: what leaves their own queues there
comes from it again, to be queued for the cable."""

MOST_HOSTS: Final = len(HOST_PORTS)
"""Hosts or servers that a device has ports for: 508. Each modem has one at the least."""
