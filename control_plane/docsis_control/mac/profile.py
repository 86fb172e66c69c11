# SPDX-License-Identifier: Apache-2.0
"""An upstream channel's numbers, in integers: nanoseconds, picoseconds, minislots, bytes, bit/s."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Final

from docsis_control.mac.phy import Phy

MAX_MINISLOTS: Final = 4096
"""The most minislots of a MAP [?]."""

MOST_REQUESTED: Final = 255
"""Minislots of one burst that a request of DOCSIS 1.x can ask for."""

MOST_CONCATENATED: Final = 255
"""Frames that the header of a concatenation can count."""

_LONGEST_ETHERNET_FRAME: Final = 1518
"""Bytes of an Ethernet frame without a VLAN tag, with its CRC."""

PS_PER_NS: Final = 1000
_PS_PER_S: Final = 10**12


class Asking(StrEnum):
    """How a request is made and what may be outstanding."""

    ONE_BURST = "one-burst"
    QUEUE_DEPTH = "queue-depth"


class Packing(StrEnum):
    """The way in which a burst is filled."""

    SINGLE = "single"
    CONCATENATED = "concatenated"
    CONTINUOUS = "continuous"


class ContentionPlace(StrEnum):
    """Placement of contention opportunities in a MAP."""

    HEAD = "head"
    RANDOM_FRAME = "random-frame"


class GrantPlace(StrEnum):
    """Placement of the grants in a MAP that may be anywhere."""

    PACKED = "packed"
    RANDOM = "random"


@dataclass(frozen=True)
class Clock:
    """Times of minislots.

    Attributes:
        per_frame: Minislots of a frame, which are sent side by side; 1 on an SC-QAM channel.
        frame_ps: A frame's length, picoseconds.
    """

    per_frame: int
    frame_ps: int

    @property
    def frame_length(self) -> int:
        """A frame's length, nanoseconds, rounded up."""
        return -(-self.frame_ps // PS_PER_NS)


@dataclass(frozen=True)
class Backoff:
    """Windows for requests: from two to the `start` to two to the `end`."""

    start: int
    end: int


@dataclass(frozen=True)
class Capacity:
    """The capacity that other users leave: each MAP draws how many minislots it may grant.

    Attributes:
        rate: Mean, bit/s.
        variation_percent: How far a draw may lie from the mean, percent of it.
    """

    rate: int
    variation_percent: int


@dataclass(frozen=True)
class Timing:
    """Durations, nanoseconds.

    Attributes:
        map_ahead: Time from the making of a MAP to the first minislot that it describes.
        map_to_modem: Time from the making of a MAP to its arrival at the modems.
        map_processing: Least time from then to its start.
        request_heard: Time from the end of a request's minislot until the CMTS knows of it.
        piggyback_heard: The same of a request in the head of a burst.
        delivery: Time from the end of the minislot with a frame's last byte to its delivery.
        burst_preparation: So long before a grant's start a modem fills it.
        ack_before_start: A MAP's Ack Time lies so long before its start, or further back where a
            request of several minislots would not have been heard to its end.
        map_with_previous: A MAP is made at the start of the one before it, as in paper 004.
    """

    map_ahead: int
    map_to_modem: int
    map_processing: int
    request_heard: int
    piggyback_heard: int
    delivery: int
    burst_preparation: int
    ack_before_start: int
    map_with_previous: bool


@dataclass(frozen=True)
class Profile:
    """An upstream channel's numbers, which its scheduler and its modems share.

    Attributes:
        name: Its name in topology files.
        clock: When minislots are.
        phy: How many of them a burst takes.
        map_minislots: Minislots that a MAP describes.
        stretch: Whether a MAP describes more where a grant does not fit.
        contention_minislots: Least number of minislots for contention in each MAP.
        maintenance_minislots: Minislots for maintenance in each MAP.
        request_minislots: Minislots that one request takes.
        contention_place: Place of contention in a MAP.
        extra_contention: Whether what is left of a MAP is contention, too.
        collisions: Whether requests in the same minislots destroy each other.
        grant_place: Place of grants in a MAP.
        capacity: Capacity that other users leave; None: they leave all.
        backoff: Windows for requests.
        tries: A request is made so often, then its frame is dropped.
        asking: How requests are made.
        packing: How frames fill a burst.
        concatenated_frames: Most frames of a concatenation, up to the 255 that its header
            counts.
        fragmentation: Whether frames may be cut where packing does not do so anyway.
        piggyback: Whether a burst may carry a request.
        idle_proactive_grants: A flow with proactive grants that leaves so many in a row empty has
            none until it asks again; 0 lets them come for ever.
        header: Bytes of MAC header of each frame, extended headers included.
        segment_header: Bytes of each grant where packing is continuous: 8, or 0 if not counted.
        timing: How long things take.
    """

    name: str
    clock: Clock
    phy: Phy
    map_minislots: int
    stretch: bool
    contention_minislots: int
    maintenance_minislots: int
    request_minislots: int
    contention_place: ContentionPlace
    extra_contention: bool
    collisions: bool
    grant_place: GrantPlace
    capacity: Capacity | None
    backoff: Backoff
    tries: int
    asking: Asking
    packing: Packing
    concatenated_frames: int
    fragmentation: bool
    piggyback: bool
    idle_proactive_grants: int
    header: int
    segment_header: int
    timing: Timing

    @property
    def map_ps(self) -> int:
        """The usual length of a MAP, picoseconds."""
        return self.map_minislots // self.clock.per_frame * self.clock.frame_ps

    @property
    def map_length(self) -> int:
        """The usual length of a MAP, nanoseconds, rounded up."""
        return -(-self.map_ps // PS_PER_NS)

    @property
    def contention_opportunities(self) -> int:
        """Contention opportunities that each MAP has at the least."""
        return self.contention_minislots // self.request_minislots

    @property
    def data_minislots(self) -> int:
        """Minislots of a usual MAP that are neither contention's nor maintenance's."""
        return max(0, self.map_minislots - self.contention_minislots - self.maintenance_minislots)

    @property
    def longest_grant(self) -> int:
        """Minislots of the longest grant, of the longest MAP where MAPs are stretched."""
        most = MAX_MINISLOTS if self.stretch else self.map_minislots
        return max(0, most - self.contention_minislots - self.maintenance_minislots)

    @property
    def longest_frame(self) -> int:
        """MAC bytes of the longest frame."""
        return _LONGEST_ETHERNET_FRAME + self.header

    @property
    def longest_frame_minislots(self) -> int:
        """Minislots that the longest frame takes as one burst."""
        return self.phy.minislots(self.longest_frame)

    @property
    def line_rate(self) -> int:
        """bit/s of all minislots, before parity and headers, rounded down."""
        phy = self.phy
        bits = getattr(phy, "minislot_bits", 0) or 8 * getattr(phy, "minislot_bytes", 0)
        return int(bits * self.clock.per_frame * _PS_PER_S // self.clock.frame_ps)

    @property
    def data_rate(self) -> int:
        """bit/s of MAC frames that MAPs can grant at the most, one burst a MAP, rounded down."""
        rate = 8 * self.phy.bytes(self.data_minislots) * _PS_PER_S // self.map_ps
        return min(rate, self.capacity.rate) if self.capacity else rate


Number = int | str | None
"""A value of a profile; of a flag 0 or 1, of no capacity None."""


def numbers(profile: Profile) -> Mapping[str, Number]:
    """All values of a profile by their dotted names, as `timing.map_ahead`; all but its name."""
    return {key: value for key, value in _flat(profile, "") if key != "name"}


def overrides(profile: Profile, of: Profile) -> Mapping[str, Number]:
    """The values in which a profile differs from that of its name."""
    before = numbers(of)
    return {key: value for key, value in numbers(profile).items() if before.get(key) != value}


def _flat(node: object, prefix: str) -> Iterator[tuple[str, Number]]:
    assert is_dataclass(node)
    for field in fields(node):
        value = getattr(node, field.name)
        key = f"{prefix}{field.name}"
        if is_dataclass(value):
            yield from _flat(value, f"{key}.")
        else:
            # Flags are numbers, words plain ones.
            yield key, int(value) if isinstance(value, bool) else _word(value)


def _word(value: Number) -> Number:
    return str(value) if isinstance(value, str) else value
