# SPDX-License-Identifier: Apache-2.0
"""Scales that several plots have, and how what is too much for one panel is parted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

import matplotlib as mpl

TICKS: Final = tuple(base * 10.0**power for power in range(-3, 6) for base in (1, 2, 5))
"""Ticks of logarithmic scales."""

SMALL: Final = 7
"""Ticks of which more would touch each other in a panel that is one of several."""


def chunks(values: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    """Parts of at most so many values; none of nothing."""
    if not values:
        return iter(())
    # As even as can be: 4 are two and two, and not three and one.
    count = math.ceil(len(values) / most)
    size = math.ceil(len(values) / count)
    return (values[start : start + size] for start in range(0, len(values), size))


def logarithmic(axis: Any, low: float, high: float, most: int | None = None) -> None:
    """Ticks of a logarithmic scale as people write them: 0.5, 1, 2, 5, 10.

    Args:
        axis: Axis of a panel, which has its limits.
        low, high: The limits.
        most: More ticks than these are thinned to powers of ten.
    """
    shown = [tick for tick in TICKS if low <= tick <= high]
    if most is not None and len(shown) > most:
        shown = [tick for tick in shown if f"{tick:e}"[0] == "1"]
    axis.set_ticks(shown, [f"{tick:g}" for tick in shown])
    axis.set_tick_params(which="minor", length=0)
    axis.set_minor_locator(mpl.ticker.NullLocator())


def drawn(panels: Iterable[Any], along: Literal["x", "y"] = "y") -> tuple[float, float]:
    """The least and the greatest value drawn in any of the panels; 0 and 1 where nothing is."""
    ends = [getattr(axes.dataLim, f"interval{along}") for axes in panels]
    low, high = min(float(one[0]) for one in ends), max(float(one[1]) for one in ends)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (0.0, 1.0)


def reach(median: float, low: float, high: float) -> tuple[float, float]:
    """How far an interval goes below and above a median.

    Student's interval is of the mean, so the median may lie outside of it; then it is 0 there.
    """
    return max(float(median - low), 0.0), max(float(high - median), 0.0)
