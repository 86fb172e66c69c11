# SPDX-License-Identifier: Apache-2.0
"""How much delay a buffer adds under load."""

import math
import statistics


def round_trips(sent, returned):
    """The round trips of the packets that came back, in milliseconds, in the order of sending."""
    return [(back - left) / 1e6 for left, back in zip(sent, returned, strict=True) if back >= 0]


def loss(returned):
    """Which share of the packets was lost, from 0 to 1; 0 of no packets."""
    if not returned:
        return 0.0
    return sum(back < 0 for back in returned) / len(returned)


def percentile(values, percent):
    """The nearest-rank percentile."""
    rank = math.ceil(percent * len(values) / 100)
    return sorted(values)[rank - 1]


def added_delay(sent, returned, load_begin, load_end):
    """The bloat in milliseconds: the median round trip under load minus the median before it."""
    pairs = list(zip(sent, returned, strict=True))
    before = [pair for pair in pairs if pair[0] < load_begin]
    loaded = [pair for pair in pairs if load_begin <= pair[0] < load_end]
    medians = [
        statistics.median(round_trips(*zip(*part, strict=True))) for part in (loaded, before)
    ]
    return medians[0] - medians[1]


def buffer_size(delay, rate):
    """How many bytes wait in a queue that adds so many milliseconds at so many bit/s."""
    return delay / 1000 * rate / 8
