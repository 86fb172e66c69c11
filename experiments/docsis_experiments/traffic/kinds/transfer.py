# SPDX-License-Identifier: Apache-2.0
"""TCP transfers, as FTP's."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import KeyedError
from docsis_control.config.units import ByteSize, DataRate, Duration
from docsis_experiments.experiment.tcp import CongestionControl
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import Sent, TcpTransfers

_STAGGER: Final = 100_000_000
"""Nanoseconds."""


class Transfers(Group):
    """TCP transfers, as FTP's: each flow sends one file after the other, or one without an end."""

    senders = (TcpTransfers,)

    kind: Literal["transfer"] = "transfer"
    size: ByteSize | None = Field(default=None, description="Size of a file; endless unless given.")
    pause: Duration = Field(default=0, description="Between two files; none unless given.")
    connection: Literal["new", "kept"] = Field(
        default="new",
        description="Of the next file: a new one, unless given, or the same one, on which TCP "
        "starts slowly again if it was idle for long enough (RFC 5681, 4.1).",
    )
    rate: DataRate | None = Field(
        default=None,
        description="Payload that the application of one flow sends at the most; no such limit "
        "unless given.",
    )
    stagger: Duration | None = Field(
        default=None,
        description="Between the starts of two flows, so that their slow starts are not one; "
        "100 ms unless given, and none beside start_spread.",
    )
    congestion_control: CongestionControl | None = Field(
        default=None, description="TCP's congestion control; the experiment's unless given."
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
        if self.connection == "kept" and self.size is None:
            raise KeyedError(
                "connection", "there is no next file behind an endless one; give a size"
            )
        return self

    @field_validator("rate")
    @classmethod
    def _some_rate(cls, value: int | None) -> int | None:
        if value == 0:
            raise ValueError("a rate must be above 0; leave the key out for no limit")
        return value

    @model_validator(mode="after")
    def _one_way_to_start(self) -> Self:
        if self.start_spread is not None and self.stagger is not None:
            raise KeyedError("stagger", "stands beside start_spread; leave one out")
        return self

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        sender = TcpTransfers(
            self.size or 0,
            self.pause / 1e9,
            self.congestion_control,
            kept=self.connection == "kept",
            rate=self.rate or 0,
        )
        usual = _STAGGER if self.start_spread is None else 0
        stagger = usual if self.stagger is None else self.stagger
        return (Sent(sender, delay=number * stagger / 1e9),)


KIND: Final = Transfers
