# SPDX-License-Identifier: Apache-2.0
"""Adaptive video over HTTP, as its player's rule has it (002, section on adaptive streaming)."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from docsis_control.config.models import KeyedError
from docsis_control.config.units import ByteSize, DataRate, Duration, format_duration, format_rate
from docsis_experiments.experiment.tagged import as_tuple
from docsis_experiments.experiment.tcp import CongestionControl
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import AdaptiveVideo, Sent

_MILLISECOND: Final = 1_000_000
MOST_RATES: Final = 32
LEAST_SEGMENT_BYTES: Final = 1_000
"""A real player wants boxes around its pictures, which take some of it."""
MOST_SEGMENT_BYTES: Final = 100_000_000
"""A browser keeps no more of a video in its buffer."""
SHORTEST_SEGMENT: Final = 200 * _MILLISECOND
LONGEST_SEGMENT: Final = 60_000 * _MILLISECOND
LONGEST_BUFFER: Final = 600_000 * _MILLISECOND


class Video(Group):
    """Those who watch an adaptive video: downstream, whatever the direction is."""

    senders = (AdaptiveVideo,)
    most = 16

    kind: Literal["adaptive-video"] = "adaptive-video"
    ladder: Annotated[tuple[DataRate, ...], BeforeValidator(as_tuple)] = Field(
        default=(300_000, 600_000, 1_000_000, 1_500_000, 2_100_000, 3_000_000, 4_200_000),
        description="Rates that the video is offered at, each higher than the one before; 0.3, "
        "0.6, 1.0, 1.5, 2.1, 3.0 and 4.2 Mbps unless given.",
    )
    segment: Duration = Field(
        default=4_000 * _MILLISECOND,
        description="Playing time of a segment, whole milliseconds; 4 s unless given.",
    )
    buffer: Duration = Field(
        default=30_000 * _MILLISECOND,
        description="With more playing time than that in its buffer, a player asks for nothing; "
        "30 s unless given.",
    )
    safety: float = Field(
        default=0.8,
        ge=0.01,
        le=1,
        description="Share of the mean throughput that a rate may have; 0.8 unless given.",
    )
    samples: int = Field(
        default=3,
        ge=1,
        le=20,
        description="Segments that the mean throughput is of, the newest ones; 3 unless given.",
    )
    request: ByteSize = Field(
        default=400,
        description="Of a request, in virtual time: a browser's are as long as they are. 400 B "
        "unless given.",
    )
    congestion_control: CongestionControl | None = Field(
        default=None, description="TCP's congestion control; the experiment's unless given."
    )

    @field_validator("segment")
    @classmethod
    def _possible_segment(cls, value: int) -> int:
        if not SHORTEST_SEGMENT <= value <= LONGEST_SEGMENT or value % _MILLISECOND:
            raise ValueError(
                "a segment plays whole milliseconds, 200 ms to 60 s, not " + format_duration(value)
            )
        return value

    @field_validator("buffer")
    @classmethod
    def _possible_buffer(cls, value: int) -> int:
        if value > LONGEST_BUFFER:
            raise ValueError("a buffer holds 10 minutes at most, not " + format_duration(value))
        return value

    @field_validator("request")
    @classmethod
    def _possible_request(cls, value: int) -> int:
        if not 16 <= value <= 100_000:
            raise ValueError(f"a request has 16 B to 100 KB, not {value} B")
        return value

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if not self.ladder:
            raise KeyedError("ladder", "there is no rate, so that nothing can be played")
        if len(self.ladder) > MOST_RATES:
            raise KeyedError("ladder", f"there may be {MOST_RATES} rates, not {len(self.ladder)}")
        for place, (low, high) in enumerate(pairwise(self.ladder), 1):
            if high <= low:
                raise KeyedError(
                    f"ladder.{place}",
                    f"{format_rate(high)} is not above {format_rate(low)} before it",
                )
        return self

    @model_validator(mode="after")
    def _segments(self) -> Self:
        if self.segment > self.buffer:
            raise KeyedError(
                "segment",
                f"{format_duration(self.segment)} do not fit into the buffer of "
                f"{format_duration(self.buffer)}",
            )
        for place, rate in enumerate(self.ladder):
            size = rate * self.segment // 8_000_000_000
            if not LEAST_SEGMENT_BYTES <= size <= MOST_SEGMENT_BYTES:
                raise KeyedError(
                    f"ladder.{place}",
                    f"a segment of {format_duration(self.segment)} at {format_rate(rate)} has "
                    f"{size} B; it must have 1 KB to 100 MB",
                )
        return self

    @model_validator(mode="after")
    def _watched(self) -> Self:
        if self.mesh:
            raise KeyedError("mesh", "a player has one server; give a count of players")
        return self

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        del number
        video = AdaptiveVideo(
            ladder=self.ladder,
            segment_ns=self.segment,
            buffer_ns=self.buffer,
            safety_permille=round(1000 * self.safety),
            samples=self.samples,
            request=self.request,
            congestion_control=self.congestion_control,
        )
        return (Sent(video),)


KIND: Final = Video
