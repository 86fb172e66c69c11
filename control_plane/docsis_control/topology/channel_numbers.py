# SPDX-License-Identifier: Apache-2.0
"""Parts of an upstream channel's numbers, each with its unit in key or value."""

from typing import Annotated

from pydantic import Field

from docsis_control.config.models import Model
from docsis_control.config.units import ByteSize, DataRate, Duration
from docsis_control.topology.counted import Counted

Count = Annotated[int, Field(ge=0, le=0xFFFFFFFF)]

Grants = Annotated[int, Counted("grants", 0, 0xFFFF, "how many may be left empty", 8)]
"""A number in Python, "8 grants" in YAML."""


class PhyNumbers(Model):
    """How many minislots a burst takes; which keys there are follows from the profile."""

    minislot_bytes: Count | None = Field(
        default=None, description="Bytes of a minislot (docsis-1.1-004, docsis-3.1)."
    )
    overhead: ByteSize | None = Field(
        default=None, description="Bytes of a burst beside its data (docsis-1.1-004)."
    )
    minislot_bits: Count | None = Field(
        default=None, description="Bits of a minislot before parity (docsis-3.0)."
    )
    preamble_bits: Count | None = Field(default=None, description="Preamble (docsis-3.0).")
    guard_bits: Count | None = Field(default=None, description="Guard time (docsis-3.0).")
    codeword_data: ByteSize | None = Field(
        default=None, description="Data of a Reed-Solomon code word (docsis-3.0)."
    )
    codeword_parity: ByteSize | None = Field(
        default=None, description="Parity of a code word; 0 B is no code (docsis-3.0)."
    )


class CapacityNumbers(Model):
    """The capacity that other users leave of the channel."""

    rate: DataRate | None = Field(default=None, description="Mean rate.")
    variation_percent: Count | None = Field(
        default=None, description="How far each MAP's draw may lie from the mean; 0 unless given."
    )


class BackoffNumbers(Model):
    """Exponents of the windows for requests."""

    start: Count | None = Field(default=None, description="The first window is two to this.")
    end: Count | None = Field(default=None, description="The longest window is two to this.")


class TimingNumbers(Model):
    """Durations of the channel's steps."""

    map_ahead: Duration | None = Field(
        default=None, description="Lead time of a MAP, from its making to its start."
    )
    map_to_modem: Duration | None = Field(
        default=None, description="Time from the making of a MAP to its arrival at the modems."
    )
    map_processing: Duration | None = Field(
        default=None, description="Time that modems need between its arrival and its start."
    )
    request_heard: Duration | None = Field(
        default=None, description="Time from a request's end until the CMTS knows of it."
    )
    piggyback_heard: Duration | None = Field(
        default=None, description="The same for a request in the head of a burst."
    )
    delivery: Duration | None = Field(
        default=None, description="Time from a frame's last minislot to its delivery."
    )
    burst_preparation: Duration | None = Field(
        default=None, description="Time before a grant at which a modem fills it."
    )
    ack_before_start: Duration | None = Field(
        default=None, description="Time from a MAP's Ack Time to its start."
    )
    map_with_previous: bool | None = Field(
        default=None, description="Whether a MAP is made when the one before it begins."
    )
