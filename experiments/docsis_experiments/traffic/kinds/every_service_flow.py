# SPDX-License-Identifier: Apache-2.0
"""Every service flow of a direction, offered 1.25 times its configured share."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import KeyedError
from docsis_control.config.units import ByteSize
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import LARGEST_FRAME, Sent, ServiceFlowStreams

_SMALLEST_FRAME: Final = 100


class EveryServiceFlow(Group):
    """A stream into each service flow of the direction, offered 1.25 times its configured share."""

    senders = (ServiceFlowStreams,)
    most = 1

    kind: Literal["every-service-flow"] = "every-service-flow"
    transport: Literal["udp", "tcp"] = Field(
        default="udp",
        description="UDP, or TCP (CUBIC) wherever the classifiers allow it; UDP unless given.",
    )
    frame: ByteSize = Field(
        default=800,
        description="Length of a frame to the end of the CRC, of TCP of a full segment's; 800 B "
        "unless given.",
    )

    @field_validator("frame")
    @classmethod
    def _possible(cls, value: int) -> int:
        if not _SMALLEST_FRAME <= value <= LARGEST_FRAME:
            raise ValueError(f"a frame has {_SMALLEST_FRAME} B to {LARGEST_FRAME} B, not {value} B")
        return value

    @model_validator(mode="after")
    def _all_of_them(self) -> Self:
        for key in ("mesh", "hosts", "servers"):
            if getattr(self, key):
                raise KeyedError(
                    key,
                    "each service flow has one stream, between its modem's first host and the "
                    "first server; leave it out",
                )
        for key in ("start", "end", "start_spread"):
            if getattr(self, key) is not None:
                raise KeyedError(key, "the load lasts as long as the run; leave it out")
        return self

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        return (Sent(ServiceFlowStreams(self.transport == "tcp", self.frame)),)


KIND: Final = EveryServiceFlow
