# SPDX-License-Identifier: Apache-2.0
"""The CMTS's program: the same pipeline with room for every modem's service flows."""

from __future__ import annotations

from typing import ClassVar

from docsis_ptf import aqm_test, classifier_test
from docsis_ptf.aqm_test import HELD
from docsis_ptf.classifier_test import udp4, udp4_ports
from docsis_ptf.docsis_test import SERVICE_FLOWS
from docsis_ptf.entities import QUIESCENT

LAST = SERVICE_FLOWS - 1


class LastServiceFlow(classifier_test.ClassifierTest):
    """Service flow 4,095 has a queue and counters of its own."""

    program: ClassVar[str] = "cmts"

    def doRunTest(self) -> None:
        self.service_flow(LAST)
        self.rule(LAST, {"l4_dst_port": (5000, 5000)})
        self.expect_service_flow(udp4(), LAST, self.primary, LAST - 1)
        self.expect_service_flow(udp4_ports(1, 2), self.primary, LAST)


class ManyModems(classifier_test.ClassifierTest):
    """64 modems of two downstream service flows, told apart by address and port."""

    program: ClassVar[str] = "cmts"

    def doRunTest(self) -> None:
        flows = {}
        for modem in range(64):
            address = f"10.1.0.{modem + 1}"
            match = {"ipv4_dst": int.from_bytes(bytes(map(int, address.split("."))))}
            best_effort, voice = self.service_flow(), self.service_flow()
            self.rule(best_effort, match, 10)
            self.rule(voice, {**match, "ip_tos": 0xB8}, 20)
            flows[address] = (best_effort, voice)
        for address in ("10.1.0.1", "10.1.0.32", "10.1.0.64"):
            best_effort, voice = flows[address]
            self.expect_service_flow(udp4(dst=address), best_effort, voice, self.primary)
            self.expect_service_flow(udp4(dst=address, tos=0xB8), voice, best_effort, self.primary)


class EarlyDrop(aqm_test.AqmTest):
    """DOCSIS-PIE's decision is there, too."""

    program: ClassVar[str] = "cmts"

    def doRunTest(self) -> None:
        index = self.aqm_flow(buffer_size=3 * HELD)
        self.arm(index, QUIESCENT)
        self.drop_frame(index)
        self.pass_frames(index, 5)
