# SPDX-License-Identifier: Apache-2.0
"""How often drops come after how many frames: what figures 7 to 10 draw. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Line, Panel, Published

RUN: Final = "Frames from drop to drop"
DROPS: Final = "Drops in 1000 frames"
SHARE: Final = "Share (%)"

_RAREST: Final = 1e-4
"""The beginning of a logarithmic axis: one in a million, as percent."""

_TICKS: Final = tuple((10.0**power, f"{10.0**power:g}") for power in range(-4, 2))
_EVERY_FIFTH: Final = tuple((float(drops), str(drops)) for drops in range(0, 31, 5))

Counted = Iterable[tuple[int, int]]


def frequencies(
    name: str, counted: Counted, values: range, together: int = 1, *, bars: bool = False
) -> Line:
    """The share of each value, percent; nothing is drawn where there was none.

    Args:
        name: In the legend.
        counted: Values and how often each was.
        values: The values that are drawn; what is left of them behind the last whole point is not.
        together: Values in a row whose mean share is one point, against the noise of few counts.
        bars: Instead of a line.
    """
    times: Counter[int] = Counter()
    for value, often in counted:
        times[value] += often
    total = times.total()
    if not total:
        return Line(name, (), ())
    points = [
        (
            first + (together - 1) / 2,
            100 * sum(times[first + ahead] for ahead in range(together)) / together / total
            or math.nan,
        )
        for first in range(values.start, values.stop - together + 1, together)
    ]
    return Line(
        name,
        tuple(float(place) for place, _ in points),
        tuple(share for _, share in points),
        shape="bars" if bars else "line",
    )


def geometric(p: float, values: range) -> Line:
    """Runs of drops that remember nothing: p (1 - p) ** (n - 1)."""
    return Line(
        "law", tuple(map(float, values)), tuple(100 * p * (1 - p) ** (n - 1) for n in values)
    )


def bounded(p: float, shortest: int, longest: int) -> Line:
    """The same from the shortest run on, with all that is left at the longest."""
    values = range(shortest, longest + 1)
    left = 100 * (1 - p) ** (longest - shortest)
    shares = [100 * p * (1 - p) ** (n - shortest) for n in values[:-1]]
    return Line("law", tuple(map(float, values)), (*shares, left))


def binomial(of: int, p: float, values: range) -> Line:
    """Drops among frames of which each is dropped by itself."""
    return Line(
        "law",
        tuple(map(float, values)),
        tuple(100 * math.comb(of, n) * p**n * (1 - p) ** (of - n) for n in values),
        shape="bars",
    )


def panel(
    x: str, lines: Iterable[Line], published: Iterable[Published], *, logarithmic: bool = False
) -> Panel:
    """Shares against values."""
    share = Axis(SHARE, low=0)
    if logarithmic:
        share = Axis(SHARE, True, _RAREST, ticks=_TICKS)
    of = Axis(x, low=0, ticks=_EVERY_FIFTH if x == DROPS else ())
    return Panel("", of, share, tuple(line for line in lines if line.x), tuple(published))
