# SPDX-License-Identifier: Apache-2.0
"""The traces of traffic in the record of a run, from which metrics are made."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Trace(StrEnum):
    """Something that a run's record has of a group of the traffic."""

    PACKETS = "packets"
    """When each was sent, and its one-way delay."""

    CALL = "call"
    """Packets of calls, which are sent throughout the run."""

    GOODPUT = "goodput"
    """Payload that was received, over time."""

    MESSAGES = "messages"
    """When each was sent, and how long it took to be complete."""

    PAGES = "pages"
    """When each was asked for, and when all of it was there."""

    VIDEO = "video"
    """Segments of an adaptive video: when each was asked for and played, and its rate."""
    ROUND_TRIPS = "round trips"
    """When each request was made, in the idle time as well, and when its reply was there."""

    RETRANSMISSIONS = "retransmissions"
    """How many segments TCP sent again."""

    TIMEOUTS = "timeouts"
    """How often TCP's retransmission timer fired; in virtual time alone."""

    ACKNOWLEDGEMENTS = "acknowledgements"
    """When each left the receiver of the data, and when it reached the sender; in virtual time
    alone."""

    SHARES = "shares"
    """The rate that each service flow got, beside the one that it is configured to get."""


IN_IDLE_TIME: Final = frozenset({Trace.CALL, Trace.ROUND_TRIPS})
"""Traces of what is sent in the idle time of a run, too."""
