# SPDX-License-Identifier: Apache-2.0
"""Trains of UDP frames back to back."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator

from docsis_control.config.units import Duration
from docsis_experiments.traffic.group import Datagrams
from docsis_experiments.traffic.senders import Sent, UdpTrains


class Bursts(Datagrams):
    """Trains of UDP frames back to back."""

    senders = (UdpTrains,)

    kind: Literal["burst"] = "burst"
    frames: int = Field(ge=1, le=10_000, description="Frames of a train.")
    interval: Duration = Field(description="From train to train.")

    @field_validator("interval")
    @classmethod
    def _apart(cls, value: int) -> int:
        if value < 10_000_000:
            raise ValueError("trains must be 10 ms apart at least")
        return value

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        return (Sent(UdpTrains(self.frame, self.interval / 1e9, self.frames)),)


KIND: Final = Bursts
