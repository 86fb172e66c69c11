# SPDX-License-Identifier: Apache-2.0
"""The bridge: stations, flooding, and frames out of the ordinary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from docsis_control.lengths import FCS_BYTES, MIN_FRAME_BYTES
from docsis_ptf import docsis_test
from docsis_ptf.docsis_test import (
    BROADCAST_MAC,
    FAR_MAC,
    MAX_FRAME,
    NEAR_MAC,
    NETWORK_MAC,
    NO_SERVICE_FLOW,
    UNKNOWN_MAC,
)
from docsis_ptf.entities import Entry
from docsis_ptf.packets import PAYLOAD, ethernet, udp4, udp6


class Stations(docsis_test.DocsisTest):
    """A frame to a station leaves at its port only, towards the RF port by its service flow."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"source": "near", "destination": "rf"},
            {"source": "far", "destination": "rf"},
            {"source": "rf", "destination": "near"},
            {"source": "rf", "destination": "far"},
            {"source": "near", "destination": "far"},
        ]

    def doRunTest(self, source: str, destination: str) -> None:
        addresses = {"rf": NETWORK_MAC, "near": NEAR_MAC, "far": FAR_MAC}
        frame = Ether(dst=addresses[destination], src=addresses[source]) / IP() / UDP() / PAYLOAD
        index = self.primary if destination == "rf" else NO_SERVICE_FLOW
        ports = {name: int(getattr(self, name)) for name in addresses}
        sent = [self.counts("port_sent", port)[0] for port in ports.values()]
        received = self.counts("port_received", ports[source])[0]
        before = self.fates(index)
        self.send(ports[source], frame)
        self.expect_frame(ports[destination], frame)
        self.expect_silence()
        self.expect_fates(index, before, forwarded=1)
        for (name, port), old in zip(ports.items(), sent, strict=True):
            rise = self.counts("port_sent", port)[0] - old
            expected = (1, len(frame)) if name == destination else (0, 0)
            self.assertEqual((rise.packets, rise.octets), expected, f"port_sent of {name}")
        rise = self.counts("port_received", ports[source])[0] - received
        self.assertEqual((rise.packets, rise.octets), (1, len(frame)))


class Flooding(docsis_test.DocsisTest):
    """A frame to anybody else leaves at every port but its own, counted once."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"source": source, "address": address}
            for source in ("rf", "near", "far")
            for address in (BROADCAST_MAC, UNKNOWN_MAC, "01:00:5e:00:00:fb", "33:33:00:00:00:01")
        ]

    def doRunTest(self, source: str, address: str) -> None:
        ports = {"rf": self.rf, "near": self.near, "far": self.far}
        port = ports.pop(source)
        frame = Ether(dst=address, src="02:00:00:00:02:99") / IP() / UDP() / Raw(PAYLOAD)
        index = NO_SERVICE_FLOW if source == "rf" else self.primary
        before = self.fates(index)
        self.send(port, frame)
        self.expect_frames(dict.fromkeys(ports.values(), frame))
        self.expect_silence()
        # Towards the RF port the copy there is the service flow's; elsewhere there is none.
        fate = "flooded" if source == "rf" else "forwarded"
        self.expect_fates(index, before, **{fate: 1})


class StationFlood(docsis_test.DocsisTest):
    """A station entry may say flood, too: for groups that the controller knows."""

    def doRunTest(self) -> None:
        address = "01:00:5e:01:02:03"
        key = {"modem": self.near_modem, "address": docsis_test.mac_value(address)}
        self.insert(Entry("FrameIngress.bridge.station", "flood", {}, key))
        frame = Ether(dst=address, src=NEAR_MAC) / IP() / UDP() / Raw(PAYLOAD)
        self.send(self.near, frame)
        self.expect_frames({self.rf: frame, self.far: frame})
        self.expect_silence()


class UnknownInterface(docsis_test.DocsisTest):
    """Frames from an interface that is not provisioned, or floods to nobody, are unroutable."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"flood_group": None}, {"flood_group": 0}]

    def doRunTest(self, flood_group: int | None) -> None:
        if flood_group is None:
            self.remove(self.interface(self.far, self.far, to_rf=True))
        else:
            self.modify(self.interface(self.far, flood_group, to_rf=True))
        before = self.fates(NO_SERVICE_FLOW)
        frame = Ether(dst=UNKNOWN_MAC, src=FAR_MAC) / IP() / UDP() / Raw(PAYLOAD)
        self.send(self.far, frame)
        self.expect_fates(NO_SERVICE_FLOW, before, unroutable=1)
        self.expect_silence()


class NotIp(docsis_test.DocsisTest):
    """Whatever an Ethernet frame carries, it is bridged unchanged."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"frame": name} for name in self.table()]

    def table(self) -> dict[str, Any]:
        wrong = IP(src="10.0.0.11", dst="10.0.0.101", chksum=0xDEAD) / UDP(chksum=0xBEEF)
        return {
            "ARP": ethernet() / ARP(op=1, psrc="10.0.0.11", pdst="10.0.0.101"),
            "ARP in a VLAN": ethernet() / Dot1Q(vlan=5) / ARP(op=2),
            "LLC": Ether(dst=NETWORK_MAC, src=NEAR_MAC, type=60) / Raw(b"\x42\x42\x03" * 20),
            "IEEE 1588": ethernet(type=0x88F7) / Raw(PAYLOAD),
            "PPPoE": ethernet(type=0x8864) / Raw(PAYLOAD),
            "nothing behind Ethernet": ethernet(type=0x9000),
            # Linux itself drops a tagged frame with less than two bytes behind the tag.
            "VLAN tag, then next to nothing": ethernet() / Dot1Q(vlan=5, type=0x9000) / Raw(b"ab"),
            "wrong checksums": ethernet() / wrong / Raw(PAYLOAD),
            "trailer behind IP": udp4(len=28),
            "IPv6 without next header": ethernet() / IPv6(nh=59),
            "1522 with the CRC": udp4() / Raw(bytes(1518 - len(udp4()))),
            "1522 with tag and CRC": ethernet() / Dot1Q(vlan=5) / IP() / Raw(bytes(1518 - 38)),
        }

    def doRunTest(self, frame: str) -> None:
        packet = self.table()[frame]
        before = self.fates(self.primary)
        self.send(self.near, packet)
        self.expect_frame(self.rf, packet)
        self.expect_fates(self.primary, before, forwarded=1)


class Malformed(docsis_test.DocsisTest):
    """A frame that ends inside a header it announces, or has an impossible one, is dropped."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"frame": name} for name in self.table()]

    def table(self) -> dict[str, bytes]:
        arp = bytes(ethernet() / ARP())
        vlan = bytes(ethernet() / Dot1Q(vlan=5) / IP() / UDP())
        udp, udp_six = bytes(udp4()), bytes(udp6())
        tcp = bytes(ethernet() / IP() / TCP())
        icmp = bytes(ethernet() / IP() / ICMP())
        options = bytearray(udp)
        options[14] = 0x4F
        short = bytearray(udp)
        short[14] = 0x44
        none = bytearray(udp)
        none[14] = 0x40
        tcp_six = bytes(ethernet() / IPv6() / TCP())
        return {
            "Ethernet that announces IPv4": udp[:14],
            # Fewer bytes behind a tag never reach a switch on Linux: the kernel drops them.
            "a tag that announces IPv4": vlan[:20],
            "a tag and IPv4 but for a byte": vlan[:37],
            "half ARP": arp[:28],
            "ARP but for a byte": arp[:41],
            "IPv4 but for a byte": udp[:33],
            "IPv4 header length 4": bytes(short),
            "IPv4 header length 0": bytes(none),
            "options beyond the end": bytes(options)[:60],
            "half UDP": udp[:38],
            "UDP but for a byte": udp[:41],
            "TCP but for a byte": tcp[:53],
            "ICMP but for a byte": icmp[:37],
            "half IPv6": udp_six[:30],
            "IPv6 but for a byte": udp_six[:53],
            "IPv6 and half UDP": udp_six[:58],
            "IPv6 and TCP but for a byte": tcp_six[:73],
            "LLC but for a byte": bytes(ethernet(type=2)) + b"\x42\x42",
            "a length and nothing": bytes(ethernet(type=0)),
            "a tag and LLC but for a byte": bytes(ethernet() / Dot1Q(vlan=5, type=2)) + b"\x42\x42",
            "SNAP but for a byte": bytes(ethernet(type=7)) + b"\xaa\xaa\x03\0\0\0\x08",
        }

    def doRunTest(self, frame: str) -> None:
        packet = self.table()[frame]
        none, primary = self.fates(NO_SERVICE_FLOW), self.fates(self.primary)
        self.send(self.near, packet)
        self.expect_fates(NO_SERVICE_FLOW, none, malformed=1)
        # The switch goes on as if nothing had been.
        good = udp4()
        self.send(self.near, good)
        self.expect_frame(self.rf, good)
        self.expect_fates(self.primary, primary, forwarded=1)


class Runt(docsis_test.DocsisTest):
    """Complete headers in fewer than 60 bytes: veth and tunnels carry them, so does a bridge."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"length": length} for length in (14, 15, 42, 43, 59)]

    def doRunTest(self, length: int) -> None:
        head = bytes(ethernet(type=0x9000)) if length < 42 else bytes(udp4(len=28))
        frame = head.ljust(length, b"\x5a")[:length]
        before, state = self.fates(self.primary), self.client.state(self.primary)
        self.send(self.near, frame)
        self.expect_frame(self.rf, frame)
        self.expect_fates(self.primary, before, forwarded=1)
        # DOCSIS counts what Ethernet pads it to.
        after = self.client.state(self.primary)
        self.assertEqual(after.enqueued_bytes - state.enqueued_bytes, MIN_FRAME_BYTES)
        self.assertEqual(after.dequeued_bytes - state.dequeued_bytes, MIN_FRAME_BYTES)


class Jumbo(docsis_test.DocsisTest):
    """Above the service flow's largest frame: policed; elsewhere forwarded."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"length": MAX_FRAME - FCS_BYTES, "max_frame": MAX_FRAME, "policed": False},
            {"length": MAX_FRAME - FCS_BYTES + 1, "max_frame": MAX_FRAME, "policed": True},
            {"length": 9000, "max_frame": MAX_FRAME, "policed": True},
            {"length": 9000, "max_frame": 9000 + FCS_BYTES - 1, "policed": True},
            {"length": 9000, "max_frame": 9000 + FCS_BYTES, "policed": False},
        ]

    def frame(self, destination: str, length: int) -> Any:
        head = Ether(dst=destination, src=FAR_MAC) / IP() / UDP()
        return head / Raw(bytes(length - len(head)))

    def doRunTest(self, length: int, max_frame: int, policed: bool) -> None:
        index = self.service_flow(max_frame=max_frame)
        self.make_primary(index)
        frame = self.frame(NETWORK_MAC, length)
        before = self.fates(index)
        self.send(self.near, frame)
        if policed:
            self.expect_fates(index, before, policed=1)
            self.expect_silence()
        else:
            self.expect_frame(self.rf, frame)
            self.expect_fates(index, before, forwarded=1)
        # Between two CPE no service flow polices.
        local = self.frame(NEAR_MAC, length)
        self.send(self.far, local)
        self.expect_frame(self.near, local)


class Transmit(docsis_test.DocsisTest):
    """A packet-out TRANSMIT sends its frame out of the port it names."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"port": "rf"}, {"port": "near"}]

    def doRunTest(self, port: str) -> None:
        frame = udp4()
        before = self.fates(NO_SERVICE_FLOW)
        self.client.transmit(getattr(self, port), bytes(frame))
        self.expect_frame(getattr(self, port), frame)
        self.expect_silence()
        self.expect_fates(NO_SERVICE_FLOW, before, forwarded=1)
