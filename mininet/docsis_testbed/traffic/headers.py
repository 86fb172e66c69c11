# SPDX-License-Identifier: Apache-2.0
"""Headers that a modem's classifiers put into a given service flow. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import product
from typing import Final

from docsis_control.modem_config.fields import TCP_OR_UDP
from docsis_control.modem_config.provisioned import PacketClassifier

TCP: Final = 6
UDP: Final = 17

_LAST_PORT: Final = 0xFFFF
_IPV4_ETHERTYPE: Final = ("ethertype", 0x0800)


@dataclass(frozen=True)
class Header:
    """What classifiers see of an untagged IPv4 packet between two hosts.

    Attributes:
        protocol: TCP or UDP.
        tos: ToS byte.
        source, destination: Addresses.
        source_port, destination_port: Ports.
    """

    protocol: int
    tos: int
    source: IPv4Address
    destination: IPv4Address
    source_port: int
    destination_port: int


def header_for(
    service_flow: int,
    primary: bool,
    classifiers: Sequence[PacketClassifier],
    usual: Header,
    protocols: Sequence[int] = (UDP, TCP),
) -> Header | None:
    """A header that goes into a service flow; None where none between these hosts does.

    Args:
        service_flow: Its reference.
        primary: Whether it takes what no classifier takes.
        classifiers: The modem's, of that direction.
        usual: The header to begin with: ToS byte and ports stay unless a classifier needs others.
        protocols: Which to try, in this order.
    """
    ordered = sorted((c for c in classifiers if c.active), key=PacketClassifier.order)
    for header in _candidates(ordered, usual, protocols):
        taken = next((c.service_flow for c in ordered if matches(c, header)), None)
        if taken == service_flow or (taken is None and primary):
            return header
    return None


def matches(classifier: PacketClassifier, header: Header) -> bool:
    """Whether a classifier takes an untagged IPv4 packet, whatever the MAC addresses (C.2.1)."""
    if classifier.ip_version == 6 or classifier.vlan is not None or classifier.user_priority:
        return False
    # Conditions on MAC addresses are not met on purpose.
    if classifier.source_mac or classifier.destination_mac:
        return False
    if classifier.ethernet not in (None, _IPV4_ETHERTYPE) and classifier.ethernet[0] != "all-data":
        return False
    if classifier.tos is not None:
        low, high, mask = classifier.tos
        if not low <= header.tos & mask <= high:
            return False
    if classifier.protocol not in (None, TCP_OR_UDP, header.protocol):
        return False
    return (
        _masked(classifier.source, header.source)
        and _masked(classifier.destination, header.destination)
        and _within(classifier.source_ports, header.source_port)
        and _within(classifier.destination_ports, header.destination_port)
    )


def _masked(condition: tuple[int, int] | None, address: IPv4Address) -> bool:
    return condition is None or int(address) & condition[1] == condition[0]


def _within(ports: tuple[int, int] | None, port: int) -> bool:
    return ports is None or ports[0] <= port <= ports[1]


def _candidates(
    classifiers: Sequence[PacketClassifier], usual: Header, protocols: Sequence[int]
) -> Iterator[Header]:
    """The usual header, and what the conditions of the classifiers name in its place."""
    tos = {usual.tos: None}
    source = {usual.source_port: None}
    destination = {usual.destination_port: None}
    for classifier in classifiers:
        if classifier.tos is not None:
            low, high, mask = classifier.tos
            tos |= dict.fromkeys([b for b in range(256) if low <= b & mask <= high][:1])
        source |= _ends(classifier.source_ports)
        destination |= _ends(classifier.destination_ports)
    for protocol, byte, *ports in product(protocols, tos, source, destination):
        yield Header(protocol, byte, usual.source, usual.destination, *ports)


def _ends(ports: tuple[int, int] | None) -> dict[int, None]:
    """The first port of a range, and its last where the first is another's."""
    if ports is None or ports == (0, _LAST_PORT):
        return {}
    return dict.fromkeys(port for port in ports if port)
