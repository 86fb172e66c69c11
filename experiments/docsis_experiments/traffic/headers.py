# SPDX-License-Identifier: Apache-2.0
"""Headers that a modem's classifiers put into a given service flow. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import product
from typing import Final

from docsis_control.classification import classifier_entries
from docsis_control.modem_config.provisioned import PacketClassifier
from docsis_control.tables import MatchValue, Range, Ternary

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
    matches = [entry.match or {} for entry in entries]
    fields = _fields(usual)
    own = _places(entry.params["service_flow"] == service_flow for entry in entries)
    always = _places(_meets_the_others(match, fields) for match in matches)
    choices = [
        _different(matches, field, values)
        for field, values in _choices(classifiers, usual, protocols).items()
    ]
    for chosen in product(*choices):
        met = always
        for _, places in chosen:
            met &= places
        # The first entry whose conditions are met takes the packet.
        if met & -met & own or (primary and not met):
            protocol, tos, *ports = (value for value, _ in chosen)
            return Header(protocol, tos, usual.source, usual.destination, *ports)
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


_CHOSEN: Final = ("ip_protocol", "ip_tos", "l4_src_port", "l4_dst_port")
"""The fields of which a header may have any value."""

_Match = Mapping[str, MatchValue]


def _places(which: Iterable[bool]) -> int:
    """Some of the entries: a bit each, the first entry's the lowest."""
    return sum(1 << place for place, is_one in enumerate(which) if is_one)


def _meets_the_others(match: _Match, fields: Mapping[str, int]) -> bool:
    """Whether all conditions are met but those on the fields that are chosen."""
    return all(
        name in fields and _holds(condition, fields[name])
        for name, condition in match.items()
        if name not in _CHOSEN
    )


def _holds(condition: MatchValue, value: int) -> bool:
    match condition:
        case Ternary():
            return value & condition.mask == condition.value
        case Range():
            return condition.low <= value <= condition.high
        case _:
            return value == condition


def _different(
    matches: Sequence[_Match], field: str, values: Iterable[int]
) -> Sequence[tuple[int, int]]:
    """The values of a field that are not alike for all entries, each with the entries it meets."""
    found: dict[int, int] = {}
    for value in values:
        meets = _places(field not in match or _holds(match[field], value) for match in matches)
        found.setdefault(meets, value)
    return [(value, meets) for meets, value in found.items()]


def _choices(
    classifiers: Sequence[PacketClassifier], usual: Header, protocols: Sequence[int]
) -> Mapping[str, Sequence[int]]:
    """Values of the chosen fields, first those of the usual header and those that rules name.

    All there are, but for values that are alike for all classifiers.
    """
    tos = [usual.tos]
    for classifier in classifiers:
        if classifier.tos is not None:
            low, high, mask = classifier.tos
            tos += [byte for byte in range(256) if low <= byte & mask <= high][:1]
    return {
        "ip_protocol": protocols,
        "ip_tos": [*tos, *range(256)],
        "l4_src_port": _ports(usual.source_port, (one.source_ports for one in classifiers)),
        "l4_dst_port": _ports(
            usual.destination_port, (one.destination_ports for one in classifiers)
        ),
    }


def _ports(usual: int, ranges: Iterable[tuple[int, int] | None]) -> Sequence[int]:
    """The usual port, the ends of the ranges, and the ports beside them."""
    some = [one for one in ranges if one is not None]
    ends = [port for one in some for port in one]
    beside = [port for low, high in some for port in (low - 1, high + 1)]
    return [usual, *(port for port in (*ends, *beside) if 0 < port <= _LAST_PORT)]
