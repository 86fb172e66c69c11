# SPDX-License-Identifier: Apache-2.0
"""Readings of the rows of 002 (catalogue, section 2: K3 and K5, and the rows' own)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from docsis_experiments.reproduction.row import Asked


class Reading(StrEnum):
    """The readings of the paper where it is silent. The first decides."""

    FIRST = "first"
    """Round trips of 20, 30, 40 ms ...; a channel of 38 Mbps; the laws of the slides."""
    EVEN_ROUND_TRIPS = "even-round-trips"
    """Evenly on 20 to 120 ms."""
    CAPACITY_389 = "capacity-38.9"
    """The channel carries 38.9 Mbps of payload."""
    ACK_PER_SEGMENT = "ack-per-segment"
    """K3's second."""
    CUBIC = "cubic"
    """K3's third."""
    TARGET_563 = "target-563"
    """K5: Adaptive RED keeps its average halfway between the thresholds."""
    TODAYS_PRESETS = "todays-presets"
    """K5: PIE and CoDel of the RFCs."""
    EACH_ROUND_TRIP = "each-round-trip"
    """EXP3: the tier 2 flow at the round trip of each tier 1 flow."""
    SIGN_OF_ERROR = "sign-of-error"
    """E3W: what the table has of tier 2 alone."""
    BINS_1S = "bins-1s"
    """E3S: bins of 1 s."""
    BINS_100S = "bins-100s"
    """E3S: bins of 100 s."""
    WITH_HEADERS = "with-headers"
    """Section 9: T counts the headers of frames beside their payload."""
    NO_CONCEALMENT = "no-concealment"
    """Section 9: the call's telephone conceals no loss."""


_TCP: Final = (Reading.ACK_PER_SEGMENT, Reading.CUBIC)
_PATH: Final = (Reading.EVEN_ROUND_TRIPS, Reading.CAPACITY_389, *_TCP)

USUAL: Final = (Reading.FIRST, *_PATH, Reading.TARGET_563, Reading.TODAYS_PRESETS)
"""The readings of most rows."""

OF_RATES: Final = (*USUAL, Reading.WITH_HEADERS)
"""The readings of rows that hold T against a share. Where T of flows is compared with T of others
the headers cancel."""

OF_RATINGS: Final = (*USUAL, Reading.NO_CONCEALMENT)
"""The readings of the call's R-value."""

OF_TIERS: Final = (Reading.FIRST, Reading.EACH_ROUND_TRIP, *USUAL[1:])
"""The readings of EXP3's ratios."""

OF_ERRORS: Final = (*OF_TIERS, Reading.WITH_HEADERS)
"""The readings of EXP3's errors."""

OF_SIGNS: Final = (Reading.FIRST, Reading.SIGN_OF_ERROR, *OF_TIERS[1:])
"""The readings of EXP3's words."""

OF_BINS: Final = (
    Reading.FIRST,
    Reading.BINS_1S,
    Reading.BINS_100S,
    *_PATH,
    Reading.TODAYS_PRESETS,
    Reading.WITH_HEADERS,
)
"""The readings of EXP3's two flows over time, which are CoDel's."""

OF_ONE_VIDEO: Final = (Reading.FIRST, *_TCP)
"""The readings of a video beside a download behind drop tail, at its own rate and at one round
trip."""


def reading(asked: Asked, readings: tuple[Reading, ...]) -> Reading:
    """The reading that is asked for, of those that a row has."""
    return readings[asked.reading - 1]


def played(which: Reading) -> Reading:
    """The reading whose runs are looked at: some only look at the first one's in another way."""
    looked = (
        Reading.SIGN_OF_ERROR,
        Reading.BINS_1S,
        Reading.BINS_100S,
        Reading.WITH_HEADERS,
        Reading.NO_CONCEALMENT,
    )
    return Reading.FIRST if which in looked else which
