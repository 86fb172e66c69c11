# SPDX-License-Identifier: Apache-2.0
"""An upstream channel under the request/grant MAC: what it counted, and its last MAPs.

The part of the status that is about channels, and what a run in virtual time keeps of them.
"""

from typing import Final, Literal

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

# A reader takes documents of a newer controller, which may hold more.
_LENIENT: Final = ConfigDict(extra="ignore")

How = Literal["contention", "poll", "burst"]
Usage = Literal["contention", "poll", "maintenance", "grant"]


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class ChannelCounters:
    """A channel's counters from its start on."""

    maps: int = Field(ge=0, description="MAPs made.")
    map_bytes: int = Field(ge=0, description="Bytes of their messages' bodies.")
    maps_stretched: int = Field(ge=0, description="MAPs longer than usual, for a burst.")
    maps_lost: int = Field(ge=0, description="MAPs that could not be encoded or read: a fault.")
    minislots: int = Field(ge=0, description="Minislots that MAPs described.")
    minislots_contention: int = Field(ge=0, description="Minislots for requests of everybody.")
    minislots_maintenance: int = Field(ge=0, description="Minislots for maintenance.")
    minislots_polls: int = Field(ge=0, description="Minislots for polls.")
    minislots_granted: int = Field(ge=0, description="Minislots of grants whose time has come.")
    minislots_used: int = Field(ge=0, description="Granted minislots that bursts used.")
    minislots_wasted: int = Field(ge=0, description="Granted minislots that carried nothing.")
    opportunities: int = Field(ge=0, description="Contention opportunities that MAPs offered.")
    opportunities_used: int = Field(ge=0, description="Opportunities in which somebody asked.")
    opportunities_collided: int = Field(ge=0, description="Opportunities in which several asked.")
    requests: int = Field(ge=0, description="Requests sent in contention.")
    requests_collided: int = Field(ge=0, description="Requests in contention that collided.")
    requests_polled: int = Field(ge=0, description="Requests heard in polls.")
    requests_piggybacked: int = Field(ge=0, description="Requests heard in bursts.")
    polls: int = Field(ge=0, description="Polls that MAPs gave.")
    grants: int = Field(ge=0, description="Grants whose time has come.")
    grants_unsolicited: int = Field(ge=0, description="Unsolicited and proactive grants given.")
    pending_marks: int = Field(ge=0, description="Marks of requests heard and not granted yet.")
    missed: int = Field(
        ge=0, description="Unsolicited grants and polls outside of their jitter: a fault."
    )
    frames: int = Field(ge=0, description="Frames delivered.")
    bytes_granted: int = Field(ge=0, description="Bytes that MAPs granted.")
    bytes_used: int = Field(ge=0, description="Granted bytes that bursts used.")


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Delays:
    """A distribution of times in milliseconds; times are null where there are none.

    Quantiles are too great by at most 1/32.
    """

    count: int = Field(ge=0, description="Number of times.")
    sum_ms: float = Field(ge=0, description="Their sum.")
    mean_ms: float | None = Field(description="Their mean.")
    p50_ms: float | None = Field(description="Median.")
    p90_ms: float | None = Field(description="90th percentile.")
    p99_ms: float | None = Field(description="99th percentile.")
    max_ms: float | None = Field(description="The longest.")


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class ChannelFlow:
    """A service flow on a channel."""

    sid: int = Field(ge=1, description="Its number on the channel.")
    modem: str = Field(description='Name of its modem; "" where it is of none that is known.')
    sfid: int | None = Field(description="Service Flow Identifier; null where it is not known.")
    name: str = Field(description="Name for people.")
    requests_contention: int = Field(ge=0, description="Requests sent in contention.")
    requests_polled: int = Field(ge=0, description="Requests sent in polls.")
    requests_piggybacked: int = Field(ge=0, description="Requests sent in bursts.")
    requests_lost: int = Field(ge=0, description="Requests in contention that were lost.")
    polls: int = Field(ge=0, description="Polls that it was given.")
    polls_unused: int = Field(ge=0, description="Polls that stayed empty.")
    grants: int = Field(ge=0, description="Grants that it was given.")
    grants_unused: int = Field(ge=0, description="Grants that stayed empty.")
    grants_too_small: int = Field(ge=0, description="Grants too small for the waiting frames.")
    minislots_granted: int = Field(ge=0, description="Minislots of grants whose time has come.")
    minislots_used: int = Field(ge=0, description="Granted minislots that its bursts used.")
    bytes_granted: int = Field(ge=0, description="MAC bytes that its grants carry.")
    bytes_used: int = Field(ge=0, description="MAC bytes sent in them, with all headers.")
    frames: int = Field(ge=0, description="Frames sent to their last byte.")
    fragments: int = Field(ge=0, description="Fragments sent.")
    given_up: int = Field(ge=0, description="Frames dropped after all requests were lost.")
    too_long: int = Field(ge=0, description="Frames dropped that no grant can carry.")


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Asked:
    """The request that a grant answers."""

    how: How = Field(description="In contention, in a poll, or in the head of a burst.")
    sent_ns: int = Field(ge=0, description="Time at which its first minislot starts.")


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Burst:
    """The burst that was sent in a grant."""

    minislots: int = Field(
        ge=0, description="Minislots that it used; the others of the grant are wasted."
    )
    bytes: int = Field(ge=0, description="MAC bytes, with all headers; 0: it stayed empty.")
    requested_bytes: int | None = Field(default=None, description="Bytes requested in its head.")
    requested_minislots: int | None = Field(
        default=None, description="Minislots requested in its head."
    )
    asked: Asked | None = Field(
        default=None, description="The request that it answers; null: nobody asked for the grant."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class MapElement:
    """Minislots that a MAP gave."""

    usage: Usage = Field(description="Use of the minislots.")
    sid: int | None = Field(description="SID that may use them; null: everybody may.")
    first: int = Field(ge=0, description="First minislot, counted from the MAP's first.")
    minislots: int = Field(ge=0, description="Number of minislots.")
    burst: Burst | None = Field(
        default=None,
        description="Burst that was sent in a grant; null: its time has not come, or its service "
        "flow is gone.",
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class MapRequest:
    """A request in contention or in a poll."""

    sid: int = Field(ge=0, description="SID that asked.")
    first: int = Field(ge=0, description="Its minislot, counted from the MAP's first.")
    how: How = Field(description="In contention or in a poll.")
    collided: bool = Field(description="Others asked in the same minislot: nobody was heard.")
    bytes: int | None = Field(default=None, description="Bytes that it asked for.")
    minislots: int | None = Field(default=None, description="Minislots that it asked for.")


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class UpstreamMap:
    """A MAP, and what became of what it gave. Times are of the channel's clock, nanoseconds."""

    number: int = Field(ge=0, description="How many MAPs were made before it.")
    made_ns: int = Field(ge=0, description="Time at which it was made.")
    start_ns: int = Field(ge=0, description="Time at which its first minislot starts.")
    end_ns: int = Field(ge=0, description="Time at which the next MAP's first minislot starts.")
    first_minislot: int = Field(ge=0, description="Number of its first minislot.")
    minislots: int = Field(ge=0, description="Minislots that it describes.")
    ack_minislot: int = Field(
        ge=0, description="Minislot before which all requests have been dealt with."
    )
    backoff_start: int = Field(ge=0, description="Exponent of the first window for requests.")
    backoff_end: int = Field(ge=0, description="Exponent of the greatest window for requests.")
    bytes: int = Field(ge=0, description="Bytes of its message's body.")
    elements: tuple[MapElement, ...] = Field(description="Its elements, in order of minislots.")
    pending: tuple[int, ...] = Field(description="SIDs that were heard and not granted.")
    requests: tuple[MapRequest, ...] = Field(
        description="Requests in contention and in polls, in order; the first 1,024."
    )
    requests_sent: int = Field(ge=0, description="Requests that were sent.")
    requests_collided: int = Field(ge=0, description="Requests that collided.")

    def sum_of(self, usage: Usage) -> int:
        """Minislots that it gave for something."""
        return sum(one.minislots for one in self.elements if one.usage == usage)

    @property
    def used(self) -> int:
        """Minislots of its grants that bursts used."""
        return sum(one.burst.minislots for one in self.elements if one.burst is not None)

    @property
    def wasted(self) -> int:
        """Minislots of its grants whose time has come that carry nothing."""
        bursts = ((one.minislots, one.burst) for one in self.elements)
        return sum(given - burst.minislots for given, burst in bursts if burst is not None)


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class UpstreamChannel:
    """An upstream channel with a request/grant MAC, at one moment."""

    name: str = Field(description="Its name in the topology.")
    number: int = Field(ge=0, le=255, description="Its number in MAPs.")
    profile: str = Field(description="Name of its numbers.")
    time_ns: int = Field(ge=0, description="The moment, of the channel's clock, nanoseconds.")
    minislots_per_frame: int = Field(
        ge=1, description="Minislots side by side in a frame; 1 on an SC-QAM channel."
    )
    frame_ps: int = Field(ge=1, description="Length of a frame, picoseconds.")
    map_minislots: int = Field(ge=0, description="Minislots of a MAP of usual length.")
    request_minislots: int = Field(ge=1, description="Minislots of one contention opportunity.")
    counters: ChannelCounters = Field(description="Its counters from its start on.")
    request_to_grant: Delays = Field(
        description="Time from the start of a request to the start of its first grant."
    )
    maps_late: Delays = Field(
        description="Lateness of the making of MAPs, by the machine's clock; empty in virtual time."
    )
    service_flows: tuple[ChannelFlow, ...] = Field(description="Its service flows, by SID.")
    last_maps: tuple[UpstreamMap, ...] = Field(
        description="The last MAPs, oldest first; some describe time that is still to come."
    )

    def flow(self, sid: int) -> ChannelFlow | None:
        """The service flow of a SID."""
        return next((flow for flow in self.service_flows if flow.sid == sid), None)


_CHANNELS: Final = TypeAdapter(tuple[UpstreamChannel, ...])


def encode_channels(channels: tuple[UpstreamChannel, ...]) -> bytes:
    """Upstream channels as a JSON list in UTF-8: as a status has them, alone."""
    return _CHANNELS.dump_json(channels)


def decode_channels(text: bytes) -> tuple[UpstreamChannel, ...]:
    """Upstream channels from a JSON list.

    Raises:
        ValueError: It is none; the message says where.
    """
    return _CHANNELS.validate_json(text)
