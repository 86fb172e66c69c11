# SPDX-License-Identifier: Apache-2.0
"""The mean part of an idle round trip that a request/grant MAC takes. Pure.

A lone small frame waits for a contention opportunity that it is ready for, its request for a MAP
that is made after it was heard, and the burst for its place in that MAP (docs/mac.md). Backoff
takes so many more opportunities; nobody collides. The mean is over a frame that comes at any moment
of a MAP, and over the places that the profile draws.

This tells how far away a subscriber's server is whose idle round trip is known; it is no part of
the MAC. A test holds it against runs of each profile. Requests in turn keep step with the MAPs
where grants have no random place, so that one subscriber's round trip may be off by half a MAP.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_control.mac.profile import PS_PER_NS, ContentionPlace, GrantPlace, Profile

_POINTS: Final = 60
"""Moments of a MAP that are looked at, and places in it."""

_SMALLEST: Final = 64
"""Bytes of the frame, with its CRC."""

_EVEN: Final = (np.arange(_POINTS) + 0.5) / _POINTS

Floats = npt.NDArray[np.float64]


@functools.lru_cache(maxsize=64)
def mean_access_ns(profile: Profile) -> int:
    """Mean time from when a lone frame comes to when the CMTS has it, nanoseconds."""
    map_ns = profile.map_ps / PS_PER_NS
    slot = profile.clock.frame_ps / PS_PER_NS
    came = (_EVEN * map_ns)[:, None, None]
    asked = _asked(profile, map_ns, slot, came)
    timing = profile.timing
    made = asked + profile.request_minislots * slot / profile.clock.per_frame + timing.request_heard
    begins = np.ceil((made + timing.map_ahead) / map_ns) * map_ns
    burst = _burst(profile, slot)
    if profile.grant_place is GrantPlace.RANDOM:
        within = max(0.0, map_ns - burst) / 2
    else:
        front = profile.contention_minislots + profile.maintenance_minislots
        within = front * slot / profile.clock.per_frame
    return round(float(np.mean(begins - came)) + within + burst + timing.delivery)


def _asked(profile: Profile, map_ns: float, slot: float, came: Floats) -> Floats:
    """When the request is sent, by the moment at which the frame came and by what is drawn."""
    ready: Floats = came + profile.timing.burst_preparation
    if profile.contention_place is ContentionPlace.RANDOM_FRAME:
        # An opportunity in each MAP, anywhere: this one's, or else the next one's.
        here, there = (_EVEN * map_ns)[:, None], map_ns + _EVEN * map_ns
        found: Floats = np.where(here >= ready, here, np.maximum(there, ready))
        return found
    opportunities = (2**profile.backoff.start - 1) / 2
    backoff = opportunities * profile.request_minislots * slot
    # What is left of an idle MAP is for contention as well, or the head alone is.
    begins: Floats = ready if profile.extra_contention else np.ceil(ready / map_ns) * map_ns
    asked: Floats = begins + backoff
    return asked


def _burst(profile: Profile, slot: float) -> float:
    """How long the frame is on the channel, nanoseconds."""
    minislots = profile.phy.minislots(_SMALLEST + profile.header + profile.segment_header)
    frames = -(-minislots // profile.clock.per_frame)
    return frames * slot
