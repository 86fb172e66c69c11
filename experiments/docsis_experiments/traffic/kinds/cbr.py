# SPDX-License-Identifier: Apache-2.0
"""UDP at a constant rate."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator

from docsis_control.config.units import DataRate
from docsis_experiments.traffic.group import Datagrams
from docsis_experiments.traffic.senders import Sent, UdpTrains


class Constant(Datagrams):
    """UDP at a constant rate."""

    senders = (UdpTrains,)

    kind: Literal["cbr"] = "cbr"
    rate: DataRate = Field(description="Of the frames of one flow, to the end of the CRC.")

    @field_validator("rate")
    @classmethod
    def _bounded_rate(cls, value: int) -> int:
        if not 0 < value <= 200_000_000:
            raise ValueError("a rate must be above 0 and at most 200 Mbps: the sender is a program")
        return value

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        return (Sent(UdpTrains(self.frame, self.frame * 8 / self.rate)),)


KIND: Final = Constant
