# SPDX-License-Identifier: Apache-2.0
"""TCP transfers, as FTP's."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import KeyedError
from docsis_control.config.units import ByteSize, Duration
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import Sent, TcpTransfers


class Transfers(Group):
    """TCP transfers, as FTP's: each flow sends one file after the other, or one without an end."""

    senders = (TcpTransfers,)

    kind: Literal["transfer"] = "transfer"
    size: ByteSize | None = Field(default=None, description="Size of a file; endless unless given.")
    pause: Duration = Field(default=0, description="Between two files; none unless given.")
    stagger: Duration = Field(
        default=100_000_000,
        description="Between the starts of two flows, so that their slow starts are not one; "
        "100 ms unless given.",
    )
    congestion_control: Literal["cubic", "reno"] = Field(
        default="cubic", description="TCP's congestion control; cubic unless given."
    )

    @field_validator("size")
    @classmethod
    def _something(cls, value: int | None) -> int | None:
        if value == 0:
            raise ValueError("a file must have a size; leave the key out for an endless one")
        return value

    @model_validator(mode="after")
    def _pause_between(self) -> Self:
        if self.pause and self.size is None:
            raise KeyedError("pause", "stands beside an endless transfer; give a size")
        return self

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        sender = TcpTransfers(self.size or 0, self.pause / 1e9, self.congestion_control)
        return (Sent(sender, delay=number * self.stagger / 1e9),)


KIND: Final = Transfers
