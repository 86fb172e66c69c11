# SPDX-License-Identifier: Apache-2.0
"""How TCP works in an experiment, on all of its hosts: the key `tcp` of its file."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator

from docsis_control.config.models import Model
from docsis_control.config.units import ByteSize, Duration

LARGEST_INITIAL_WINDOW: Final = 64
"""Segments."""

ETHERNET_SEGMENT: Final = 1460
"""Maximum Segment Size over Ethernet and IPv4, bytes."""

SMALLEST_SEGMENT: Final = 100
"""Bytes. With smaller ones a packet of data is not told from an acknowledgement."""

TIMESTAMPS: Final = 12
"""Bytes of a segment's timestamps, which the Maximum Segment Size counts (RFC 6691)."""

SHORTEST_TIMEOUT: Final = 10_000_000
"""Nanoseconds."""

LONGEST_TIMEOUT: Final = 60_000_000_000
"""Nanoseconds."""

SMALLEST_RECEIVE_WINDOW: Final = 2048
"""Bytes: a full segment, and more."""

LARGEST_RECEIVE_WINDOW: Final = 1 << 30
"""Bytes: the largest that can be scaled (RFC 7323, 2.3)."""

CongestionControl = Literal["cubic", "reno"]

_CONGESTION_CONTROLS: Final[dict[str, CongestionControl]] = {"linux": "cubic", "rfc": "reno"}
_INITIAL_WINDOWS: Final = {"linux": 10, "rfc": 3}


class Tcp(Model):
    """How TCP works, on all hosts."""

    profile: Literal["linux", "rfc"] = Field(
        default="linux",
        description="linux: all that Linux does. rfc: NewReno with SACK by RFC 5681, 6582 and "
        "6675, as simulators had it; in virtual time alone.",
    )
    congestion_control: CongestionControl | None = Field(
        default=None,
        description="Where a group of the traffic names none; the profile's unless given: cubic of "
        "linux, reno of rfc.",
    )
    initial_window: int | None = Field(
        default=None,
        description="Segments, also after it was idle; the profile's unless given: 10 of linux "
        "(RFC 6928), 3 of rfc (RFC 3390).",
        json_schema_extra={"minimum": 1, "maximum": LARGEST_INITIAL_WINDOW},
    )
    acknowledgements: Literal["delayed", "every-segment"] = Field(
        default="delayed",
        description="When a receiver acknowledges: every second segment or a little later (RFC "
        "5681, 4.2), unless given, or each segment at once.",
    )
    segment: ByteSize = Field(
        default=ETHERNET_SEGMENT,
        description="Maximum Segment Size, which counts TCP's options: 12 bytes less are payload; "
        "1460 B unless given.",
    )

    least_timeout: Duration | None = Field(
        default=None,
        description="Least retransmission timeout; the profile's unless given: 1 s of rfc (RFC "
        "6298, 2.4), and of linux 200 ms beyond the round trip. ns-2 had 200 ms.",
    )

    receive_window: ByteSize | None = Field(
        default=None,
        description="Window that a receiver offers at the most, from the beginning: a sender has "
        "no more on its way. It does not limit unless given; in virtual time alone.",
    )

    @field_validator("receive_window")
    @classmethod
    def _scaled(cls, value: int | None) -> int | None:
        if value is not None and not SMALLEST_RECEIVE_WINDOW <= value <= LARGEST_RECEIVE_WINDOW:
            raise ValueError(
                f"a receive window has {SMALLEST_RECEIVE_WINDOW} B to {LARGEST_RECEIVE_WINDOW} B, "
                f"not {value} B"
            )
        return value

    @field_validator("least_timeout")
    @classmethod
    def _bounded(cls, value: int | None) -> int | None:
        if value is not None and not SHORTEST_TIMEOUT <= value <= LONGEST_TIMEOUT:
            raise ValueError("must be 10 ms to a minute")
        return value

    @field_validator("initial_window")
    @classmethod
    def _window(cls, value: int | None) -> int | None:
        if value is not None and not 1 <= value <= LARGEST_INITIAL_WINDOW:
            raise ValueError(f"must be 1 to {LARGEST_INITIAL_WINDOW} segments, not {value}")
        return value

    @field_validator("segment")
    @classmethod
    def _possible(cls, value: int) -> int:
        if not SMALLEST_SEGMENT <= value <= ETHERNET_SEGMENT:
            raise ValueError(
                f"a segment has {SMALLEST_SEGMENT} B to {ETHERNET_SEGMENT} B, not {value} B"
            )
        return value

    @property
    def usual_congestion_control(self) -> CongestionControl:
        """The congestion control of flows that name none themselves."""
        return self.congestion_control or _CONGESTION_CONTROLS[self.profile]

    @property
    def first_window(self) -> int:
        """Segments of the initial window."""
        return self.initial_window or _INITIAL_WINDOWS[self.profile]

    @property
    def payload(self) -> int:
        """Bytes of a full segment that are payload."""
        return self.segment - TIMESTAMPS
