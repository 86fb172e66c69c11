# SPDX-License-Identifier: Apache-2.0
"""Upstream channels of a topology: a profile by name, and what differs from it, with its unit.

upstream_channel: docsis-3.1                                    one channel, named us1
upstream_channel: {profile: docsis-1.1-004, map_time: 5 ms}
upstream_channels:
  - docsis-3.0                                                  us1
  - {name: fast, profile: docsis-3.1, backoff: {start: 2}}
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal

from pydantic import Field, model_validator

from docsis_control.config.models import KeyedError, Model, NodeName
from docsis_control.config.units import (
    ByteSize,
    DataRate,
    Duration,
    format_duration,
    format_rate,
)
from docsis_control.mac.profile import (
    PS_PER_NS,
    Asking,
    Capacity,
    Clock,
    ContentionPlace,
    GrantPlace,
    Packing,
    Profile,
)
from docsis_control.mac.profile_check import check_profile, frame_key
from docsis_control.mac.profiles import CABLELABS_2014, cablelabs_2014, named
from docsis_control.topology.channel_numbers import (
    BackoffNumbers,
    CapacityNumbers,
    Count,
    Grants,
    PhyNumbers,
    TimingNumbers,
)
from docsis_control.topology.elsewhere import LINKS

MOST_CHANNELS: Final = 255
"""A MAP names its channel in one byte."""


class UpstreamChannel(Model):
    """An upstream channel with a request/grant MAC; what is not given is as the profile has it."""

    elsewhere: ClassVar[Mapping[str, str]] = LINKS

    name: NodeName = Field(description="Name of the channel; us1, us2, ... unless given.")
    profile: Literal["cablelabs-2014", "docsis-1.1-004", "docsis-3.0", "docsis-3.1"] = Field(
        description="Profile that has the numbers which are not given."
    )
    map_time: Duration | None = Field(
        default=None,
        description="Time that a MAP covers: whole minislots, or whole frames with docsis-3.1.",
    )
    line_rate: DataRate | None = Field(
        default=None, description="Rate of all minislots, before parity and headers."
    )
    minislot_time: Duration | None = Field(
        default=None, description="Length of a minislot where they follow each other."
    )
    frame_time: Duration | None = Field(
        default=None, description="Length of a frame of minislots (docsis-3.1)."
    )
    minislots_per_frame: Count | None = Field(
        default=None, description="Minislots that are sent side by side (docsis-3.1)."
    )
    phy: PhyNumbers | None = None
    stretch: bool | None = Field(
        default=None, description="Whether a MAP grows where a grant does not fit."
    )
    contention_minislots: Count | None = Field(
        default=None, description="Minislots of each MAP for requests in contention."
    )
    maintenance_minislots: Count | None = Field(
        default=None, description="Minislots of each MAP for maintenance."
    )
    request_minislots: Count | None = Field(
        default=None, description="Minislots that a request takes."
    )
    contention_place: Literal["head", "random-frame"] | None = Field(
        default=None, description="Place of contention in a MAP."
    )
    extra_contention: bool | None = Field(
        default=None, description="Whether the rest of a MAP is for contention, too."
    )
    collisions: bool | None = Field(
        default=None, description="Whether requests in the same minislots destroy each other."
    )
    grant_place: Literal["packed", "random"] | None = Field(
        default=None, description="Place of grants in a MAP."
    )
    capacity: CapacityNumbers | None = None
    backoff: BackoffNumbers | None = None
    tries: Count | None = Field(
        default=None, description="Number of requests for a frame before it is dropped."
    )
    asking: Literal["one-burst", "queue-depth"] | None = Field(
        default=None, description="How requests are made: DOCSIS 1.x and 2.0, or 3.0 and later."
    )
    packing: Literal["single", "concatenated", "continuous"] | None = Field(
        default=None, description="How frames fill a burst."
    )
    concatenated_frames: Count | None = Field(
        default=None,
        description="Most frames of a concatenation, up to the 255 that its header counts.",
    )
    fragmentation: bool | None = Field(default=None, description="Whether frames may be cut.")
    piggyback: bool | None = Field(default=None, description="Whether a burst may carry a request.")
    idle_proactive_grants: Grants | None = Field(
        default=None,
        description="A service flow with proactive grants (pgs) that leaves so many in a row empty "
        "has none until it asks again; with 0 grants they come for ever.",
    )
    header: ByteSize | None = Field(
        default=None, description="MAC header of each frame, extended headers included."
    )
    segment_header: ByteSize | None = Field(
        default=None,
        description="Segment header of each grant where packing is continuous: 8 B, or 0 B.",
    )
    timing: TimingNumbers | None = None

    @model_validator(mode="after")
    def _possible(self) -> "UpstreamChannel":
        check_profile(self.numbers)
        return self

    @property
    def numbers(self) -> Profile:
        """All numbers of the channel.

        Raises:
            KeyedError: Given numbers do not go together.
        """
        return _numbers(self)

    def _made(self) -> Profile:
        """See `numbers`."""
        profile = replace(self._clocked(), **self._plain())
        profile = self._with_phy(profile)
        profile = self._with_map_time(profile)
        profile = replace(
            profile,
            backoff=replace(profile.backoff, **_given(self.backoff)),
            timing=replace(profile.timing, **_given(self.timing)),
        )
        return self._with_capacity(profile)

    def _clocked(self) -> Profile:
        """The profile with the clock and, of cablelabs-2014, the line that is given."""
        profile = named(self.profile)
        if self.profile == CABLELABS_2014 and self.line_rate is not None:
            try:
                profile = cablelabs_2014(self.line_rate)
            except ValueError as error:
                raise KeyedError("line_rate", str(error)) from None
        clock, own = profile.clock, frame_key(profile)
        other = "frame_time" if own == "minislot_time" else "minislot_time"
        if getattr(self, other) is not None:
            raise KeyedError(other, f"has no place in {self.profile}, which has a {own}")
        if self.minislots_per_frame is not None and own == "minislot_time":
            raise KeyedError(
                "minislots_per_frame",
                f"has no place in {self.profile}, in which minislots follow each other",
            )
        time: int | None = getattr(self, own)
        if time == 0:
            raise KeyedError(own, "is 0; it has to be 1 ns or more")
        per_frame = self.minislots_per_frame
        if per_frame == 0:
            raise KeyedError("minislots_per_frame", "is 0; a frame has at least one")
        changed = Clock(
            clock.per_frame if per_frame is None else per_frame,
            clock.frame_ps if time is None else time * PS_PER_NS,
        )
        # As many frames as would take the time of a MAP, unless that is given.
        frames = max(1, profile.map_ps // changed.frame_ps)
        return replace(profile, clock=changed, map_minislots=frames * changed.per_frame)

    def _plain(self) -> dict[str, Any]:
        """Numbers that stand for themselves."""
        words = {
            "contention_place": ContentionPlace,
            "grant_place": GrantPlace,
            "asking": Asking,
            "packing": Packing,
        }
        found: dict[str, Any] = {}
        for key in _PLAIN:
            value = getattr(self, key)
            if value is not None:
                found[key] = words[key](value) if key in words else value
        return found

    def _with_phy(self, profile: Profile) -> Profile:
        given = _given(self.phy)
        known = set(vars(profile.phy))
        for key in given:
            if key not in known:
                raise KeyedError(
                    f"phy.{key}",
                    f"has no place in {self.profile}, which has {', '.join(sorted(known))}",
                )
        size = "minislot_bits" if "minislot_bits" in known else "minislot_bytes"
        if given.get(size) == 0:
            raise KeyedError(f"phy.{size}", "is 0; a minislot carries something")
        if self.line_rate is not None and (self.profile != CABLELABS_2014 or self.minislot_time):
            if size in given:
                raise KeyedError(
                    f"phy.{size}", "stands beside line_rate, from which it follows; keep one"
                )
            given[size] = self._minislot(profile, bits=8 if size == "minislot_bytes" else 1)
        return replace(profile, phy=replace(profile.phy, **given))

    def _minislot(self, profile: Profile, bits: int) -> int:
        """Units of so many bits in a minislot of the line rate that is given."""
        assert self.line_rate is not None
        clock = profile.clock
        size, odd = divmod(self.line_rate * clock.frame_ps, bits * clock.per_frame * 10**12)
        if odd or not size:
            raise KeyedError(
                "line_rate",
                f"is {format_rate(self.line_rate)}, which is no whole number of "
                f"{'bytes' if bits == 8 else 'bits'} a minislot ({clock.per_frame} in each "
                f"{format_duration(clock.frame_length)})",
            )
        return size

    def _with_map_time(self, profile: Profile) -> Profile:
        clock, time = profile.clock, self.map_time
        if time is not None:
            frames, odd = divmod(time * PS_PER_NS, clock.frame_ps)
            if odd or not frames:
                below = max(1, frames) * clock.frame_ps / PS_PER_NS / 1000
                above = (max(1, frames) + 1) * clock.frame_ps / PS_PER_NS / 1000
                raise KeyedError(
                    "map_time",
                    f"is {format_duration(time)}, which is no whole number of "
                    f"{frame_key(profile).removesuffix('_time')}s of "
                    f"{format_duration(clock.frame_length)}; use {below:g} us or {above:g} us",
                )
            profile = replace(profile, map_minislots=frames * clock.per_frame)
        timing = profile.timing
        if timing.map_with_previous:
            # Only MAPs take time there.
            length = profile.map_length
            timing = replace(timing, map_ahead=length, ack_before_start=length)
        return replace(profile, timing=timing)

    def _with_capacity(self, profile: Profile) -> Profile:
        given = self.capacity
        if given is None:
            return profile
        before = profile.capacity
        if before is None and given.rate is None:
            raise KeyedError("capacity.rate", "is missing: what other users leave of the channel")
        before = before or Capacity(0, 0)
        return replace(profile, capacity=replace(before, **_given(given)))


@lru_cache(maxsize=MOST_CHANNELS)
def _numbers(channel: UpstreamChannel) -> Profile:
    """The channel's profile, which every service flow asks for, made once."""
    return channel._made()


_PLAIN: Final = (
    "stretch",
    "contention_minislots",
    "maintenance_minislots",
    "request_minislots",
    "contention_place",
    "extra_contention",
    "collisions",
    "grant_place",
    "tries",
    "asking",
    "packing",
    "concatenated_frames",
    "fragmentation",
    "piggyback",
    "idle_proactive_grants",
    "header",
    "segment_header",
)


def _given(model: Model | None) -> dict[str, Any]:
    """The values that a part gives."""
    if model is None:
        return {}
    return {key: value for key, value in model if value is not None}
