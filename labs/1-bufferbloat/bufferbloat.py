# SPDX-License-Identifier: Apache-2.0
"""How much delay a buffer adds under load: complete the TODOs.

The functions get the columns of run/round-trips.csv as lists: when each packet of a call was sent,
and when it was back, in nanoseconds. Of a packet that was lost the second number is -1.
"""


def round_trips(sent, returned):
    """The round trips of the packets that came back, in milliseconds, in the order of sending."""
    # TODO 1
    return []


def loss(returned):
    """Which share of the packets was lost, from 0 to 1; 0 of no packets."""
    # TODO 2
    return 0.0


def percentile(values, percent):
    """The nearest-rank percentile: the smallest value that percent % of all values do not exceed.

    values: a list that is not sorted, and not empty; percent: above 0, 100 at the most.
    """
    # TODO 3: sort; the rank is percent / 100 * how many, rounded up; the first value has rank 1.
    return 0.0


def added_delay(sent, returned, load_begin, load_end):
    """The bloat in milliseconds: the median round trip under load minus the median before it.

    The load is on from load_begin on, and before load_end (ns); what was sent after is left out.
    """
    # TODO 4
    return 0.0


def buffer_size(delay, rate):
    """How many bytes wait in a queue that adds so many milliseconds at so many bit/s."""
    # TODO 5
    return 0.0
