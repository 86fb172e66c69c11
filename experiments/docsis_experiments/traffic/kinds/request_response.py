# SPDX-License-Identifier: Apache-2.0
"""Requests over UDP, each after the reply to the one before: netperf's UDP_RR (003, section 9)."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator

from docsis_control.config.units import ByteSize, Duration
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.lengths import datagram_frame, udp_payload
from docsis_experiments.traffic.senders import LARGEST_FRAME, Sent, UdpRequests

_LARGEST: Final = udp_payload(LARGEST_FRAME)


class RequestResponse(Group):
    """Requests over UDP in turn: the next one follows the reply, or a timeout (003, section 9)."""

    senders = (UdpRequests,)
    most = 16

    kind: Literal["request-response"] = "request-response"
    request: ByteSize = Field(
        default=1,
        description="UDP payload of a request; 1 B unless given. Up to 18 B it is the shortest "
        "frame there is, 64 B.",
    )
    response: ByteSize = Field(default=1, description="The same of a reply.")
    timeout: Duration = Field(
        default=1_000_000_000,
        description="The next request does not wait longer for a reply; 1 s unless given. A reply "
        "that comes later still belongs to its own request.",
    )

    @field_validator("request", "response")
    @classmethod
    def _fits(cls, value: int) -> int:
        if not 1 <= value <= _LARGEST:
            raise ValueError(f"has 1 B to {_LARGEST} B, not {value} B")
        return value

    @field_validator("timeout")
    @classmethod
    def _bounded(cls, value: int) -> int:
        if not 10_000_000 <= value <= 60_000_000_000:
            raise ValueError("must be 10 ms to a minute")
        return value

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        sender = UdpRequests(
            datagram_frame(self.request), datagram_frame(self.response), self.timeout / 1e9
        )
        return (Sent(sender),)


KIND: Final = RequestResponse
