# SPDX-License-Identifier: Apache-2.0
"""Charts that a reader can zoom, in the look of the pictures: panels below each other.

They are Bokeh's; a page has its script once (`embedding.py`). Nothing in them is code: a chart is
data that BokehJS draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from bokeh.layouts import gridplot
from bokeh.models.annotations import BoxAnnotation, Legend, LegendItem, Span
from bokeh.models.formatters import LogTickFormatter
from bokeh.models.ranges import Range1d
from bokeh.models.tickers import LogTicker
from bokeh.models.tools import HoverTool
from bokeh.plotting import figure

from docsis_experiments.measurement.record import Floats
from docsis_experiments.reports.plots.look import GREY
from docsis_experiments.reports.plots.thinning import alone, thinned

_DASHES: Final = {"-": "solid", "--": "dashed", "-.": "dashdot", ":": "dotted"}
_MARKERS: Final[Mapping[str, Any]] = {"o": "circle", "s": "square", "^": "triangle"}
_TOOLS: Final = "xbox_zoom,box_zoom,xwheel_zoom,pan,reset,save"

_PLAIN_POWERS: Final = 6
"""Numbers below this power of ten are written out."""

_NAMES_A_ROW: Final = 3
_LEGEND_ROW: Final = 24
"""Pixels."""


class Chart:
    """Panels below each other, with one legend: a click on a name hides its lines."""

    def __init__(
        self,
        names: Sequence[str],
        x: str,
        span: tuple[float, float],
        shades: Sequence[tuple[float, float, str]] = (),
        *,
        logarithmic: bool = False,
    ) -> None:
        """Begins a chart.

        Args:
            names: What each line is called.
            x: Words below the last panel.
            span: Ends of the horizontal scale.
            shades: Parts of it that are coloured: from where to where, and how.
            logarithmic: Whether that scale is.
        """
        self._shades = shades
        self._x = x
        self._range = Range1d(start=span[0], end=span[1])
        self._scale: Literal["log", "linear"] = "log" if logarithmic else "linear"
        self._panels: list[Any] = []
        self._lines: dict[str, list[Any]] = {name: [] for name in names}

    def panel(self, title: str, y: str, height: int = 210) -> None:
        """Begins a panel; all share the horizontal scale.

        Args:
            title: Above it.
            y: Words beside it.
            height: Pixels.
        """
        made: Any = figure(
            height=height, sizing_mode="stretch_width", tools=_TOOLS, title=title,
            active_drag="xbox_zoom", active_scroll=None, x_axis_type=self._scale,
            background_fill_color=None, border_fill_color=None, outline_line_color=None,
            x_range=self._range,
        )  # fmt: skip
        made.yaxis.axis_label = y
        made.y_range.start = 0
        made.title.text_font_size = "14px"
        made.xgrid.grid_line_color = made.ygrid.grid_line_color = "#DDDDDD"
        for axis in (*made.xaxis, *made.yaxis):
            axis.axis_label_text_font_style = "normal"
            axis.axis_line_color = axis.major_tick_line_color = GREY
            axis.minor_tick_line_color = None
        if self._scale == "log":
            # 20 and 500, as in pictures, and not powers of ten.
            made.xaxis.ticker = LogTicker(mantissas=[1, 2, 5], desired_num_ticks=12)
            made.xaxis.formatter = LogTickFormatter(min_exponent=_PLAIN_POWERS)
        made.add_tools(HoverTool(tooltips=[(y, "$y{0,0.000}"), (self._x, "$x{0,0.000}")]))
        for left, right, colour in self._shades:
            made.add_layout(
                BoxAnnotation(
                    left=left, right=right, fill_color=colour, fill_alpha=1.0, line_color=None,
                    level="image",
                )
            )  # fmt: skip
        self._panels.append(made)

    def line(self, name: str, x: Floats, y: Floats, look: Mapping[str, str]) -> None:
        """Draws a line into the last panel, with no more points than a screen shows.

        Args:
            name: One of the names.
            x: Rising.
            y: As many; NaN where it has a gap.
            look: Colour and line, as pictures have them; with a marker where points that no line
                goes through are to be seen.
        """
        shown_x, shown_y = thinned(x, y)
        # Seven digits are more than a screen has, and half of the bytes.
        self._lines[name].append(
            self._panels[-1].line(
                shown_x.astype(np.float32),
                shown_y.astype(np.float32),
                line_width=1.6,
                line_color=look["color"],
                line_dash=_DASHES[look["linestyle"]],
            )
        )
        single = alone(shown_y)
        if "marker" in look and single.size:
            self._lines[name].append(
                self._panels[-1].scatter(
                    shown_x[single].astype(np.float32),
                    shown_y[single].astype(np.float32),
                    marker=_MARKERS[look["marker"]],
                    size=6,
                    color=look["color"],
                )
            )

    def steps(self, x: Sequence[float], y: Sequence[float]) -> None:
        """Draws what is no run's and keeps its value up to the next point."""
        self._panels[-1].step(list(x), list(y), mode="after", line_color=GREY, line_width=1.6)

    def level(self, value: float, *, upright: bool = False) -> None:
        """Draws a line across the last panel that measured ones are held against."""
        self._panels[-1].add_layout(
            Span(
                location=value,
                dimension="height" if upright else "width",
                line_color=GREY,
                line_dash="dotted",
            )
        )

    def layout(self) -> Any:
        """The whole, for `embedding.as_data`."""
        first, last = self._panels[0], self._panels[-1]
        last.xaxis.axis_label = self._x
        items = [
            LegendItem(label=name, renderers=lines) for name, lines in self._lines.items() if lines
        ]
        legend: Any = Legend(
            items=items, orientation="horizontal", click_policy="hide", border_line_color=None,
            background_fill_color=None, ncols=_NAMES_A_ROW, location="left", margin=0, spacing=12,
        )  # fmt: skip
        legend.padding = 0
        first.add_layout(legend, "above")
        first.height += _LEGEND_ROW * -(-len(items) // _NAMES_A_ROW)
        return gridplot(
            [[panel] for panel in self._panels], merge_tools=True, toolbar_location="right",
            sizing_mode="stretch_width", toolbar_options={"logo": None},
        )  # fmt: skip
