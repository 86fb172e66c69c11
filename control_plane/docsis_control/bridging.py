# SPDX-License-Identifier: Apache-2.0
"""The entries of a device's bridge: its interfaces, the stations, whom a flood reaches."""

from collections.abc import Iterator
from typing import Final

from docsis_control.plan import BEHIND_LOOP, GROUP_MODEM
from docsis_control.ports import HOST_PORTS, LOOP_PORT, RF_PORT
from docsis_control.tables import MulticastGroup, TableEntry
from docsis_control.topology.models import Host, Topology

STATION_TABLE: Final = "FrameIngress.bridge.station"
"""The table in which a modem's bridge looks up the port behind which a host is."""


class ModemBridges:
    """The modems' bridges, all on one switch: each floods to its own hosts and to the cable.

    Args:
        topology: The topology.
        barred: Numbers of the modems whose hosts may not use the network.
    """

    def __init__(self, topology: Topology, barred: frozenset[int] = frozenset()) -> None:
        self._barred = barred
        self._servers = topology.servers
        # Port, modem and host.
        self._hosts = [
            (port, number, host)
            for port, (number, host) in zip(
                HOST_PORTS,
                (
                    (number, host)
                    for number, modem in enumerate(topology.modems, 1)
                    for host in modem.hosts
                ),
                strict=False,
            )
        ]

    def groups(self) -> Iterator[MulticastGroup]:
        """A group for each port that may receive, with the port's number."""
        yield MulticastGroup(RF_PORT, tuple(port for port, _, _ in self._hosts))
        for port, number, _ in self._hosts:
            near = (p for p, other, _ in self._hosts if other == number and p != port)
            yield MulticastGroup(port, (RF_PORT, *near))

    def entries(self) -> Iterator[TableEntry]:
        """Yields the entries of the tables `interface` and `station`."""
        yield _interface(RF_PORT, GROUP_MODEM)
        for port, number, host in self._hosts:
            if number not in self._barred:
                yield _interface(port, number)
            yield _station(GROUP_MODEM, host, port, number)
            yield _station(number, host, port, number)
        for number in dict.fromkeys(number for _, number, _ in self._hosts):
            for server in self._servers:
                yield _station(number, server, RF_PORT, number)


class CmtsBridge:
    """The CMTS's bridge: the modems' hosts behind the RF port, the servers at the others."""

    def __init__(self, topology: Topology) -> None:
        """Args: the topology."""
        self._modems = topology.modems
        self._shared = topology.shares_downstream
        self._servers = list(zip(HOST_PORTS, topology.servers, strict=False))

    def groups(self) -> Iterator[MulticastGroup]:
        """A group for each port, with the port's number, of all other ports."""
        ports = [RF_PORT, *(port for port, _ in self._servers)]
        for port in ports:
            yield MulticastGroup(port, tuple(other for other in ports if other != port))

    def entries(self) -> Iterator[TableEntry]:
        """Yields the entries of the tables `interface` and `station`."""
        yield _interface(RF_PORT, GROUP_MODEM)
        for port, server in self._servers:
            yield _interface(port, GROUP_MODEM)
            yield _station(GROUP_MODEM, server, port, GROUP_MODEM)
        for number, modem in enumerate(self._modems, 1):
            for host in modem.hosts:
                yield _station(GROUP_MODEM, host, RF_PORT, number)
                if self._shared:
                    # Its service flow let it go: the group's, which serves all, is next.
                    yield _station(BEHIND_LOOP, host, RF_PORT, GROUP_MODEM)
        if self._shared:
            # Only what is for a station goes there, so there is nobody to flood to.
            yield _interface(LOOP_PORT, BEHIND_LOOP, flood_group=0)


def _interface(port: int, modem: int, *, flood_group: int | None = None) -> TableEntry:
    return TableEntry(
        "FrameIngress.bridge.interface",
        {"port": port},
        "provision",
        {
            "flood_group": port if flood_group is None else flood_group,
            "to_rf": int(port != RF_PORT),
            "modem": modem,
        },
    )


def _station(of: int, host: Host, port: int, modem: int) -> TableEntry:
    """The entry by which frames from an interface of the modem `of` reach `host`."""
    return TableEntry(
        STATION_TABLE,
        {"modem": of, "address": int(host.mac.replace(":", ""), 16)},
        "forward",
        {"port": port, "to_rf": int(port == RF_PORT), "modem": modem},
    )
