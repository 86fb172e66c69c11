# SPDX-License-Identifier: Apache-2.0
"""A topology's downstream channel beside its rate, as paper 004 needs it:

channel:
  downstream: 30.34 Mbps
  downstream_framing: {packet: 188 B, header: 4 B}
  downstream_queues: per-service-flow
  downstream_queue: 50 packets
  map_traffic: {message: 46 B, element: 4 B}
"""

from typing import Annotated, Final

from pydantic import Field, model_validator

from docsis_control.config.models import (
    DEFAULT_BUFFER,
    MAX_BUFFER,
    MAX_FRAME,
    KeyedError,
    Model,
)
from docsis_control.config.units import ByteSize
from docsis_control.framing import Framing
from docsis_control.topology.counted import Counted

MOST_PACKETS: Final = 100_000
"""The longest queue that may be configured; more is a typing error."""

Packets = Annotated[int, Counted("packets", 1, MOST_PACKETS, "a queue's limit", 50)]
"""A number in Python, "50 packets" in YAML."""

_Size = Annotated[ByteSize, Field(ge=0, le=65_535)]


class DownstreamFraming(Model):
    """Packets of a fixed length that carry the frames: MPEG's, in DOCSIS 2.0."""

    packet: _Size = Field(default=188, description="Bytes of a packet, header included.")
    header: _Size = Field(
        default=4,
        description="Bytes of it that carry no frames: 4, or 5 with a pointer field in each.",
    )
    frame_header: _Size = Field(
        default=6, description="DOCSIS's MAC header, before each frame (6 B without extensions)."
    )
    own_packets: bool = Field(
        default=False,
        description="Each frame begins a packet; else frames follow one another within packets.",
    )

    @model_validator(mode="after")
    def _carries(self) -> "DownstreamFraming":
        if self.header >= self.packet:
            raise KeyedError(
                "header", f"{self.header} B leave nothing of a packet of {self.packet} B"
            )
        return self

    @property
    def framing(self) -> Framing:
        """The settings for the traffic manager."""
        return Framing(self.packet, self.header, self.frame_header, self.own_packets)


class MapTraffic(Model):
    """The part of the downstream that the MAPs of the upstream channels take, before all data."""

    message: _Size = Field(
        default=46, description="Bytes of a MAP without its elements (docsis-ns3)."
    )
    element: _Size = Field(default=4, description="Bytes of each information element.")


def queue_bytes(packets: int) -> int:
    """The bytes of a queue that holds so many of the longest packets."""
    return packets * MAX_FRAME


def shared_queue_bytes(rate: int, packets: int | None) -> int:
    """The bytes of the queue that serves all downstream service flows.

    Args:
        rate: bit/s of the channel.
        packets: The topology's number of packets; None: 250 ms at the channel's rate.
    """
    if packets is not None:
        return queue_bytes(packets)
    return min(max(DEFAULT_BUFFER.bytes_at(rate), MAX_FRAME), MAX_BUFFER)
