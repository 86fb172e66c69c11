# SPDX-License-Identifier: Apache-2.0
"""The analysis of exercise 1 as it should be, with what may be wrong in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Times = Sequence[int]


def round_trips(sent: Times, returned: Times) -> list[float]:
    """The round trips of the packets that came back, milliseconds."""
    return [(back - left) / 1e6 for left, back in zip(sent, returned, strict=True) if back >= 0]


def loss(returned: Times) -> float:
    """The share that was lost."""
    return sum(back < 0 for back in returned) / len(returned) if returned else 0.0


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile."""
    return sorted(values)[math.ceil(percent * len(values) / 100) - 1]


def _median(values: Sequence[float]) -> float:
    return percentile(values, 50)


def added_delay(
    sent: Times,
    returned: Times,
    begin: int,
    end: int,
    *,
    trips: Callable[[Times, Times], list[float]] = round_trips,
    centre: Callable[[Sequence[float]], float] = _median,
    baseline: str = "before",
    tail: bool = False,
    end_included: bool = False,
) -> float:
    """The delay that load adds to the median, milliseconds.

    Args:
        sent, returned: Times of a call's packets, nanoseconds; -1 of one that was lost.
        begin, end: Begin and end of the load, nanoseconds.
        trips: Makes round trips.
        centre: Instead of the median.
        baseline: "before" the load; "all" packets; "outside" of the load; "none".
        tail: Whether packets that were sent after the load count as loaded.
        end_included: Whether a packet that was sent when the load ended counts as loaded.
    """

    def chosen(wanted: Callable[[int], bool]) -> list[float]:
        pairs = [pair for pair in zip(sent, returned, strict=True) if wanted(pair[0])]
        return trips([left for left, _ in pairs], [back for _, back in pairs])

    loaded = centre(
        chosen(lambda at: begin <= at and (tail or at < end or (end_included and at == end)))
    )
    match baseline:
        case "none":
            return loaded
        case "all":
            return loaded - centre(chosen(lambda at: True))
        case "outside":
            return loaded - centre(chosen(lambda at: not begin <= at < end))
        case _:
            return loaded - centre(chosen(lambda at: at < begin))
