# SPDX-License-Identifier: Apache-2.0
"""Frames from the near station to the network, whose fields a classifier looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from docsis_ptf.docsis_test import NEAR_MAC, NETWORK_MAC

PAYLOAD: Final = b"\xa5" * 60
ETHERTYPE: Final = 0x88B5  # for local experiments: no header behind it is looked at
IPV4_SOURCE: Final = "10.0.0.11"
IPV4_DESTINATION: Final = "10.0.0.101"
IPV6_SOURCE: Final = "2001:db8::11"
IPV6_DESTINATION: Final = "2001:db8::101"


def ethernet(**fields: Any) -> Any:
    """The Ethernet header of a frame from the near station to the network."""
    return Ether(**{"dst": NETWORK_MAC, "src": NEAR_MAC, **fields})


def ip4(**fields: Any) -> Any:
    """An IPv4 header."""
    return IP(**{"src": IPV4_SOURCE, "dst": IPV4_DESTINATION, **fields})


def ip6(**fields: Any) -> Any:
    """An IPv6 header."""
    return IPv6(**{"src": IPV6_SOURCE, "dst": IPV6_DESTINATION, **fields})


def udp4(*, ether: Mapping[str, Any] | None = None, **ip: Any) -> Any:
    """UDP over IPv4, with the IPv4 header's fields as given."""
    return ethernet(**(ether or {})) / ip4(**ip) / UDP(sport=4000, dport=5000) / Raw(PAYLOAD)


def udp4_ports(sport: int, dport: int) -> Any:
    """UDP over IPv4 between two ports."""
    return ethernet() / ip4() / UDP(sport=sport, dport=dport) / Raw(PAYLOAD)


def tcp4(sport: int, dport: int) -> Any:
    """TCP over IPv4 between two ports."""
    return ethernet() / ip4() / TCP(sport=sport, dport=dport) / Raw(PAYLOAD)


def icmp4() -> Any:
    """ICMP over IPv4: no ports."""
    return ethernet() / ip4() / ICMP() / Raw(PAYLOAD)


def udp6(**ip: Any) -> Any:
    """UDP over IPv6, with the IPv6 header's fields as given."""
    return ethernet() / ip6(**ip) / UDP(sport=4000, dport=5000) / Raw(PAYLOAD)


def udp6_ports(sport: int, dport: int) -> Any:
    """UDP over IPv6 between two ports."""
    return ethernet() / ip6() / UDP(sport=sport, dport=dport) / Raw(PAYLOAD)


def tcp6(sport: int, dport: int) -> Any:
    """TCP over IPv6 between two ports."""
    return ethernet() / ip6() / TCP(sport=sport, dport=dport) / Raw(PAYLOAD)


def plain(ether_type: int = ETHERTYPE) -> Any:
    """Ethernet II with an EtherType that has no header here."""
    return ethernet(type=ether_type) / Raw(PAYLOAD)


def llc(header: bytes, tag: Any = None) -> Any:
    """IEEE 802.2: a length, the LLC header as given, and 60 bytes; behind a tag if given."""
    length = len(header) + len(PAYLOAD)
    data = Raw(header + PAYLOAD)
    if tag is None:
        return ethernet(type=length) / data
    tag.type = length
    return ethernet() / tag / data


def snap(protocol: int, organization: int = 0, tag: Any = None) -> Any:
    """IEEE 802.2 with SNAP: the organization's protocol, an EtherType if it is 0 (RFC 1042)."""
    header = b"\xaa\xaa\x03" + organization.to_bytes(3) + protocol.to_bytes(2)
    return llc(header, tag)


def snap4() -> Any:
    """UDP over IPv4 behind LLC and SNAP."""
    data = b"\xaa\xaa\x03\x00\x00\x00\x08\x00" + bytes(udp4())[14:]
    return ethernet(type=len(data)) / Raw(data)


def tagged(pcp: int, vid: int) -> Any:
    """UDP over IPv4 behind a VLAN tag."""
    return ethernet() / Dot1Q(prio=pcp, vlan=vid) / ip4() / UDP(sport=4000, dport=5000) / PAYLOAD
