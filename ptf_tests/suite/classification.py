# SPDX-License-Identifier: Apache-2.0
"""Classifiers: which service flow a frame belongs to."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv6Address
from typing import Any

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from docsis_ptf import classifier_test
from docsis_ptf.classifier_test import (
    CLASSIFIER,
    PAYLOAD,
    ethernet,
    tagged,
    tcp4,
    udp4,
    udp4_ports,
    udp6,
)
from docsis_ptf.docsis_test import NEAR_MAC, NETWORK_MAC, NO_SERVICE_FLOW, mac_value
from docsis_ptf.entities import Entry


def ipv4(address: str) -> int:
    return int.from_bytes(socket.inet_aton(address))


def ipv6(address: str) -> int:
    return int(IPv6Address(address))


class Fields(classifier_test.ClassifierTest):
    """Each field of the classifier table alone: a frame with the value, one without it."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"field": name} for name in self.table()]

    def table(self) -> dict[str, tuple[Any, Any, Any]]:
        """Field: (value, a frame that has it, a frame that has not)."""
        plain = udp4()
        other_source = udp4(ether={"src": "02:00:00:00:02:77"})
        other_destination = udp4(ether={"dst": "ff:ff:ff:ff:ff:ff"})
        return {
            "dst_mac": (mac_value(NETWORK_MAC), plain, other_destination),
            "src_mac": (mac_value(NEAR_MAC), plain, other_source),
            "ether_type": (0x86DD, udp6(), plain),
            "tagged": (1, tagged(0, 1), plain),
            "vlan_priority": (5, tagged(5, 100), tagged(4, 100)),
            "vlan_id": (100, tagged(5, 100), tagged(5, 101)),
            "is_ipv4": (1, plain, udp6()),
            "ipv4_src": (ipv4("10.0.0.11"), plain, udp4(src="10.0.0.12")),
            "ipv4_dst": (ipv4("10.0.0.101"), plain, udp4(dst="10.0.0.102")),
            "is_ipv6": (1, udp6(), plain),
            "ipv6_src": (ipv6("2001:db8::11"), udp6(), udp6(src="2001:db8::12")),
            "ipv6_dst": (ipv6("2001:db8::101"), udp6(), udp6(dst="2001:db8:0:1::101")),
            "ipv6_flow_label": (0xABCDE, udp6(fl=0xABCDE), udp6(fl=0xABCDF)),
            "ip_tos": (0xB8, udp4(tos=0xB8), udp4(tos=0xB9)),
            "ip_protocol": (17, plain, tcp4(4000, 5000)),
            "l4_src_port": ((4000, 4010), udp4_ports(4010, 80), udp4_ports(4011, 80)),
            "l4_dst_port": ((5000, 5010), udp4_ports(80, 5000), udp4_ports(80, 4999)),
        }

    def doRunTest(self, field: str) -> None:
        value, matching, other = self.table()[field]
        index = self.service_flow()
        self.rule(index, {field: value})
        self.expect_service_flow(matching, index, self.primary)
        self.expect_service_flow(other, self.primary, index)


class Masks(classifier_test.ClassifierTest):
    """Prefixes, the TOS byte's mask, traffic classes and the ends of port ranges."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"rule": name} for name in self.table()]

    def table(self) -> dict[str, tuple[dict[str, Any], Any, Any]]:
        prefix = (ipv4("10.0.0.0"), 0xFFFFFF00)
        prefix6 = (ipv6("2001:db8::"), ((1 << 64) - 1) << 64)
        return {
            "IPv4 prefix": ({"ipv4_dst": prefix}, udp4(), udp4(dst="10.0.1.101")),
            "IPv6 prefix": ({"ipv6_dst": prefix6}, udp6(), udp6(dst="2001:db8:0:1::101")),
            "DSCP": ({"ip_tos": (0xB8, 0xFC)}, udp4(tos=0xBB), udp4(tos=0x88)),
            "traffic class": ({"ip_tos": (0xB8, 0xFC)}, udp6(tc=0xB9), udp6(tc=0x01)),
            "next header": ({"is_ipv6": 1, "ip_protocol": 17}, udp6(), udp4()),
            "highest port": (
                {"l4_dst_port": (0xFFFF, 0xFFFF)}, tcp4(1, 0xFFFF), tcp4(1, 0xFFFE),
            ),
            "any TCP port": (
                {"ip_protocol": 6, "l4_src_port": (0, 1023)}, tcp4(0, 1), tcp4(1024, 1),
            ),
            "five-tuple": (
                {
                    "ip_protocol": 17,
                    "ipv4_src": ipv4("10.0.0.11"),
                    "ipv4_dst": ipv4("10.0.0.101"),
                    "l4_src_port": (4000, 4000),
                    "l4_dst_port": (5000, 5000),
                },
                udp4(),
                udp4_ports(4000, 5001),
            ),
        }  # fmt: skip

    def doRunTest(self, rule: str) -> None:
        match, matching, other = self.table()[rule]
        index = self.service_flow()
        self.rule(index, match)
        self.expect_service_flow(matching, index, self.primary)
        self.expect_service_flow(other, self.primary, index)


class Priority(classifier_test.ClassifierTest):
    """Of the rules that match the one of highest priority decides, in whatever order they came."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"first": 200}, {"first": 100}]

    def doRunTest(self, first: int) -> None:
        matches: dict[int, dict[str, Any]] = {
            100: {"ip_protocol": 17},
            200: {"l4_dst_port": (5000, 5000)},
        }
        flows = {priority: self.service_flow() for priority in matches}
        for priority in sorted(matches, reverse=first == 200):
            self.rule(flows[priority], matches[priority], priority)
        self.expect_service_flow(udp4(), flows[200], flows[100], self.primary)
        self.expect_service_flow(udp4_ports(1, 2), flows[100], flows[200], self.primary)


class PrimaryServiceFlow(classifier_test.ClassifierTest):
    """The default action is the primary service flow, and can become another."""

    def doRunTest(self) -> None:
        self.expect_service_flow(udp4(), self.primary)
        other = self.service_flow()
        self.make_primary(other)
        self.expect_service_flow(udp4(), other, self.primary)


class NoClassifier(classifier_test.ClassifierTest):
    """Without a primary service flow, or with one that has no queue: dropped and counted."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"action": "no_classifier"}, {"action": "set_service_flow"}]

    def doRunTest(self, action: str) -> None:
        index = NO_SERVICE_FLOW
        params = {}
        if action == "set_service_flow":
            index = self.new_index()
            params = {"service_flow": index}
        self.modify(Entry(CLASSIFIER, action, params))
        before = self.fates(index)
        self.send(self.near, udp4())
        self.expect_fates(index, before, no_classifier=1)
        self.expect_silence()


class ExplicitNoClassifier(classifier_test.ClassifierTest):
    """A rule may refuse what the primary service flow would take."""

    def doRunTest(self) -> None:
        self.insert(Entry(CLASSIFIER, "no_classifier", {}, {"ip_protocol": (17, 0xFF)}, 10))
        before = self.fates(NO_SERVICE_FLOW)
        self.send(self.near, udp4())
        self.expect_fates(NO_SERVICE_FLOW, before, no_classifier=1)
        self.expect_service_flow(tcp4(1, 2), self.primary)


class Layers(classifier_test.ClassifierTest):
    """Options, fragments, tags and extension headers: where the ports are seen."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"frame": name} for name in self.table()]

    def table(self) -> dict[str, tuple[Any, bool]]:
        """Name: (frame, whether a rule for UDP or TCP port 5000 sees it)."""
        four = {"src": "10.0.0.11", "dst": "10.0.0.101"}
        six = {"src": "2001:db8::11", "dst": "2001:db8::101"}
        udp = UDP(sport=4000, dport=5000) / Raw(PAYLOAD)
        router_alert = IPOption(b"\x94\x04\x00\x00")
        return {
            "IPv4 with one option": (ethernet() / IP(**four, options=[router_alert]) / udp, True),
            "IPv4 with 40 bytes of options": (
                ethernet() / IP(**four, options=[router_alert] * 10) / udp, True,
            ),
            "options and TCP": (
                ethernet() / IP(**four, options=[router_alert]) / TCP(dport=5000), True,
            ),
            "first fragment": (ethernet() / IP(**four, flags="MF") / udp, True),
            "later fragment": (ethernet() / IP(**four, frag=185, proto=17) / udp, False),
            "last short fragment": (ethernet() / IP(**four, frag=185, proto=17) / Raw(b"x"), False),
            "VLAN and IPv4": (ethernet() / Dot1Q(vlan=7) / IP(**four) / udp, True),
            "VLAN and IPv6": (ethernet() / Dot1Q(vlan=7) / IPv6(**six) / udp, True),
            "two VLAN tags": (ethernet() / Dot1Q(vlan=7) / Dot1Q(vlan=8) / IP(**four) / udp, False),
            "IPv6 and TCP": (ethernet() / IPv6(**six) / TCP(dport=5000), True),
            "IPv6 extension header": (ethernet() / IPv6(**six) / IPv6ExtHdrHopByHop() / udp, False),
            "ICMP": (ethernet() / IP(**four) / ICMP() / Raw(PAYLOAD), False),
            "ICMPv6": (ethernet() / IPv6(**six) / ICMPv6EchoRequest(data=PAYLOAD), False),
            "GRE": (ethernet() / IP(**four, proto=47) / Raw(PAYLOAD), False),
        }  # fmt: skip

    def doRunTest(self, frame: str) -> None:
        packet, has_port = self.table()[frame]
        index = self.service_flow()
        self.rule(index, {"l4_dst_port": (5000, 5000)})
        expected, other = (index, self.primary) if has_port else (self.primary, index)
        self.expect_service_flow(packet, expected, other)


class DirectCounter(classifier_test.ClassifierTest):
    """A rule's own counter counts its frames and their bytes, the default's the others."""

    def doRunTest(self) -> None:
        index = self.service_flow()
        rule = self.rule(index, {"ip_protocol": 17})
        before = self.client.direct_counts(rule)
        frames = [udp4(), udp4_ports(1, 2), tcp4(1, 2)]
        for frame in frames:
            self.send(self.near, frame)
            self.expect_frame(self.rf, frame)
        counted = self.client.direct_counts(rule) - before
        self.assertEqual((counted.packets, counted.octets), (2, sum(map(len, frames[:2]))))


class Downstream(classifier_test.ClassifierTest):
    """Frames from the RF port are bridged without a classifier (no service flow)."""

    def doRunTest(self) -> None:
        self.rule(self.service_flow(), {"ip_protocol": 17})
        frame = Ether(dst=NEAR_MAC, src=NETWORK_MAC) / IP() / UDP() / Raw(PAYLOAD)
        before = self.fates(NO_SERVICE_FLOW)
        self.send(self.rf, frame)
        self.expect_frame(self.near, frame)
        self.expect_fates(NO_SERVICE_FLOW, before, forwarded=1)
