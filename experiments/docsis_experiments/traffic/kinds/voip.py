# SPDX-License-Identifier: Apache-2.0
"""Calls and games over UDP: 50 small frames a second (000, section 2.2.1)."""

from __future__ import annotations

from typing import Final, Literal

from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import Sent, UdpCall


class Call(Group):
    """VoIP or gaming over UDP: 50 frames a second of 218 bytes with CRC (000, section 2.2.1)."""

    senders = (UdpCall,)
    # Sessions of irtt, each a program of its own.
    most = 8

    kind: Literal["voip"] = "voip"

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        return (Sent(UdpCall()),)


KIND: Final = Call
