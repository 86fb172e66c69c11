# SPDX-License-Identifier: Apache-2.0
"""The CMTS: downstream service flows of many modems, found by address and by their classifiers."""

from __future__ import annotations

from typing import Any, ClassVar

from scapy.layers.l2 import Ether
from scapy.packet import Raw

from docsis_control.lengths import frame_length
from docsis_ptf import aqm_test, cmts_test
from docsis_ptf.aqm_test import HELD
from docsis_ptf.cmts_test import cpe
from docsis_ptf.docsis_test import (
    BROADCAST_MAC,
    FAR_MAC,
    MODEM,
    NEAR_MAC,
    NO_MODEM,
    NO_SERVICE_FLOW,
    SERVICE_FLOWS,
    UNKNOWN_MAC,
)
from docsis_ptf.entities import QUIESCENT, Counts
from docsis_ptf.packets import PAYLOAD, ip4, tcp4, udp4, udp4_ports
from docsis_ptf.shaper import QueueConfig

LAST = SERVICE_FLOWS - 1
MODEMS = 64
FLOWS_PER_MODEM = 4
EF = 0xB8


class ByAddress(cmts_test.CmtsTest):
    """A station behind the cable tells the modem, whose primary service flow takes its frames."""

    def doRunTest(self) -> None:
        primary = {modem: self.behind_cable(modem) for modem in (2, 3, 255)}
        for modem, flow in primary.items():
            others = [index for index in primary.values() if index != flow]
            self.expect_service_flow(self.to(modem), flow, *others, self.primary)
        # A second CPE of the same modem.
        self.insert(self.station(UNKNOWN_MAC, self.rf, NO_MODEM, 3))
        frame = udp4(ether={"dst": UNKNOWN_MAC})
        self.expect_service_flow(frame, primary[3], primary[2], self.primary)


class ByClassifier(cmts_test.CmtsTest):
    """The same rules for two modems: the address decides whose apply."""

    def doRunTest(self) -> None:
        primary = {modem: self.behind_cable(modem) for modem in (2, 3)}
        voice = {modem: self.service_flow() for modem in primary}
        rules = {modem: self.rule(voice[modem], {"ip_tos": EF}, modem=modem) for modem in voice}
        everything = (*primary.values(), *voice.values(), self.primary)
        for modem in primary:
            for frame, flow in ((self.to(modem), primary), (self.to(modem, tos=EF), voice)):
                others = [index for index in everything if index != flow[modem]]
                self.expect_service_flow(frame, flow[modem], *others)
        frame = self.to(2, tos=EF)
        rise = self.direct_rise(rules.values(), [(self.near, frame)])
        self.assertEqual(rise, [Counts(1, len(frame)), Counts(0, 0)])


class GroupServiceFlow(cmts_test.CmtsTest):
    """Flooded frames belong to modem 0: its rules and its primary service flow, no modem's."""

    def doRunTest(self) -> None:
        group, multicast, modem_flow = (self.service_flow() for _ in range(3))
        self.modify(self.primary_entry(group, NO_MODEM))
        self.rule(modem_flow, {"is_ipv4": 1}, 100, modem=MODEM)
        stream = "01:00:5e:01:02:03"
        for address in (BROADCAST_MAC, UNKNOWN_MAC, stream):
            frame = udp4(ether={"dst": address})
            self.expect_service_flow(frame, group, modem_flow, self.primary, to=(self.rf, self.far))
        self.rule(multicast, {"dst_mac": int(stream.replace(":", ""), 16)}, modem=NO_MODEM)
        frame = udp4(ether={"dst": stream})
        self.expect_service_flow(frame, multicast, group, modem_flow, to=(self.rf, self.far))
        # To a station behind the cable: the modem's.
        self.expect_service_flow(udp4(), modem_flow, group, multicast)
        self.expect_silence()


class NoGroupServiceFlow(cmts_test.CmtsTest):
    """Without a primary service flow of modem 0 floods end there, and count so."""

    def doRunTest(self) -> None:
        self.remove(self.primary_entry(self.primary, NO_MODEM))
        before = self.fates(NO_SERVICE_FLOW)
        self.send(self.near, udp4(ether={"dst": BROADCAST_MAC}))
        self.expect_fates(NO_SERVICE_FLOW, before, no_classifier=1)
        self.expect_silence()
        self.expect_service_flow(udp4(), self.primary)


class Upstream(cmts_test.CmtsTest):
    """There is no service flow from the cable to the network; there is one from modem to modem."""

    def doRunTest(self) -> None:
        flow = self.behind_cable(2)
        self.rule(self.service_flow(), {"is_ipv4": 1}, modem=NO_MODEM)
        for address, port in ((NEAR_MAC, self.near), (FAR_MAC, self.far)):
            frame = Ether(dst=address, src=cpe(3)) / ip4() / Raw(PAYLOAD)
            before = self.fates(NO_SERVICE_FLOW)
            self.send(self.rf, frame)
            self.expect_frame(port, frame)
            self.expect_silence()
            self.expect_fates(NO_SERVICE_FLOW, before, forwarded=1)
        # Back down the cable, to another modem's CPE, under that modem.
        self.expect_service_flow(self.to(2), flow, self.primary, port=self.rf)
        self.expect_silence()


class ManyModems(cmts_test.CmtsTest):
    """64 modems of 4 service flows at once, each with the same rules: 256 flows apart."""

    def doRunTest(self) -> None:
        rules: list[dict[str, Any]] = [
            {"ip_tos": EF},
            {"ip_protocol": 6, "has_ports": 1, "l4_dst_port": (443, 443)},
            {"ip_protocol": 17, "has_ports": 1, "l4_dst_port": (5060, 5061)},
        ]
        flows = {}
        for modem in range(2, MODEMS + 2):
            primary = self.behind_cable(modem)
            flows[modem] = [primary, *(self.service_flow() for _ in rules)]
            for n, match in enumerate(rules, start=1):
                self.rule(flows[modem][n], match, 100 - n, modem=modem)
        everything = [flow for own in flows.values() for flow in own]
        self.assertEqual(len(set(everything)), MODEMS * FLOWS_PER_MODEM)
        before = {flow: self.fates(flow) for flow in (*everything, self.primary)}
        for modem in flows:
            address = {"dst": cpe(modem)}
            frames = [udp4(ether=address), udp4(ether=address, tos=EF)]
            for frame in (tcp4(9, 443), udp4_ports(9, 5061)):
                frame[Ether].dst = cpe(modem)
                frames.append(frame)
            # Flow n gets n + 1 frames.
            for n, frame in enumerate(frames):
                for _ in range(n + 1):
                    self.send(self.near, frame)
                    self.expect_frame(self.rf, frame)
        for own in flows.values():
            for n, flow in enumerate(own):
                self.expect_fates(flow, before[flow], forwarded=n + 1)
        self.expect_fates(self.primary, before[self.primary])


class ManyQueues(cmts_test.CmtsTest):
    """64 modems of 4 service flows have 256 queues of their own in the traffic manager."""

    needs: ClassVar[tuple[str, ...]] = ("shaping",)

    def doRunTest(self) -> None:
        rate, burst = 4_000_000, 4_000
        flows = {}
        for modem in range(2, MODEMS + 2):
            self.insert(self.station(cpe(modem), self.rf, NO_MODEM, modem))
            flows[modem] = [self.new_index() for _ in range(FLOWS_PER_MODEM)]
            self.insert(self.primary_entry(flows[modem][0], modem))
            for n, index in enumerate(flows[modem]):
                self.insert(self.queue(index, queue_id=index, traffic_priority=n))
                if n:
                    self.rule(index, {"ip_tos": n << 2}, modem=modem)
        queues = [
            QueueConfig(self.rf, index, rate, burst, 2 * rate, burst, traffic_priority=n)
            for own in flows.values()
            for n, index in enumerate(own)
        ]
        self.client.shaper.configure(queues)
        keys = [(queue.port, queue.queue_id) for queue in queues]
        self._undo.append(("queues", lambda: self.client.shaper.remove(keys)))
        for modem in flows:
            for n in range(FLOWS_PER_MODEM):
                frame = self.to(modem, tos=n << 2)
                for _ in range(n + 1):
                    self.send(self.near, frame)
                    self.expect_frame(self.rf, frame)
        configured = self.client.shaper.states().queues
        self.assertEqual(set(configured), set(keys))
        length = frame_length(len(self.to(2)))
        for own in flows.values():
            for n, index in enumerate(own):
                flow = configured[self.rf, index]
                self.assertEqual(flow.config.max_sustained_rate, rate)
                self.assertEqual(flow.config.traffic_priority, n)
                sent = (flow.dequeued.frames, flow.dequeued.bytes)
                self.assertEqual(sent, (n + 1, (n + 1) * length))


class EveryServiceFlow(cmts_test.CmtsTest):
    """4,095 service flows at once, each with an entry, a queue and counters of its own."""

    def doRunTest(self) -> None:
        self.insert_all([self.queue(index) for index in range(self.primary + 1, SERVICE_FLOWS)])
        # The table's ends, both sides of each power of two, and some between.
        powers = [1 << n for n in range(2, 12)]
        tried = sorted({*powers, *(power - 1 for power in powers), 1_000, 3_000, LAST - 1, LAST})
        tried.remove(self.primary + 2)
        for index in tried:
            self.rule(index, {"l4_dst_port": (index, index)})
        for place, index in enumerate(tried):
            # A frame with one bit less would be counted there.
            others = [self.primary, tried[place - 1], index ^ (1 << (index.bit_length() - 1))]
            self.expect_service_flow(udp4_ports(9, index), index, *others)
        self.expect_service_flow(udp4_ports(9, 9), self.primary, *tried)


class EarlyDrop(aqm_test.AqmTest):
    """DOCSIS-PIE's decision is there, too."""

    program: ClassVar[str] = "cmts"

    def doRunTest(self) -> None:
        index = self.aqm_flow(buffer_size=3 * HELD)
        self.arm(index, QUIESCENT)
        self.drop_frame(index)
        self.pass_frames(index, 5)
