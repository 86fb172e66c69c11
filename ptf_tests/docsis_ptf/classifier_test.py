# SPDX-License-Identifier: Apache-2.0
"""Third rung for classification: rules, and which service flow a frame went to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from docsis_ptf.docsis_test import MODEM, NEAR_MAC, NETWORK_MAC, DocsisTest
from docsis_ptf.entities import Entry

CLASSIFIER: Final = "FrameIngress.classifier.classifier"
PAYLOAD: Final = b"\xa5" * 60

FULL: Final[Mapping[str, int]] = {
    "dst_mac": (1 << 48) - 1,
    "src_mac": (1 << 48) - 1,
    "ether_type": 0xFFFF,
    "is_llc": 1,
    "llc_dsap": 0xFF,
    "tagged": 1,
    "vlan_id": 0xFFF,
    "is_ipv4": 1,
    "ipv4_src": 0xFFFFFFFF,
    "ipv4_dst": 0xFFFFFFFF,
    "is_ipv6": 1,
    "ipv6_src": (1 << 128) - 1,
    "ipv6_dst": (1 << 128) - 1,
    "ipv6_flow_label": 0xFFFFF,
    "ip_tos": 0xFF,
    "ip_protocol": 0xFF,
    "has_ports": 1,
}
"""The full mask of each ternary field."""


def ethernet(**fields: Any) -> Any:
    """The Ethernet header of a frame from the near station to the network."""
    return Ether(**{"dst": NETWORK_MAC, "src": NEAR_MAC, **fields})


def udp4(*, ether: Mapping[str, Any] | None = None, **ip: Any) -> Any:
    """UDP over IPv4, with the IPv4 header's fields as given."""
    header = IP(**{"src": "10.0.0.11", "dst": "10.0.0.101", **ip})
    return ethernet(**(ether or {})) / header / UDP(sport=4000, dport=5000) / Raw(PAYLOAD)


def udp4_ports(sport: int, dport: int) -> Any:
    """UDP over IPv4 between two ports."""
    header = IP(src="10.0.0.11", dst="10.0.0.101")
    return ethernet() / header / UDP(sport=sport, dport=dport) / Raw(PAYLOAD)


def tcp4(sport: int, dport: int) -> Any:
    """TCP over IPv4 between two ports."""
    header = IP(src="10.0.0.11", dst="10.0.0.101")
    return ethernet() / header / TCP(sport=sport, dport=dport) / Raw(PAYLOAD)


def icmp4() -> Any:
    """ICMP over IPv4: no ports."""
    return ethernet() / IP(src="10.0.0.11", dst="10.0.0.101") / ICMP() / Raw(PAYLOAD)


def llc(header: bytes) -> Any:
    """IEEE 802.2: a length, the LLC header as given, and 60 bytes."""
    return ethernet(type=len(header) + len(PAYLOAD)) / Raw(header + PAYLOAD)


def udp6(**ip: Any) -> Any:
    """UDP over IPv6, with the IPv6 header's fields as given."""
    header = IPv6(**{"src": "2001:db8::11", "dst": "2001:db8::101", **ip})
    return ethernet() / header / UDP(sport=4000, dport=5000) / Raw(PAYLOAD)


def tagged(pcp: int, vid: int) -> Any:
    """UDP over IPv4 behind a VLAN tag."""
    inner = IP(src="10.0.0.11", dst="10.0.0.101") / UDP(sport=4000, dport=5000) / Raw(PAYLOAD)
    return ethernet() / Dot1Q(prio=pcp, vlan=vid) / inner


class ClassifierTest(DocsisTest):
    """Frames from the near station to the network, classified upstream."""

    def rule(
        self, index: int, match: Mapping[str, Any], priority: int = 10, modem: int = MODEM
    ) -> Entry:
        """A classifier of the modem: frames that match belong to service flow `index`.

        An int for a ternary field stands for exactly this value.
        """
        keys: dict[str, Any] = {
            name: (value, FULL[name]) if isinstance(value, int) else value
            for name, value in match.items()
        }
        keys["modem"] = modem
        entry = Entry(CLASSIFIER, "set_service_flow", {"service_flow": index}, keys, priority)
        self.insert(entry)
        return entry

    def expect_service_flow(self, frame: Any, index: int, *others: int) -> None:
        """The frame leaves unchanged, and is counted under `index` and none of the others."""
        before = {flow: self.fates(flow) for flow in (index, *others)}
        self.send(self.near, frame)
        self.expect_frame(self.rf, frame)
        self.expect_fates(index, before[index], forwarded=1)
        for other in others:
            self.expect_fates(other, before[other])
