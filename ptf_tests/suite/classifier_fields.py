# SPDX-License-Identifier: Apache-2.0
"""The fields of a classifier, each alone: which frames a rule takes, to the bit and to the port.

TLVs 22 and 23; the P4 fields behind them: docs/p4-contract.md, "Tables".
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from scapy.layers.inet import TCP, UDP
from scapy.layers.l2 import Dot1Q
from scapy.packet import Raw

from docsis_ptf import classifier_test
from docsis_ptf.classifier_test import FULL
from docsis_ptf.docsis_test import BROADCAST_MAC, MODEM, NEAR_MAC, NETWORK_MAC, mac_value
from docsis_ptf.packets import (
    ETHERTYPE,
    PAYLOAD,
    ethernet,
    icmp4,
    ip4,
    ip6,
    llc,
    plain,
    tagged,
    tcp4,
    tcp6,
    udp4,
    udp4_ports,
    udp6,
    udp6_ports,
)

MULTIPLIER = 0x9E3779B97F4A7C15  # for values that differ all over
STP = b"\x42\x42\x03"  # the LLC header of spanning tree


def mac(value: int) -> str:
    return value.to_bytes(6).hex(":")


def with_field(field: str, value: int) -> Any:
    """A frame that differs from another of the same field in this value only."""
    builders: dict[str, Callable[[], Any]] = {
        "dst_mac": lambda: udp4(ether={"dst": mac(value)}),
        "src_mac": lambda: udp4(ether={"src": mac(value)}),
        "ether_type": lambda: plain(value),
        "llc_dsap": lambda: llc(bytes([value, 0x42, 0x03])),
        "vlan_id": lambda: tagged(5, value),
        "vlan_priority": lambda: tagged(value, 100),
        "ipv4_src": lambda: udp4(src=str(IPv4Address(value))),
        "ipv4_dst": lambda: udp4(dst=str(IPv4Address(value))),
        "ipv6_src": lambda: udp6(src=str(IPv6Address(value))),
        "ipv6_dst": lambda: udp6(dst=str(IPv6Address(value))),
        "ipv6_flow_label": lambda: udp6(fl=value),
        "ip_tos": lambda: udp4(tos=value),
        "ip_protocol": lambda: ethernet() / ip4(proto=value) / Raw(PAYLOAD),
    }
    return builders[field]()


class Values(classifier_test.ClassifierTest):
    """Each field alone: a frame that has the value, one that has not."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"field": name} for name in self.table()]

    def table(self) -> dict[str, tuple[Any, Any, Any]]:
        """Field: (value, a frame that has it, a frame that has not)."""
        return {
            "dst_mac": (mac_value(NETWORK_MAC), udp4(), udp4(ether={"dst": BROADCAST_MAC})),
            "src_mac": (mac_value(NEAR_MAC), udp4(), udp4(ether={"src": "02:00:00:00:02:77"})),
            "ether_type": (0x86DD, udp6(), udp4()),
            "is_llc": (1, llc(STP), udp4()),
            "llc_dsap": (0x42, llc(STP), llc(b"\xfe\xfe\x03")),
            "tagged": (1, tagged(0, 1), udp4()),
            "vlan_priority": ((5, 5), tagged(5, 100), tagged(4, 100)),
            "vlan_id": (100, tagged(5, 100), tagged(5, 101)),
            "is_ipv4": (1, udp4(), udp6()),
            "ipv4_src": (int(IPv4Address("10.0.0.11")), udp4(), udp4(src="10.0.0.12")),
            "ipv4_dst": (int(IPv4Address("10.0.0.101")), udp4(), udp4(dst="10.0.0.102")),
            "is_ipv6": (1, udp6(), udp4()),
            "ipv6_src": (int(IPv6Address("2001:db8::11")), udp6(), udp6(src="2001:db8::12")),
            "ipv6_dst": (int(IPv6Address("2001:db8::101")), udp6(), udp6(dst="2001:db8:0:1::101")),
            "ipv6_flow_label": (0xABCDE, udp6(fl=0xABCDE), udp6(fl=0xABCDF)),
            "ip_tos": (0xB8, udp4(tos=0xB8), udp4(tos=0xB9)),
            "ip_protocol": (17, udp4(), tcp4(4000, 5000)),
            "has_ports": (1, udp4(), icmp4()),
            "l4_src_port": ((4000, 4000), udp4_ports(4000, 80), udp4_ports(4001, 80)),
            "l4_dst_port": ((5000, 5000), udp4_ports(80, 5000), udp4_ports(80, 4999)),
        }

    def doRunTest(self, field: str) -> None:
        value, matching, other = self.table()[field]
        self.expect_split({field: value}, [matching], [other])


class EveryField(classifier_test.ClassifierTest):
    """The target's own table has the fields that these tests know, and keeps what each is given.

    The P4Info is the one that the target tells, not the suite's file.
    """

    def doRunTest(self) -> None:
        tested = {"modem", *Values.table(self)}
        tables = {table.preamble.name: table for table in self.client.p4info().tables}
        fields = {field.name: field for field in tables[classifier_test.CLASSIFIER].match_fields}
        self.assertEqual(fields.keys(), tested)
        wanted = {"modem": (MODEM, MODEM)}
        for number, (name, field) in enumerate(sorted(fields.items())):
            # Bits of its own for each field, and both ends of its width.
            ends = 1 << (field.bitwidth - 1) | 1
            value = ends | (number * MULTIPLIER) % (1 << field.bitwidth)
            if name != "modem":
                wanted[name] = (1 if field.match_type == field.RANGE else value, value)
        match = {name: pair for name, pair in wanted.items() if name != "modem"}
        entry = self.rule(self.primary, match, 7)
        self.assertEqual(self.client.read_match(entry), wanted)


class MaskEdges(classifier_test.ClassifierTest):
    """Ternary fields: every bit under the mask counts, none outside of it."""

    BASES = (
        ("dst_mac", mac_value("02:5a:a5:3c:c3:81")),
        ("src_mac", mac_value("02:5a:a5:3c:c3:81")),
        ("ether_type", ETHERTYPE),
        ("llc_dsap", 0x42),
        ("vlan_id", 0x5A5),
        ("ipv4_src", int(IPv4Address("10.165.90.129"))),
        ("ipv4_dst", int(IPv4Address("10.165.90.129"))),
        ("ipv6_src", int(IPv6Address("2001:db8:5aa5::c381"))),
        ("ipv6_dst", int(IPv6Address("2001:db8:5aa5::c381"))),
        ("ipv6_flow_label", 0x5A5A5),
        ("ip_tos", 0xB8),
        ("ip_protocol", 0x5A),
    )

    def cases(self) -> Iterable[dict[str, Any]]:
        for field, base in self.BASES:
            full = FULL[field]
            top = (full + 1) >> 1
            for mask in (full, top, 1, full ^ 1, full ^ top):
                yield {"field": field, "base": base, "mask": mask}

    def doRunTest(self, field: str, base: int, mask: int) -> None:
        outside = FULL[field] & ~mask
        lowest = mask & -mask
        highest = 1 << (mask.bit_length() - 1)
        matching = {base, base ^ outside}
        others = {base ^ lowest, base ^ highest, base ^ outside ^ lowest}
        self.expect_split(
            {field: (base, mask)},
            [with_field(field, value) for value in sorted(matching)],
            [with_field(field, value) for value in sorted(others)],
        )


class Prefixes(classifier_test.ClassifierTest):
    """IP masks and prefix lengths: the first and the last address are in, their neighbours out."""

    def cases(self) -> Iterable[dict[str, Any]]:
        four = ("128.0.0.0/1", "10.0.0.0/8", "10.1.2.0/23", "10.1.2.0/24", "10.1.2.2/31")
        six = (
            "8000::/1", "2001:db8::/32", "2001:db8:1:2::/64", "2001:db8:1:2:8000::/65",
            "2001:db8::2/127",
        )  # fmt: skip
        for end in ("src", "dst"):
            for prefix in (*four, "10.1.2.3/32"):
                yield {"field": f"ipv4_{end}", "prefix": prefix}
            for prefix in (*six, "2001:db8::3/128"):
                yield {"field": f"ipv6_{end}", "prefix": prefix}

    def doRunTest(self, field: str, prefix: str) -> None:
        network = (IPv4Network if "." in prefix else IPv6Network)(prefix)
        first, last = int(network.network_address), int(network.broadcast_address)
        outside = [value for value in (first - 1, last + 1) if 0 <= value <= FULL[field]]
        self.expect_split(
            {field: (first, int(network.netmask))},
            [with_field(field, value) for value in sorted({first, last})],
            [with_field(field, value) for value in outside],
        )


class TosMasks(classifier_test.ClassifierTest):
    """The TOS byte and the traffic class are one field, with a mask for the DSCP."""

    def doRunTest(self) -> None:
        dscp = {"ip_tos": (0xB8, 0xFC)}
        inside = [udp4(tos=0xB8), udp4(tos=0xBB), udp6(tc=0xB8), udp6(tc=0xB9)]
        outside = [udp4(tos=0x88), udp4(tos=0xBC), udp6(tc=0x01), plain()]
        self.expect_split(dscp, inside, outside)
        self.expect_split({**dscp, "is_ipv4": 1}, inside[:2], inside[2:] + outside)
        self.expect_split({**dscp, "is_ipv6": 1}, inside[2:], inside[:2] + outside)


class PortRanges(classifier_test.ClassifierTest):
    """Port ranges of UDP and TCP over IPv4 and IPv6: both ends are in, their neighbours out."""

    RANGES = ((0, 0), (0, 1023), (1024, 65535), (4000, 4010), (5000, 5000), (65535, 65535))

    def cases(self) -> Iterable[dict[str, Any]]:
        for field in ("l4_src_port", "l4_dst_port"):
            for low, high in (*self.RANGES, (1, 65534)):
                yield {"field": field, "low": low, "high": high}

    def doRunTest(self, field: str, low: int, high: int) -> None:
        def frames(port: int) -> list[Any]:
            ports = (port, 7) if field == "l4_src_port" else (7, port)
            return [make(*ports) for make in (udp4_ports, tcp4, udp6_ports, tcp6)]

        inside = [frame for port in sorted({low, high}) for frame in frames(port)]
        beside = [port for port in (low - 1, high + 1) if 0 <= port <= 0xFFFF]
        outside = [frame for port in beside for frame in frames(port)]
        self.expect_split({field: (low, high), "has_ports": 1}, inside, [*outside, icmp4()])


class UserPriorities(classifier_test.ClassifierTest):
    """802.1p User_Priority from low to high: both ends are in, their neighbours out."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"low": low, "high": high}
            for low, high in ((0, 0), (0, 3), (2, 5), (4, 4), (4, 7), (7, 7), (1, 6))
        ]

    def doRunTest(self, low: int, high: int) -> None:
        inside = [tagged(pcp, 100) for pcp in range(low, high + 1)]
        outside = [tagged(pcp, 100) for pcp in range(8) if not low <= pcp <= high]
        self.expect_split({"vlan_priority": (low, high), "tagged": 1}, inside, [*outside, udp4()])


class Conjunction(classifier_test.ClassifierTest):
    """A rule of many fields takes the frames that fit all of them, and no frame that misses one."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"version": 4}, {"version": 6}]

    def doRunTest(self, version: int) -> None:
        values: dict[str, Any] = {
            "ether_src": NEAR_MAC,
            "pcp": 5,
            "vid": 100,
            "tos": 0xB8,
            "src": "10.0.0.11" if version == 4 else "2001:db8::11",
            "dst": "10.0.0.101" if version == 4 else "2001:db8::101",
            "udp": True,
            "sport": 4000,
            "dport": 5000,
        }
        changed: dict[str, Any] = {
            "ether_src": "02:00:00:00:02:77",
            "pcp": 4,
            "vid": 101,
            "tos": 0xB4,
            "src": "10.0.0.12" if version == 4 else "2001:db8::12",
            "dst": "10.0.1.101" if version == 4 else "2001:db9::101",
            "udp": False,
            "sport": 3999,
            "dport": 5011,
        }
        match: dict[str, Any] = {
            "dst_mac": mac_value(NETWORK_MAC),
            "src_mac": mac_value(NEAR_MAC),
            "ether_type": 0x0800 if version == 4 else 0x86DD,
            "is_llc": 0,
            "tagged": 1,
            "vlan_priority": (5, 7),
            "vlan_id": 100,
            "ip_tos": (0xB8, 0xFC),
            "ip_protocol": 17,
            "has_ports": 1,
            "l4_src_port": (4000, 4000),
            "l4_dst_port": (5000, 5010),
        }
        if version == 4:
            source = int.from_bytes(socket.inet_aton("10.0.0.11"))
            match |= {"is_ipv4": 1, "is_ipv6": 0, "ipv4_src": source}
            match["ipv4_dst"] = (int(IPv4Address("10.0.0.0")), 0xFFFFFF00)
        else:
            match |= {"is_ipv4": 0, "is_ipv6": 1, "ipv6_src": int(IPv6Address("2001:db8::11"))}
            match["ipv6_dst"] = (int(IPv6Address("2001:db8::")), ((1 << 32) - 1) << 96)
        wrong = [self.frame(version, {**values, name: changed[name]}) for name in values]
        self.expect_split(match, [self.frame(version, values)], wrong)

    def frame(self, version: int, values: dict[str, Any]) -> Any:
        ends = {"src": values["src"], "dst": values["dst"]}
        tos = values["tos"]
        ip = ip4(tos=tos, **ends) if version == 4 else ip6(tc=tos, **ends)
        layer4 = (UDP if values["udp"] else TCP)(sport=values["sport"], dport=values["dport"])
        tag = Dot1Q(prio=values["pcp"], vlan=values["vid"])
        return ethernet(src=values["ether_src"]) / tag / ip / layer4 / Raw(PAYLOAD)
