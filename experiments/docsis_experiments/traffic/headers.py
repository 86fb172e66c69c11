# SPDX-License-Identifier: Apache-2.0
"""Headers that a modem's classifiers put into a given service flow. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import product
from typing import Final

from docsis_control.classification import classifier_entries
from docsis_control.modem_config.provisioned import PacketClassifier
from docsis_control.tables import Range, TableEntry, Ternary

TCP: Final = 6
UDP: Final = 17

_LAST_PORT: Final = 0xFFFF
_IPV4_ETHERTYPE: Final = 0x0800
_MODEM: Final = 1
"""Any modem's number: its own classifiers do not depend on it."""


@dataclass(frozen=True)
class Header:
    """The fields that classifiers see of an untagged IPv4 packet between two hosts.

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
    # What the pipeline is given decides, and not another reading of the classifiers.
    flows = {classifier.service_flow: classifier.service_flow for classifier in classifiers}
    entries = classifier_entries(_MODEM, classifiers, flows)
    for header in _candidates(classifiers, usual, protocols):
        fields = _fields(header)
        taken = next((e.params["service_flow"] for e in entries if _meets(e, fields)), None)
        if taken == service_flow or (taken is None and primary):
            return header
    return None


def _fields(header: Header) -> Mapping[str, int]:
    """The fields of the classifier table, without MAC addresses.

    Conditions on those are not met on purpose: another reason than ports and ToS to choose by.
    """
    absent = (
        "is_llc", "llc_dsap", "tagged", "vlan_priority", "vlan_id",
        "is_ipv6", "ipv6_src", "ipv6_dst", "ipv6_flow_label",
    )  # fmt: skip
    return dict.fromkeys(absent, 0) | {
        "modem": _MODEM,
        "ether_type": _IPV4_ETHERTYPE,
        "is_ipv4": 1,
        "ipv4_src": int(header.source),
        "ipv4_dst": int(header.destination),
        "ip_tos": header.tos,
        "ip_protocol": header.protocol,
        "has_ports": 1,
        "l4_src_port": header.source_port,
        "l4_dst_port": header.destination_port,
    }


def _meets(entry: TableEntry, fields: Mapping[str, int]) -> bool:
    assert entry.match is not None, "a classifier's"
    for name, condition in entry.match.items():
        value = fields.get(name)
        match condition:
            case _ if value is None:
                return False
            case Ternary():
                met = value & condition.mask == condition.value
            case Range():
                met = condition.low <= value <= condition.high
            case _:
                met = value == condition
        if not met:
            return False
    return True


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
