# SPDX-License-Identifier: Apache-2.0
"""IP Type of Service (DSCP) Overwrite, TLV 24/25.23, and its checksum (RFC 1624)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scapy.layers.inet import ICMP, TCP, UDP, IPOption
from scapy.layers.inet6 import IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from docsis_control.lengths import frame_length
from docsis_ptf import classifier_test, cmts_test
from docsis_ptf.docsis_test import BROADCAST_MAC, NEAR_MAC, NETWORK_MAC, UNMARKED
from docsis_ptf.frames import internet_checksum
from docsis_ptf.packets import PAYLOAD, ethernet, ip4, ip6, llc, plain, snap4, udp4, udp6

EF = (0x03, 0xB8)  # the DSCP becomes EF, ECN stays
MASKS = (EF, (0xFF, 0x20), (0x1F, 0x00), (0x00, 0x00), (0x00, 0xFF), (0xF0, 0x0A))
IPV4_AT = 14
ROUTER_ALERT = IPOption(b"\x94\x04\x00\x00")


def overwritten(tos: int, masks: tuple[int, int]) -> int:
    """The byte that TLV 24/25.23 makes of one."""
    return (tos & masks[0]) | masks[1]


def header_sum(frame: bytes) -> int:
    """Adds the IPv4 header up as a receiver does: 0xffff if right, else how far it is off."""
    octets = 4 * (frame[IPV4_AT] & 0x0F)
    return ~internet_checksum(frame[IPV4_AT : IPV4_AT + octets]) & 0xFFFF


class Values(classifier_test.ClassifierTest):
    """TOS bytes and traffic classes under several masks: the byte, the checksum, nothing else."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"masks": masks} for masks in MASKS]

    def doRunTest(self, masks: tuple[int, int]) -> None:
        self.make_primary(self.service_flow(tos=masks))
        for tos in range(0, 256, 5):
            after = overwritten(tos, masks)
            self.send(self.near, udp4(tos=tos, id=tos))
            # Scapy works the checksum out from the whole header.
            self.expect_frame(self.rf, udp4(tos=after, id=tos))
            self.send(self.near, udp6(tc=tos, fl=0xABCDE))
            self.expect_frame(self.rf, udp6(tc=after, fl=0xABCDE))


class Packets(classifier_test.ClassifierTest):
    """Options, fragments, any protocol, extension headers, behind one tag: IP is marked."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"packet": name} for name in self.table(0)]

    def table(self, tos: int) -> dict[str, Any]:
        udp = UDP(sport=4000, dport=5000) / Raw(PAYLOAD)
        tag = Dot1Q(prio=5, vlan=100)
        return {
            "UDP": ethernet() / ip4(tos=tos) / udp,
            "TCP": ethernet() / ip4(tos=tos) / TCP(dport=80) / Raw(PAYLOAD),
            "ICMP": ethernet() / ip4(tos=tos) / ICMP() / Raw(PAYLOAD),
            "GRE": ethernet() / ip4(tos=tos, proto=47) / Raw(PAYLOAD),
            "one option": ethernet() / ip4(tos=tos, options=[ROUTER_ALERT]) / udp,
            "40 bytes of options": ethernet() / ip4(tos=tos, options=[ROUTER_ALERT] * 10) / udp,
            "first fragment": ethernet() / ip4(tos=tos, flags="MF") / udp,
            "later fragment": ethernet() / ip4(tos=tos, frag=185, proto=17) / Raw(PAYLOAD),
            "IPv4 behind a tag": ethernet() / tag / ip4(tos=tos) / udp,
            "options behind a tag": ethernet() / tag / ip4(tos=tos, options=[ROUTER_ALERT]) / udp,
            "IPv6": ethernet() / ip6(tc=tos) / udp,
            "IPv6 behind a tag": ethernet() / tag / ip6(tc=tos) / udp,
            "IPv6 extension header": ethernet() / ip6(tc=tos) / IPv6ExtHdrHopByHop() / udp,
        }

    def doRunTest(self, packet: str) -> None:
        self.make_primary(self.service_flow(tos=EF))
        # ECN's bits are outside of the mask.
        for tos in (0x00, 0x03, 0xB9, 0xFF):
            self.send(self.near, self.table(tos)[packet])
            self.expect_frame(self.rf, self.table(overwritten(tos, EF))[packet])


class NotIp(classifier_test.ClassifierTest):
    """A frame that the pipeline does not see as IP passes as it is."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"frame": name} for name in self.table()]

    def table(self) -> dict[str, Any]:
        two_tags = ethernet() / Dot1Q(vlan=5) / Dot1Q(vlan=6)
        return {
            "ARP": ethernet() / ARP(),
            "another EtherType": plain(),
            "LLC": llc(b"\x42\x42\x03"),
            "IPv4 in SNAP": snap4(),
            "two tags": two_tags / ip4() / UDP() / Raw(PAYLOAD),
            "IPv6 behind two tags": two_tags / ip6() / UDP() / Raw(PAYLOAD),
        }

    def doRunTest(self, frame: str) -> None:
        index = self.service_flow(tos=(0x00, 0xFF))
        self.make_primary(index)
        self.expect_service_flow(self.table()[frame], index)


class Checksums(classifier_test.ClassifierTest):
    """The checksum changes by what the byte does: right stays right, wrong stays wrong as much."""

    def cases(self) -> Iterable[dict[str, Any]]:
        for masks in (EF, (0x00, 0xFF), (0x00, 0x01), (0x00, 0x00)):
            for options in (0, 1, 10):
                yield {"masks": masks, "options": options}

    def doRunTest(self, masks: tuple[int, int], options: int) -> None:
        self.make_primary(self.service_flow(tos=masks))
        for tos in (0x00, 0x02, 0xFE, 0xFF):
            fields: dict[str, Any] = {"tos": tos, "options": [ROUTER_ALERT] * options}
            right = internet_checksum(bytes(ip4(chksum=0, **self.lengths(options), **fields)))
            for checksum in (right, right ^ 1, right ^ 0x8000, 0x0000, 0xFFFF, 0xDEAD):
                self.check(udp4(chksum=checksum, **fields), overwritten(tos, masks))

    def lengths(self, options: int) -> dict[str, int]:
        """The lengths that Scapy would fill in with UDP behind the header."""
        header = 20 + 4 * options
        return {"ihl": header // 4, "len": header + 8 + len(PAYLOAD), "proto": 17}

    def check(self, packet: Any, tos: int) -> None:
        """Sends a packet; it comes with that TOS byte and a checksum as right as it was."""
        sent = bytes(packet)
        expected = bytearray(sent)
        expected[IPV4_AT + 1] = tos
        if expected != sent:
            # RFC 1624, equation 3, by way of Python's integers.
            old, new = sent[IPV4_AT + 1], tos
            checksum = int.from_bytes(sent[IPV4_AT + 10 : IPV4_AT + 12])
            total = (~checksum & 0xFFFF) + (~old & 0xFFFF) + new
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            expected[IPV4_AT + 10 : IPV4_AT + 12] = (~total & 0xFFFF).to_bytes(2)
        # The equation keeps the header's sum, which is what the class claims.
        self.assertEqual(header_sum(bytes(expected)), header_sum(sent))
        self.send(self.near, packet)
        self.expect_frame(self.rf, bytes(expected))


class ChecksumEdges(classifier_test.ClassifierTest):
    """Right checksums of 0, 1 and 0xfffe, before and behind the change: RFC 1624's corner."""

    def doRunTest(self) -> None:
        self.make_primary(self.service_flow(tos=EF))
        after = overwritten(0, EF)
        for wanted in (0x0000, 0x0001, 0xFFFE):
            for tos in (0, after):
                # The identification that makes this header's checksum the wanted one.
                zero = bytes(udp4(tos=tos, id=0, chksum=wanted))
                number = ~header_sum(zero) & 0xFFFF
                frame = udp4(tos=tos, id=number, chksum=wanted)
                self.assertEqual(header_sum(bytes(frame)), 0xFFFF)
                before = udp4(tos=0, id=number)
                behind = bytes(udp4(tos=after, id=number))
                self.send(self.near, before)
                self.expect_frame(self.rf, behind)


class Unmarked(classifier_test.ClassifierTest):
    """0xff and 0 change nothing, and neither does a mark that the byte has already."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"masks": UNMARKED, "tos": (0x00, 0x5A, 0xFF)}, {"masks": EF, "tos": (0xB8, 0xBB)}]

    def doRunTest(self, masks: tuple[int, int], tos: Iterable[int]) -> None:
        index = self.service_flow(tos=masks)
        self.make_primary(index)
        for byte in tos:
            # The two zeros of one's complement stay what they are, too.
            for checksum in (None, 0x0000, 0xFFFF, 0xDEAD):
                self.expect_service_flow(udp4(tos=byte, chksum=checksum), index)
            self.expect_service_flow(udp6(tc=byte), index)


class OnlyOnTheCable(classifier_test.ClassifierTest):
    """Copies to other ports, downstream frames and those between CPE are not marked."""

    def doRunTest(self) -> None:
        self.make_primary(self.service_flow(tos=EF))
        flood = {"dst": BROADCAST_MAC}
        self.send(self.near, udp4(ether=flood))
        marked, unmarked = udp4(ether=flood, tos=0xB8), udp4(ether=flood)
        self.expect_frames({self.rf: marked, self.far: unmarked})
        down = Ether(dst=NEAR_MAC, src=NETWORK_MAC) / ip4() / UDP() / Raw(PAYLOAD)
        for port in (self.rf, self.far):
            self.send(port, down)
            self.expect_frame(self.near, down)
        self.expect_silence()


class AfterClassification(classifier_test.ClassifierTest):
    """Classifiers see the byte as it came; each service flow marks its own frames, by its masks."""

    def doRunTest(self) -> None:
        voice, bulk = self.service_flow(tos=(0x03, 0x20)), self.service_flow(tos=EF)
        self.rule(voice, {"ip_tos": 0xB8}, 20)
        self.rule(bulk, {"ip_tos": 0x20}, 10)
        for tos, flow, after in (
            (0xB8, voice, 0x20),
            (0x20, bulk, 0xB8),
            (0x28, self.primary, 0x28),
        ):
            before = self.fates(flow)
            self.send(self.near, udp4(tos=tos))
            self.expect_frame(self.rf, udp4(tos=after))
            self.expect_fates(flow, before, forwarded=1)
        # A change is in force with the next frame.
        self.modify(self.queue(voice, tos=(0x00, 0x44)))
        self.send(self.near, udp4(tos=0xB8))
        self.expect_frame(self.rf, udp4(tos=0x44))
        state = self.client.state(voice)
        self.assertEqual(state.enqueued_bytes, 2 * frame_length(len(udp4())))
        self.assertEqual(state.backlog, 0)


class Downstream(cmts_test.CmtsTest):
    """A CMTS marks towards the cable, each modem's frames by their service flow."""

    def doRunTest(self) -> None:
        flow = self.behind_cable(2)
        self.modify(self.queue(flow, tos=EF))
        self.send(self.near, self.to(2, tos=0x01))
        self.expect_frame(self.rf, self.to(2, tos=0xB9))
        self.expect_service_flow(udp4(tos=0x01), self.primary, flow)
