# SPDX-License-Identifier: Apache-2.0
"""The interface of a plot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from matplotlib.figure import Figure as Drawing

from docsis_experiments.reports.page import Figure

if TYPE_CHECKING:
    from docsis_experiments.reports.plots.chart import Chart

S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class Plot(Figure, Generic[S]):
    """A picture of a report, and how it is drawn.

    A module of `plots.single`, `repeated`, `sweep`, `population`, `comparison` or `decisions` has
    one as `PLOT`; or, where a result has several of its kind, a function `plots` from the content
    of summary.json to them.

    Attributes:
        place: Where it stands among the others of its page: lowest first.
        applies: Whether there is something to draw.
        draw: Draws it, in the common style; whoever calls it writes the file.
        chart: Makes the same as a chart that a reader can zoom; None where zooming would not help.
    """

    place: int
    applies: Callable[[S], bool] = field(default=lambda subject: True)
    draw: Callable[[S], Drawing]
    chart: Callable[[S], Chart] | None = None
