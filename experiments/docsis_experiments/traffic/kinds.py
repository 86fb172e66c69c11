# SPDX-License-Identifier: Apache-2.0
"""Traffic as a scenario's file has it: groups of flows, each of one kind.

Times are of the run: 0 s is the start of the measured time, and what is before is ramp-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from docsis_control.config.models import KeyedError, Model, NodeName
from docsis_control.config.units import ByteSize, DataRate, Duration, format_duration
from docsis_control.lengths import frame_length
from docsis_experiments.experiment.tagged import as_tuple, chosen_by
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.stages.mininet.traffic import capture
from docsis_experiments.stages.mininet.traffic.flows import MOST_FLOWS

CONGESTION_CONTROLS: Final = ("cubic", "reno")

MOST_CALLS: Final = 8
"""Sessions of irtt, each a program of its own."""

_SMALLEST_FRAME: Final = frame_length(capture.ETHERNET + capture.SMALLEST)
"""Bytes to the end of the CRC: shorter ones are not told from acknowledgements."""
_LARGEST_FRAME: Final = frame_length(1514)


class _Group(Model):
    """What all have.

    Attributes:
        leaves: What a run's record has of it.
    """

    leaves: ClassVar[frozenset[Trace]] = frozenset({Trace.PACKETS, Trace.GOODPUT})

    name: NodeName = Field(description="Name of the group, for expectations, tables and figures.")
    kind: str
    count: int = Field(default=1, ge=1, le=MOST_FLOWS, description="Flows; one unless given.")
    mesh: bool = Field(
        default=False,
        description="Instead of a count: a flow from each of the hosts to each of the servers, "
        "which are all of the topology's unless given.",
    )
    hosts: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = Field(
        default=(),
        description="Hosts behind the modem, in turns; the first modem's unless given.",
    )
    servers: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Servers, in turns; the topology's first unless given."
    )
    start: Duration | None = Field(
        default=None, description="When it begins; with the ramp-up unless given."
    )
    end: Duration | None = Field(default=None, description="When it ends; with the run, if ever.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.end is not None and self.end <= (self.start or 0):
            raise KeyedError(
                "end",
                f"{format_duration(self.end)} is not after the start at "
                f"{format_duration(self.start or 0)}",
            )
        return self

    @model_validator(mode="after")
    def _one_number(self) -> Self:
        if self.mesh and "count" in self.model_fields_set:
            raise KeyedError("count", "stands beside mesh, which says how many; leave one out")
        return self

    @property
    def flow_names(self) -> tuple[str, ...]:
        """Of its flows: the group's, numbered where there are several."""
        if self.count == 1:
            return (self.name,)
        return tuple(f"{self.name}-{number}" for number in range(1, self.count + 1))


class Transfers(_Group):
    """TCP transfers, as FTP's: each flow sends one file after the other, or one without an end."""

    leaves = _Group.leaves | {Trace.RETRANSMISSIONS}

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


class Call(_Group):
    """VoIP or gaming over UDP: 50 frames a second of 218 bytes with CRC (000, section 2.2.1)."""

    leaves = frozenset({Trace.PACKETS, Trace.CALL})

    kind: Literal["voip"] = "voip"

    @field_validator("count")
    @classmethod
    def _bounded(cls, value: int) -> int:
        if value > MOST_CALLS:
            raise ValueError(f"there may be {MOST_CALLS} of them, not {value}")
        return value

    @model_validator(mode="after")
    def _always(self) -> Self:
        for key in ("start", "end"):
            if getattr(self, key) is not None:
                raise KeyedError(key, "a call lasts the whole run; leave it out")
        return self


class Messages(_Group):
    """A game over TCP: a message every now and then on one connection (001)."""

    leaves = _Group.leaves | {Trace.MESSAGES, Trace.RETRANSMISSIONS}

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


class _Datagrams(_Group):
    """UDP."""

    frame: ByteSize = Field(
        default=1_000, description="Length of a frame to the end of the CRC; 1 KB unless given."
    )

    @field_validator("frame")
    @classmethod
    def _possible(cls, value: int) -> int:
        if not _SMALLEST_FRAME <= value <= _LARGEST_FRAME:
            raise ValueError(
                f"a frame has {_SMALLEST_FRAME} B to {_LARGEST_FRAME} B, not {value} B"
            )
        return value


class Constant(_Datagrams):
    """UDP at a constant rate."""

    kind: Literal["cbr"] = "cbr"
    rate: DataRate = Field(description="Of the frames of one flow, to the end of the CRC.")

    @field_validator("rate")
    @classmethod
    def _bounded(cls, value: int) -> int:
        if not 0 < value <= 200_000_000:
            raise ValueError("a rate must be above 0 and at most 200 Mbps: the sender is a program")
        return value


class Bursts(_Datagrams):
    """Trains of UDP frames back to back."""

    kind: Literal["burst"] = "burst"
    frames: int = Field(ge=1, le=10_000, description="Frames of a train.")
    interval: Duration = Field(description="From train to train.")

    @field_validator("interval")
    @classmethod
    def _apart(cls, value: int) -> int:
        if value < 10_000_000:
            raise ValueError("trains must be 10 ms apart at least")
        return value


KINDS: Final[Mapping[str, type[_Group]]] = {
    kind.model_fields["kind"].default: kind
    for kind in (Transfers, Call, Messages, Constant, Bursts)
}

Group = Annotated[
    Transfers | Call | Messages | Constant | Bursts,
    Field(discriminator="kind"),
    BeforeValidator(chosen_by("kind", Transfers, Call, Messages, Constant, Bursts)),
]
"""A group of flows."""
