# SPDX-License-Identifier: Apache-2.0
"""A game over TCP: a message every now and then on one connection (001)."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator

from docsis_control.config.units import ByteSize, Duration
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import Sent, TcpMessages


class Messages(Group):
    """A game over TCP: a message every now and then on one connection (001)."""

    senders = (TcpMessages,)

    kind: Literal["game"] = "game"
    size: ByteSize = Field(default=10_000, description="Of a message; 10 KB unless given.")
    interval: Duration = Field(
        default=2_000_000_000, description="From message to message; 2 s unless given."
    )

    @field_validator("size")
    @classmethod
    def _fits(cls, value: int) -> int:
        if not 16 <= value <= 1_000_000:
            raise ValueError(f"a message has 16 B to 1 MB, not {value} B")
        return value

    @field_validator("interval")
    @classmethod
    def _apart(cls, value: int) -> int:
        if value < 10_000_000:
            raise ValueError("messages must be 10 ms apart at least")
        return value

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        return (Sent(TcpMessages(self.size, self.interval / 1e9)),)


KIND: Final = Messages
