# SPDX-License-Identifier: Apache-2.0
"""Short forms of a topology's modems, written out before they are validated.

    hosts: [...]                       one modem, named as the switch that runs it
    modems:
      - {name: home, count: 64}        home1 to home64, each with one host
      - {name: cm2, hosts: 2}          hosts cm2h1 and cm2h2

Addresses of hosts that are only counted come from the number of their modem, counted
from 1, and their own: 10.0.MODEM.HOST in the first server's network of 10.0.0.0/16, and
02:00:01:MODEM:HOST as the MAC address, MODEM in two bytes. From modem 256 on, which is 10.1.0.HOST,
that network must be a /15 or larger.
"""

from collections.abc import Callable
from ipaddress import IPv4Interface, IPv4Network
from typing import Any, Final

from docsis_control.config.errors import ConfigError
from docsis_control.config.yaml_file import Document, Location, quoted
from docsis_control.ports import MOST_HOSTS

HOSTS_A_MODEM: Final = 254
"""Hosts of a modem that are only counted."""

Data = dict[str, Any]
Where = Callable[[Location], Location]
"""Maps a location in the written-out document to the one in the file."""


def write_out(document: Document, data: Data) -> Where:
    """Replaces short forms in `data`, which is changed.

    Raises:
        ConfigError: A count that cannot be, or a network that is too small.
    """
    if "hosts" in data:
        if "modems" in data:
            raise _problem(
                document, ("hosts",), "stands beside modems; hosts belong to one of them"
            )
        return _single(data)
    entries = data.get("modems")
    if not isinstance(entries, list):
        return lambda location: location
    modems: list[object] = []
    sources: list[int] = []
    for index, entry in enumerate(entries):
        for modem in _repeated(document, index, entry):
            if isinstance(modem, dict) and (
                isinstance(modem.get("hosts"), int) or "hosts" not in modem
            ):
                modem["hosts"] = _hosts(document, data, index, modem, len(modems) + 1)
            modems.append(modem)
            sources.append(index)
    data["modems"] = modems

    def where(location: Location) -> Location:
        if len(location) > 1 and location[0] == "modems" and isinstance(location[1], int):
            return ("modems", sources[location[1]], *location[2:])
        return location

    return where


def _single(data: Data) -> Where:
    device = data.get("cable_modem")
    name = device.get("name") if isinstance(device, dict) else None
    modem = {"name": name, "hosts": data.pop("hosts")}
    for key in ("configuration", "service_flows", "classifiers"):
        if key in data:
            modem[key] = data.pop(key)
    data["modems"] = [modem]

    def where(location: Location) -> Location:
        if location[:3] == ("modems", 0, "name"):
            return ("cable_modem", "name")
        return location[2:] if location[:2] == ("modems", 0) else location

    return where


def _repeated(document: Document, index: int, entry: object) -> list[object]:
    if not isinstance(entry, dict) or "count" not in entry:
        return [entry]
    count = entry.pop("count")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_HOSTS:
        raise _problem(
            document, ("modems", index, "count"), f"must be 1 to {MOST_HOSTS}, not {count!r}"
        )
    hosts = entry.get("hosts", 1)
    if not isinstance(hosts, int):
        raise _problem(
            document,
            ("modems", index, "hosts"),
            "must be a number beside count; hosts that are named belong to one modem",
        )
    name = entry.get("name")
    return [{**entry, "name": f"{name}{number}"} for number in range(1, count + 1)]


def _hosts(
    document: Document, data: Data, index: int, modem: Data, number: int
) -> list[dict[str, str]]:
    """Hosts of the modem that is the `number`th."""
    count = modem.get("hosts", 1)
    where: Location = ("modems", index, "hosts")
    if isinstance(count, bool) or not 1 <= count <= HOSTS_A_MODEM:
        raise _problem(document, where, f"must be a list, or a number from 1 to {HOSTS_A_MODEM}")
    network = _network(document, data)
    first = 256 * number
    if first + count >= network.num_addresses - 1:
        # The prefix of the smallest network whose broadcast address is after the last host.
        prefix = network.max_prefixlen - (first + count + 1).bit_length()
        raise _problem(
            document,
            where,
            f"the network {network} of the first server has no addresses for the hosts of modem "
            f"{number}; give the servers addresses of a /{prefix}, or name the hosts",
        )
    return [
        {
            "name": f"{modem.get('name')}h{host}",
            "ip": f"{network[first + host]}/{network.prefixlen}",
            "mac": f"02:00:01:{number >> 8:02x}:{number & 0xFF:02x}:{host:02x}",
        }
        for host in range(1, count + 1)
    ]


def _network(document: Document, data: Data) -> IPv4Network:
    servers = data.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    address = first.get("ip") if isinstance(first, dict) else None
    try:
        return IPv4Interface(str(address)).network
    except ValueError:
        raise _problem(
            document,
            ("servers", 0, "ip"),
            f"{quoted(address)} is not an IPv4 address with its prefix, which hosts that are only "
            "counted take theirs from",
        ) from None


def _problem(document: Document, location: Location, message: str) -> ConfigError:
    return ConfigError([document.problem(location, message)])
