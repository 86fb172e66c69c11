# SPDX-License-Identifier: Apache-2.0
"""A group of flows as an experiment's file has it, whatever its kind.

Times are of the run: 0 s is the start of the measured time, and what is before is ramp-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from docsis_control.config.models import KeyedError, Model, NodeName
from docsis_control.config.units import ByteSize, Duration, format_duration
from docsis_experiments.experiment.tagged import as_tuple
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.traffic.senders import (
    LARGEST_FRAME,
    MOST_FLOWS,
    SMALLEST_FRAME,
    AdaptiveVideo,
    Asking,
    Sender,
    Sent,
    UdpCall,
    WebPages,
)

_Asked = WebPages | AdaptiveVideo | Asking
"""Traffic that hosts ask servers for."""


class Group(Model):
    """The common part of all kinds. A kind adds its keys, and says what is sent.

    Attributes:
        senders: What its flows are made of.
        most: How many of them, `count`, there may be.
    """

    senders: ClassVar[tuple[type[Sender], ...]]
    most: ClassVar[int] = MOST_FLOWS

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
    start_spread: Duration | None = Field(
        default=None,
        description="Each flow begins up to so much later, at a time that the run's seed draws "
        "uniformly; none unless given.",
    )

    @field_validator("count")
    @classmethod
    def _bounded(cls, value: int) -> int:
        if value > cls.most:
            raise ValueError(f"there may be {cls.most} of them, not {value}")
        return value

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        begun = (self.start or 0) + (self.start_spread or 0)
        if self.end is not None and self.end <= begun:
            last = "the last start" if self.start_spread else "the start"
            raise KeyedError(
                "end",
                f"{format_duration(self.end)} is not after {last} at {format_duration(begun)}",
            )
        return self

    @model_validator(mode="after")
    def _one_number(self) -> Self:
        if self.mesh and "count" in self.model_fields_set:
            raise KeyedError("count", "stands beside mesh, which says how many; leave one out")
        return self

    @model_validator(mode="after")
    def _always(self) -> Self:
        for key in ("start", "end", "start_spread"):
            if UdpCall in self.senders and getattr(self, key) is not None:
                raise KeyedError(key, "a call lasts the whole run; leave it out")
        return self

    def sent(self, number: int) -> tuple[Sent, ...]:
        """The flows between a pair of hosts: one, or several, each with its part's name.

        Args:
            number: Number of the pair, from 0 up to the count.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what it sends")

    @classmethod
    def leaves(cls) -> frozenset[Trace]:
        """The traces that a run's record has of it."""
        return frozenset(trace for sender in cls.senders for trace in sender.leaves)

    @classmethod
    def always_downstream(cls) -> bool:
        """Whether it goes downstream whatever the direction of a run is."""
        return all(issubclass(sender, _Asked) for sender in cls.senders)

    def flows(self) -> Iterator[tuple[int, str, Sent]]:
        """Number of the pair, name and sender of each flow.

        It is called as the group, with a number where there are several pairs, and a part's name.
        """
        for number in range(self.count):
            name = self.name if self.count == 1 else f"{self.name}-{number + 1}"
            for sent in self.sent(number):
                yield number, f"{name}-{sent.part}" if sent.part else name, sent

    @property
    def flow_names(self) -> tuple[str, ...]:
        """The names of its flows."""
        return tuple(name for _, name, _ in self.flows())


class Datagrams(Group):
    """UDP in frames of one length."""

    frame: ByteSize = Field(
        default=1_000, description="Length of a frame to the end of the CRC; 1 KB unless given."
    )

    @field_validator("frame")
    @classmethod
    def _possible(cls, value: int) -> int:
        if not SMALLEST_FRAME <= value <= LARGEST_FRAME:
            raise ValueError(f"a frame has {SMALLEST_FRAME} B to {LARGEST_FRAME} B, not {value} B")
        return value
