# SPDX-License-Identifier: Apache-2.0
"""Figures as results.json has them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final

from docsis_experiments.reproduction.figure import Figure

MOST_POINTS: Final = 20_000
"""The most points of a line."""

_SERIES: Final = ("x", "y", "low", "high")


def as_data(figure: Figure) -> dict[str, Any]:
    """A figure for JSON, which has neither NaN nor infinity.

    Raises:
        ValueError: A line has more points than a page can show.
    """
    found = asdict(figure)
    del found["one_of"]
    for panel in found["panels"]:
        for line in panel["lines"]:
            if len(line["x"]) > MOST_POINTS:
                raise ValueError(
                    f'figure {figure.id}: "{line["name"]}" has {len(line["x"])} points; there may '
                    f"be {MOST_POINTS}"
                )
            line |= {name: _finite(line[name]) for name in _SERIES}
        for published in panel["published"]:
            published |= {name: _finite(published[name]) for name in ("x", "y")}
        panel["lines"], panel["published"] = list(panel["lines"]), list(panel["published"])
        for axis in ("x", "y"):
            panel[axis]["ticks"] = [list(tick) for tick in panel[axis]["ticks"]]
    found["panels"], found["rows"] = list(found["panels"]), list(found["rows"])
    return found


def _finite(values: Sequence[float] | Iterable[float]) -> list[float | None]:
    return [round(float(v), 6) if math.isfinite(v) else None for v in values]
