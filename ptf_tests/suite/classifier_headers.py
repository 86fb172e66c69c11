# SPDX-License-Identifier: Apache-2.0
"""The parts of a frame that a classifier sees: absent headers, LLC and SNAP, tags, fragments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scapy.layers.inet import ICMP, TCP, UDP, IPOption
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, Dot1Q
from scapy.packet import Raw

from docsis_ptf import classifier_test
from docsis_ptf.packets import (
    ETHERTYPE,
    PAYLOAD,
    ethernet,
    icmp4,
    ip4,
    ip6,
    llc,
    plain,
    snap,
    snap4,
    tagged,
    tcp4,
    tcp6,
    udp4,
    udp4_ports,
    udp6,
    udp6_ports,
)

STP = b"\x42\x42\x03"  # the LLC header of spanning tree


class AbsentHeader(classifier_test.ClassifierTest):
    """A field that a frame lacks reads as 0: a rule has to say that its header is there."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"rule": name} for name in self.table()]

    def table(self) -> dict[str, tuple[str, dict[str, Any], list[Any], list[Any]]]:
        """Name: (the flag, the other fields, frames with the header, frames without)."""
        arp = ethernet() / ARP()
        hop_by_hop = ethernet() / ip6() / IPv6ExtHdrHopByHop() / UDP(dport=5000)
        fragment = ethernet() / ip4(frag=185, proto=17) / Raw(PAYLOAD)
        other_ip = [udp6(), arp, llc(STP), tagged(0, 0) / Raw(b"")]
        low = (0, 1023)
        return {
            "IPv4 source": ("is_ipv4", {"ipv4_src": 0}, [udp4(src="0.0.0.0")], [udp6(), arp]),
            "IPv4 destination": ("is_ipv4", {"ipv4_dst": 0}, [udp4(dst="0.0.0.0")], [udp6(), arp]),
            "IPv4 TOS": ("is_ipv4", {"ip_tos": 0}, [udp4(), tagged(0, 1)], [*other_ip[:3]]),
            "IPv4 protocol 0": (
                "is_ipv4", {"ip_protocol": 0}, [ethernet() / ip4(proto=0)], [arp, plain()],
            ),
            "IPv6 source": ("is_ipv6", {"ipv6_src": 0}, [udp6(src="::")], [udp4(), arp]),
            "IPv6 destination": ("is_ipv6", {"ipv6_dst": 0}, [udp6(dst="::")], [udp4(), arp]),
            "IPv6 flow label": ("is_ipv6", {"ipv6_flow_label": 0}, [udp6()], [udp4(), arp]),
            "IPv6 traffic class": ("is_ipv6", {"ip_tos": 0}, [udp6()], [udp4(), arp]),
            "IPv6 next header 0": ("is_ipv6", {"ip_protocol": 0}, [hop_by_hop], [arp, plain()]),
            "VLAN_ID": ("tagged", {"vlan_id": 0}, [tagged(3, 0)], [udp4(), arp, llc(STP)]),
            "User_Priority": ("tagged", {"vlan_priority": (0, 3)}, [tagged(0, 9)], [udp4(), arp]),
            "source port": (
                "has_ports", {"l4_src_port": low}, [udp4_ports(0, 9), tcp6(9, 9)],
                [icmp4(), fragment, arp, hop_by_hop],
            ),
            "destination port": (
                "has_ports", {"l4_dst_port": low}, [tcp4(9, 0), udp6_ports(9, 9)],
                [icmp4(), fragment, arp, hop_by_hop],
            ),
            "DSAP": ("is_llc", {"llc_dsap": 0}, [llc(b"\x00\x01\xaf")], [udp4(), arp, snap(0x800)]),
        }  # fmt: skip

    def doRunTest(self, rule: str) -> None:
        flag, match, present, absent = self.table()[rule]
        self.expect_split({**match, flag: 1}, present, absent)
        # Without the flag the rule takes them, so it was the flag that kept them out.
        self.expect_split(match, [*present, *absent], [])
        self.expect_split({flag: 0}, absent, present)


class EtherTypes(classifier_test.ClassifierTest):
    """Behind one 802.1Q tag the inner EtherType counts, with SNAP the protocol; never a length."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"ether_type": value} for value in self.table()]

    def table(self) -> dict[int, tuple[list[Any], list[Any]]]:
        """EtherType: (frames that have it, frames that have not)."""
        double = ethernet() / Dot1Q(vlan=5) / Dot1Q(vlan=6, type=ETHERTYPE) / Raw(PAYLOAD)
        short = llc(STP)
        return {
            ETHERTYPE: (
                [
                    plain(),
                    ethernet() / Dot1Q(vlan=5, type=ETHERTYPE) / Raw(PAYLOAD),
                    snap(ETHERTYPE),
                    snap(ETHERTYPE, tag=Dot1Q(vlan=5)),
                ],
                [
                    plain(ETHERTYPE + 1),
                    ethernet() / Dot1Q(vlan=5, type=ETHERTYPE + 1) / Raw(PAYLOAD),
                    double,
                    snap(ETHERTYPE, organization=0x00000C),
                    llc(b"\xaa\xab\x03\0\0\0\x88\xb5"),
                    llc(b"\xaa\xaa\x13\0\0\0\x88\xb5"),
                    llc(STP + b"\0\0\0\x88\xb5"),
                ],
            ),
            0x0800: ([udp4(), tagged(0, 5), snap(0x0800)], [udp6(), short]),
            # A tag's own type is seen where it is the inner one.
            0x8100: ([double], [tagged(0, 5), udp4()]),
            # A length is no EtherType, whatever a rule asks for.
            63: ([], [short, llc(STP, Dot1Q(vlan=5))]),
            0x05FF: ([], [plain(0x05FF)]),
            0x0600: ([plain(0x0600)], [plain(0x0601)]),
        }

    def doRunTest(self, ether_type: int) -> None:
        self.expect_split({"ether_type": ether_type}, *self.table()[ether_type])


class Llc(classifier_test.ClassifierTest):
    """IEEE 802.2: below 1536 a length and a DSAP, behind a tag, too; SNAP is not one (RFC 1042)."""

    def doRunTest(self) -> None:
        behind = llc(STP, Dot1Q(vlan=5))
        lengths = [plain(value) for value in (0, 3, 1023, 1024, 1500, 1535)]
        ether_types = [plain(0x0600), plain(), snap(ETHERTYPE), snap(ETHERTYPE, tag=Dot1Q(vlan=5))]
        self.expect_split({"is_llc": 1}, [llc(STP), behind, *lengths], [udp4(), *ether_types])
        others = [llc(b"\x43\x42\x03"), llc(b"\x42\x42\x03"[1:] + b"\0"), snap(0x4242)]
        self.expect_split({"is_llc": 1, "llc_dsap": 0x42}, [llc(STP), behind], [others[0]])
        # The DSAP is the first byte, and SNAP's 0xaa is left where the organization is not 0.
        self.expect_split({"llc_dsap": 0xAA}, [snap(ETHERTYPE, organization=1)], [others[2]])


class IpInLlc(classifier_test.ClassifierTest):
    """IP behind LLC or SNAP is not looked at: its EtherType is all that a rule sees."""

    def doRunTest(self) -> None:
        frame = snap4()
        self.expect_split({"ether_type": 0x0800}, [frame, udp4()], [])
        for match in ({"is_ipv4": 1}, {"ip_protocol": 17}, {"has_ports": 1}):
            self.expect_split(match, [udp4()], [frame])


class Layers(classifier_test.ClassifierTest):
    """Options, fragments, tags and extension headers: where the ports are seen."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"frame": name} for name in self.table()]

    def table(self) -> dict[str, tuple[Any, bool]]:
        """Name: (frame, whether a rule for UDP or TCP port 5000 sees it)."""
        udp = UDP(sport=4000, dport=5000) / Raw(PAYLOAD)
        router_alert = IPOption(b"\x94\x04\x00\x00")
        later = ip4(frag=185, proto=17)
        return {
            "IPv4 with one option": (ethernet() / ip4(options=[router_alert]) / udp, True),
            "IPv4 with 40 bytes of options": (
                ethernet() / ip4(options=[router_alert] * 10) / udp, True,
            ),
            "options and TCP": (ethernet() / ip4(options=[router_alert]) / TCP(dport=5000), True),
            "first fragment": (ethernet() / ip4(flags="MF") / udp, True),
            "later fragment": (ethernet() / later / udp, False),
            "last short fragment": (ethernet() / later / Raw(b"x"), False),
            "VLAN and IPv4": (ethernet() / Dot1Q(vlan=7) / ip4() / udp, True),
            "VLAN and IPv6": (ethernet() / Dot1Q(vlan=7) / ip6() / udp, True),
            "two VLAN tags": (ethernet() / Dot1Q(vlan=7) / Dot1Q(vlan=8) / ip4() / udp, False),
            "IPv6 and TCP": (ethernet() / ip6() / TCP(dport=5000), True),
            "IPv6 extension header": (ethernet() / ip6() / IPv6ExtHdrHopByHop() / udp, False),
            "ICMP": (ethernet() / ip4() / ICMP() / Raw(PAYLOAD), False),
            "ICMPv6": (ethernet() / ip6() / ICMPv6EchoRequest(data=PAYLOAD), False),
            "GRE": (ethernet() / ip4(proto=47) / Raw(PAYLOAD), False),
            "ARP": (ethernet() / ARP(), False),
        }  # fmt: skip

    def doRunTest(self, frame: str) -> None:
        packet, has_port = self.table()[frame]
        for match in ({"l4_dst_port": (5000, 5000)}, {"has_ports": 1}):
            self.expect_split(match, *(([packet], []) if has_port else ([], [packet])))


class ExtensionHeaders(classifier_test.ClassifierTest):
    """IPv6 extension headers: the first next header is compared, and what follows is not seen.

    The standard compares the next header of each extension header, too (MULPI, annex C.2.1). The
    pipeline looks at the first alone (docs/reference/scope.md), so this is what holds here.
    """

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"header": name} for name in self.table()]

    def table(self) -> dict[str, tuple[int, bytes]]:
        """Name: (its number, the octets behind the IPv6 header), UDP to port 5000 at the end."""
        udp = bytes(UDP(sport=4000, dport=5000, chksum=0) / Raw(PAYLOAD))
        options = bytes([17, 0, 1, 4, 0, 0, 0, 0])
        return {
            "hop-by-hop options": (0, options + udp),
            "routing": (43, bytes([17, 0, 0, 0, 0, 0, 0, 0]) + udp),
            "first fragment": (44, bytes([17, 0, 0, 1, 0, 0, 0, 7]) + udp),
            "later fragment": (44, bytes([17, 0, 0, 8, 0, 0, 0, 7]) + udp),
            "authentication": (51, bytes([17, 4, 0, 0]) + bytes(20) + udp),
            "encrypted": (50, bytes(8) + udp),
            "destination options": (60, options + udp),
            "mobility": (135, bytes([59, 0, 0, 0, 0, 0, 0, 0]) + udp),
            "two of them": (0, bytes([60, 0, 1, 4, 0, 0, 0, 0]) + options + udp),
            "nothing behind it": (59, b""),
            # It is not looked at, so it cannot be malformed.
            "cut short": (0, bytes([17])),
        }

    def doRunTest(self, header: str) -> None:
        number, octets = self.table()[header]
        frame = ethernet() / ip6(nh=number, src="2001:db8::7", tc=0xB8, fl=0x12345) / Raw(octets)
        address = int.from_bytes(bytes.fromhex("20010db8" + "00" * 11 + "07"))
        sees: tuple[dict[str, Any], ...] = (
            {"is_ipv6": 1, "ip_protocol": number},
            {"is_ipv6": 1, "ipv6_src": address, "ip_tos": 0xB8, "ipv6_flow_label": 0x12345},
            {"is_ipv6": 1, "has_ports": 0, "l4_dst_port": (0, 0)},
        )
        for match in sees:
            self.expect_split(match, [frame], [])
        behind: tuple[dict[str, Any], ...] = (
            {"ip_protocol": 17},
            {"has_ports": 1},
            {"l4_dst_port": (5000, 5000)},
        )
        for match in behind:
            self.expect_split({"is_ipv6": 1, **match}, [], [frame])
