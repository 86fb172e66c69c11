# SPDX-License-Identifier: Apache-2.0
"""The lines of 000's figures 1 to 6: distributions over conditions, one a queue manager. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from docsis_experiments.reproduction.figure import Axis, Line, Panel, Published
from docsis_experiments.reproduction.settings.p000_managers import Manager
from docsis_experiments.reproduction.settings.p000_pooled import Table
from docsis_experiments.runs.outcome import PROBABILITIES

CALLED: Final[Mapping[Manager, str]] = {
    Manager.BB: "Bufferbloat, 250 ms",
    Manager.BC: "Buffer Control, 50 ms",
    Manager.CD: "CoDel",
    Manager.CT: "CoDel-DT",
    Manager.SC: "SFQ-CoDel",
    Manager.PIE: "PIE",
    Manager.SP: "SFQ-PIE",
    Manager.DP: "DOCSIS-PIE, 10 ms",
}
"""As the paper's legends have them."""

_PRESETS: Final[Mapping[Manager, str]] = {Manager.BC: "buffer-control-50ms"}
"""Presets whose names differ from the manager's."""

SHARE_OF_PACKETS: Final = Axis("Share of packets", low=0, high=1)
SHARE_OF_CONDITIONS: Final = Axis("Share of conditions", low=0, high=1)
SHARE_OF_PAGES: Final = Axis("Share of pages", low=0, high=1)

P90: Final = 0.9

_SAMPLES: Final = 200
"""Samples of a run's distribution, where many are put together."""


def preset(manager: Manager) -> str:
    """The preset of the queue manager's colour."""
    return _PRESETS.get(manager, manager.value)


def pooled(manager: Manager, tables: Sequence[Table], added: float = 0.0) -> Line:
    """The share within a value, of all runs' distributions together.

    Args:
        manager: Whose.
        tables: The tables of its runs.
        added: To all values.
    """
    at = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    there = [table for table in tables if table.weight > 0]
    if not there:
        return Line(CALLED[manager], (), (), preset=preset(manager))
    values = np.concatenate([np.interp(at, PROBABILITIES, table.values) for table in there])
    weights = np.repeat([table.weight for table in there], _SAMPLES)
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    chosen = np.unique(np.searchsorted(share, PROBABILITIES[1:-1]).clip(0, share.size - 1))
    return Line(
        CALLED[manager],
        tuple(float(value) + added for value in values[order][chosen]),
        tuple(float(value) for value in share[chosen]),
        preset=preset(manager),
    )


def one_each(
    manager: Manager, values: Iterable[float], least: float | None = None, most: float | None = None
) -> Line:
    """The share within a value, of one value a condition and seed.

    Args:
        manager: Whose.
        values: The values of its runs; NaN where a run has none.
        least: Where a logarithmic axis begins: what is below it is drawn there.
        most: Up to where the line goes on; to the greatest value unless given.
    """
    found = sorted(value for value in values if not math.isnan(value))
    if not found:
        return Line(CALLED[manager], (), (), preset=preset(manager))
    if least is not None:
        found = [max(value, least) for value in found]
    x = [found[0], *found]
    y = [0.0, *((index + 1) / len(found) for index in range(len(found)))]
    if most is not None and most > x[-1]:
        x.append(most)
        y.append(1.0)
    return Line(CALLED[manager], tuple(x), tuple(y), shape="steps", preset=preset(manager))


def counted(manager: Manager, bounds: Sequence[float], within: Sequence[float]) -> Line:
    """The share within each bound, of counts.

    Args:
        manager: Whose.
        bounds: Ascending; all are within the last.
        within: How many are within each.
    """
    if not within or not within[-1]:
        return Line(CALLED[manager], (), (), preset=preset(manager))
    return Line(
        CALLED[manager],
        tuple(float(bound) for bound in bounds),
        tuple(count / within[-1] for count in within),
        preset=preset(manager),
    )


def drawn(
    title: str, x: Axis, y: Axis, lines: Iterable[Line], published: Sequence[Published] = ()
) -> Panel:
    """A panel of the lines that have anything."""
    return Panel(title, x, y, tuple(line for line in lines if line.x), tuple(published))


def at_p90(name: str, *ends: float, of: Manager | None = None) -> Published:
    """A published 90th percentile, or the ends between which it is said to be."""
    line = "" if of is None else CALLED[of]
    return Published(name, ends, (P90,) * len(ends), joined=len(ends) > 1, line=line)


def upright(name: str, x: float, top: float = 1.0) -> Published:
    """A published value of x, from the bottom to the top."""
    return Published(name, (x, x), (0.0, top), joined=True)
