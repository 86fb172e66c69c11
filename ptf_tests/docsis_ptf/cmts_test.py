# SPDX-License-Identifier: Apache-2.0
"""Fourth rung for the CMTS's program: modems behind the cable."""

from __future__ import annotations

from typing import Any, ClassVar

from docsis_ptf.classifier_test import ClassifierTest
from docsis_ptf.docsis_test import NO_MODEM
from docsis_ptf.packets import udp4


def cpe(modem: int) -> str:
    """The address of a modem's CPE."""
    return f"06:00:00:00:00:{modem:02x}"


class CmtsTest(ClassifierTest):
    """cmts.p4, whose near and far ports are the network's."""

    program: ClassVar[str] = "cmts"

    def behind_cable(self, modem: int) -> int:
        """A modem with one CPE behind the cable; returns its primary service flow."""
        self.insert(self.station(cpe(modem), self.rf, NO_MODEM, modem))
        primary = self.service_flow()
        self.insert(self.primary_entry(primary, modem))
        return primary

    def to(self, modem: int, **ip: Any) -> Any:
        """UDP to the modem's CPE."""
        return udp4(ether={"dst": cpe(modem)}, **ip)
