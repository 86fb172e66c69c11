# SPDX-License-Identifier: Apache-2.0
"""Sets of classifiers: priority, first match, the primary service flow, modems, counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from docsis_ptf import classifier_test
from docsis_ptf.docsis_test import (
    BROADCAST_MAC,
    FAR_MAC,
    MODEM,
    NEAR_MAC,
    NETWORK_MAC,
    NO_MODEM,
    NO_SERVICE_FLOW,
    UNKNOWN_MAC,
)
from docsis_ptf.entities import Counts
from docsis_ptf.packets import PAYLOAD, plain, tcp4, udp4, udp4_ports, udp6_ports

# DOCSIS: a modem has at least 64 classifiers and 32 service flows in a direction.
CLASSIFIERS = 64
SERVICE_FLOWS = 32
OTHER_MODEM = 2


class Priority(classifier_test.ClassifierTest):
    """The rule of highest priority decides among those that match, whatever their order."""

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


class FirstMatch(classifier_test.ClassifierTest):
    """32 rules that contain each other: the highest of those that match, whichever are taken away.

    How a Rule Priority (TLV 22/23.5) becomes P4Runtime's: docs/modem-configuration.md.
    """

    def doRunTest(self) -> None:
        flows = [self.service_flow() for _ in range(32)]
        # Rule n takes ports 0 to 10 n; the lower ones, which take less, come first.
        rules = {
            n: self.rule(flow, {"l4_dst_port": (0, 10 * n), "has_ports": 1}, 256 - 8 * n)
            for n, flow in enumerate(flows)
        }
        for n in (0, 1, 7, 30, 31):
            self.expect_service_flow(udp4_ports(9, 10 * n), flows[n], *flows[n + 1 : n + 2])
        self.expect_service_flow(tcp4(9, 311), self.primary, flows[31])
        for n in (7, 8):
            self.remove(rules[n])
        self.expect_service_flow(udp4_ports(9, 70), flows[9], flows[7], flows[8])
        self.expect_service_flow(udp4_ports(9, 60), flows[6], flows[9])


class Changes(classifier_test.ClassifierTest):
    """A rule may name another service flow, or go, while frames pass."""

    def doRunTest(self) -> None:
        first, second = self.service_flow(), self.service_flow()
        rule = self.rule(first, {"ip_protocol": 17})
        self.expect_service_flow(udp4(), first, second, self.primary)
        self.modify(replace(rule, params={"service_flow": second}))
        self.expect_service_flow(udp4(), second, first, self.primary)
        self.remove(rule)
        self.expect_service_flow(udp4(), self.primary, first, second)


class FullModem(classifier_test.ClassifierTest):
    """64 classifiers and 32 service flows of one modem at once: every rule and count is right."""

    def doRunTest(self) -> None:
        flows = [self.service_flow() for _ in range(SERVICE_FLOWS)]
        rules = [
            self.rule(flows[n % SERVICE_FLOWS], self.match(n), 1 + n) for n in range(CLASSIFIERS)
        ]
        entries = [*rules, self.primary_entry(self.primary)]
        before = {flow: self.fates(flow) for flow in (*flows, self.primary)}
        counts = [self.client.direct_counts(entry) for entry in entries]
        # Rule n gets 1 to 3 frames of one length of its own.
        sent = [(n, self.frame(n)) for n in range(CLASSIFIERS) for _ in range(1 + n % 3)]
        rest = [plain(), udp4_ports(9, 5999), udp4_ports(9, 6000 + CLASSIFIERS)]
        for frame in (*(frame for _, frame in sent), *rest):
            self.send(self.near, frame)
            self.expect_frame(self.rf, frame)
        wanted = [Counts(1 + n % 3, (1 + n % 3) * len(self.frame(n))) for n in range(CLASSIFIERS)]
        wanted.append(Counts(len(rest), sum(map(len, rest))))
        rise = [
            self.client.direct_counts(entry) - old
            for entry, old in zip(entries, counts, strict=True)
        ]
        self.assertEqual(rise, wanted)
        frames = Counter(flows[n % SERVICE_FLOWS] for n, _ in sent)
        frames[self.primary] = len(rest)
        for flow, old in before.items():
            self.expect_fates(flow, old, forwarded=frames[flow])

    def match(self, n: int) -> dict[str, Any]:
        version = {"is_ipv4": 1} if n % 2 else {"is_ipv6": 1}
        return {**version, "has_ports": 1, "l4_dst_port": (6000 + n, 6000 + n)}

    def frame(self, n: int) -> Any:
        return (udp4_ports if n % 2 else udp6_ports)(9, 6000 + n) / Raw(bytes(n))


class TwoModems(classifier_test.ClassifierTest):
    """Two modems with the same rules at one switch stay apart: flows, primary ones, counters."""

    def doRunTest(self) -> None:
        self.make_modem(self.far, OTHER_MODEM)
        self.insert(self.station(NETWORK_MAC, self.rf, OTHER_MODEM, OTHER_MODEM))
        ports = {MODEM: self.near, OTHER_MODEM: self.far}
        voice = {modem: self.service_flow() for modem in ports}
        primary = {MODEM: self.primary, OTHER_MODEM: self.service_flow()}
        self.insert(self.primary_entry(primary[OTHER_MODEM], OTHER_MODEM))
        rules = {
            modem: self.rule(flow, {"ip_tos": 0xB8, "is_ipv4": 1}, modem=modem)
            for modem, flow in voice.items()
        }
        everything = (*voice.values(), *primary.values())
        for modem, port in ports.items():
            for frame, flow in ((udp4(tos=0xB8), voice[modem]), (udp4(), primary[modem])):
                others = [index for index in everything if index != flow]
                self.expect_service_flow(frame, flow, *others, port=port)
        # One modem's rules and primary service flow say nothing of the other's frames.
        self.remove(rules[MODEM])
        self.expect_service_flow(udp4(tos=0xB8), primary[MODEM], *voice.values(), port=self.near)
        self.expect_service_flow(
            udp4(tos=0xB8), voice[OTHER_MODEM], primary[OTHER_MODEM], port=self.far
        )
        self.remove(self.primary_entry(primary[MODEM], MODEM))
        before = self.fates(NO_SERVICE_FLOW)
        self.send(self.near, udp4())
        self.expect_fates(NO_SERVICE_FLOW, before, no_classifier=1)
        self.expect_service_flow(udp4(), primary[OTHER_MODEM], port=self.far)


class ModemBridges(classifier_test.ClassifierTest):
    """A modem bridges for its own CPE: another modem's are behind the cable."""

    def doRunTest(self) -> None:
        self.make_modem(self.near, MODEM)
        self.make_modem(self.far, OTHER_MODEM)
        other = self.service_flow()
        self.insert(self.primary_entry(other, OTHER_MODEM))
        self.remove(self.station(FAR_MAC, self.far, MODEM))
        # To the other modem's CPE, and to everybody: up the cable only.
        for address in (FAR_MAC, BROADCAST_MAC, UNKNOWN_MAC):
            frame = udp4(ether={"dst": address})
            self.expect_service_flow(frame, self.primary, other)
            self.expect_silence()
        for address in (NEAR_MAC, BROADCAST_MAC):
            frame = udp4(ether={"dst": address, "src": FAR_MAC})
            self.expect_service_flow(frame, other, self.primary, port=self.far)
            self.expect_silence()
        # Down the cable each CPE is found, whosever it is.
        for address, port in ((NEAR_MAC, self.near), (FAR_MAC, self.far)):
            frame = Ether(dst=address, src=NETWORK_MAC) / IP() / UDP() / Raw(PAYLOAD)
            self.send(self.rf, frame)
            self.expect_frame(port, frame)
            self.expect_silence()


class PrimaryServiceFlow(classifier_test.ClassifierTest):
    """A frame that no rule takes is the primary service flow's, which can become another."""

    def doRunTest(self) -> None:
        self.rule(self.service_flow(), {"ip_protocol": 6})
        self.expect_service_flow(udp4(), self.primary)
        other = self.service_flow()
        self.make_primary(other)
        self.expect_service_flow(udp4(), other, self.primary)


class NoClassifier(classifier_test.ClassifierTest):
    """Without a primary service flow, or with one that has no queue: dropped and counted."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"primary": False}, {"primary": True}]

    def doRunTest(self, primary: bool) -> None:
        index = NO_SERVICE_FLOW
        if primary:
            index = self.new_index()
            self.make_primary(index)
        else:
            self.remove(self.primary_entry(self.primary))
        before = self.fates(index)
        self.send(self.near, udp4())
        self.expect_fates(index, before, no_classifier=1)
        self.expect_silence()
        # A rule takes its frames all the same.
        flow = self.service_flow()
        self.rule(flow, {"ip_protocol": 6})
        self.expect_service_flow(tcp4(1, 2), flow)


class DirectCounters(classifier_test.ClassifierTest):
    """A rule's own counter counts its frames and their bytes, the primary entry's the others."""

    def doRunTest(self) -> None:
        index = self.service_flow()
        rules = [
            self.rule(index, {"ip_protocol": 17}, 10),
            self.rule(index, {"l4_dst_port": (1, 1)}, 20),
        ]
        idle = self.rule(index, {"ip_protocol": 17}, 10, modem=OTHER_MODEM)
        primary = self.primary_entry(self.primary)
        frames = [udp4(), udp4_ports(1, 2), udp4_ports(2, 1), tcp4(1, 2)]
        entries = [*rules, idle, primary]
        rise = self.direct_rise(entries, [(self.near, frame) for frame in frames])
        lengths = [len(frame) for frame in frames]
        self.assertEqual(rise[0], Counts(2, lengths[0] + lengths[1]))
        # Counted where it was decided, not wherever a rule would match.
        self.assertEqual(rise[1], Counts(1, lengths[2]))
        self.assertEqual(rise[2], Counts(0, 0))
        self.assertEqual(rise[3], Counts(1, lengths[3]))


class Downstream(classifier_test.ClassifierTest):
    """Frames from the RF port are bridged without a classifier (no service flow)."""

    def doRunTest(self) -> None:
        for modem in (NO_MODEM, MODEM):
            self.rule(self.service_flow(), {"ip_protocol": 17}, modem=modem)
        frame = Ether(dst=NEAR_MAC, src=NETWORK_MAC) / IP() / UDP() / Raw(PAYLOAD)
        before = self.fates(NO_SERVICE_FLOW)
        self.send(self.rf, frame)
        self.expect_frame(self.near, frame)
        self.expect_fates(NO_SERVICE_FLOW, before, forwarded=1)
