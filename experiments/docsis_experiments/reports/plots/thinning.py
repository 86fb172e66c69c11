# SPDX-License-Identifier: Apache-2.0
"""Points of a line that a screen can show: without them a chart of a long run would not open.

Pure.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.measurement.record import Floats

COLUMNS: Final = 2000
"""Columns of pixels that a line is thinned to: twice a page's width, so that zooming has more."""

_TAIL: Final = 200
"""How many of a distribution's greatest values are all kept."""


def thinned(x: Floats, y: Floats, columns: int = COLUMNS) -> tuple[Floats, Floats]:
    """The least and the greatest of the points in each column of pixels, in their order.

    A line through them covers the same pixels as one through all.

    Args:
        x: Rising.
        y: As many; NaN where a line has a gap.
        columns: How many there are.

    Returns:
        At most two points for each column, or all where they are no more.
    """
    if x.size <= 2 * columns:
        return x, y
    # A column has points of equal count where x is regular, and none where x has none.
    place = np.minimum((x - x[0]) * (columns / max(x[-1] - x[0], 1e-300)), columns - 1)
    starts = np.flatnonzero(np.diff(place.astype(np.intp), prepend=-1))
    ends = np.append(starts[1:], x.size)
    kept: list[int] = []
    for start, end in zip(starts, ends, strict=True):
        part = y[start:end]
        if np.all(np.isnan(part)):
            kept.append(int(start))
            continue
        low, high = start + np.nanargmin(part), start + np.nanargmax(part)
        kept += sorted({int(low), int(high)})
    return x[kept], y[kept]


def alone(y: Floats) -> npt.NDArray[np.intp]:
    """Places of points without a neighbour on either side, through which no line goes.

    Args:
        y: Values; NaN where a line has a gap.
    """
    gap = np.concatenate([[True], np.isnan(y), [True]])
    return np.flatnonzero(~gap[1:-1] & gap[:-2] & gap[2:])


def distribution(samples: Floats, most: int = COLUMNS) -> tuple[Floats, Floats]:
    """A cumulative distribution: values, and the part of the samples at or below each, percent.

    Args:
        samples: In any order.
        most: Number of values that are kept: the greatest, which are the rarest, and others evenly.
    """
    ordered = np.sort(samples)
    ranks = np.arange(ordered.size)
    if ordered.size > most:
        even = np.linspace(0, ordered.size - 1, most - _TAIL).round().astype(np.intp)
        ranks = np.union1d(even, ranks[-_TAIL:])
    return ordered[ranks], 100.0 * (ranks + 1) / max(ordered.size, 1)
