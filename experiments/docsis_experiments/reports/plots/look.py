# SPDX-License-Identifier: Apache-2.0
"""How all figures look, and what they have in common.

Colours are Okabe and Ito's, which the colour-blind can tell apart; yellow, orange and sky blue are
darkened for a contrast of 3:1 with white. Line styles differ as well, so that the figures survive a
black-and-white printer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl

from docsis_control.queue_managers.management import Colour
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.registry import DESCRIBED

mpl.use("Agg")


@dataclass(frozen=True)
class Style:
    """How a queue manager looks in every figure."""

    colour: str
    line: str


_VERMILION: Final = "#D55E00"
_BLUE: Final = "#0072B2"
_GREEN: Final = "#009E73"
_PURPLE: Final = "#CC79A7"
_ORANGE: Final = "#B87D00"
_SKY: Final = "#3A92C8"
_BLACK: Final = "#000000"

_NAMED: Final[Mapping[Colour, str]] = {
    "vermilion": _VERMILION,
    "blue": _BLUE,
    "green": _GREEN,
    "purple": _PURPLE,
    "orange": _ORANGE,
    "sky": _SKY,
    "black": _BLACK,
    "grey": "#767676",
}

STYLES: Final[Mapping[Preset, Style]] = {
    preset: Style(_NAMED[described.colour], described.line)
    for preset, described in DESCRIBED.items()
}
"""The look of each preset, which its queue manager registers."""

PLATE: Final[dict[str, Any]] = {
    "facecolor": "white",
    "edgecolor": "none",
    "pad": 1.5,
    "alpha": 0.8,
}
"""The background of words that may lie on a line."""

RC: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.edgecolor": "#555555",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "savefig.dpi": 150,
}
"""How all figures look."""


COLOURS: Final = (
    _BLUE, _VERMILION, _GREEN, _PURPLE, _SKY, _ORANGE, _BLACK, "#8A6D00",
)  # fmt: skip
"""Colours of what is told apart by its place alone."""

LINES: Final = ("-", "--", "-.", ":")

LOOKS: Final[Sequence[Mapping[str, str]]] = (
    {"color": _BLUE, "linestyle": "-", "marker": "o"},
    {"color": "#C04A00", "linestyle": "--", "marker": "s"},
    {"color": "#00795A", "linestyle": "-.", "marker": "^"},
)
"""Looks of the lines of a panel that has three at most; contrasts with white of 4.5:1 and more."""

MOST_LINES: Final = len(LOOKS)

MARKERS: Final = tuple(look["marker"] for look in LOOKS)
"""Markers of the lines of a panel."""

GREY: Final = "#555555"
"""Colour of what is not measured: references, and words beside them."""

OF_FLOWS: Final = (_BLUE, "#A87000", "#008A64", "#B0588A", "#6A3D9A", "#222222")
OTHER_FLOWS: Final = "#767676"
COLLISION: Final = "#C1121F"
"""Colours of service flows on a channel, of the rest of them, and of requests that collide;
contrasts with white of 3.7:1 and more."""

PLAIN: Final = _BLUE
DERANDOMISED: Final = _GREEN
GROUPS: Final = _VERMILION
LAW: Final = "#222222"
"""Colours of single decisions: without and with de-randomisation, of groups of queues, and by the
law."""


def style(index: int) -> dict[str, Any]:
    """Colour and line of what is at an index."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": LINES[(index + index // len(COLOURS)) % len(LINES)],
    }


def line_of(look: Mapping[str, str]) -> dict[str, Any]:
    """A look without its marker."""
    return {key: value for key, value in look.items() if key != "marker"}


def reference(axes: Any, value: float, text: str) -> None:
    """Draw a horizontal line that measured ones are held against, with words on it."""
    axes.axhline(value, color=GREY, lw=1, linestyle=":")
    axes.annotate(
        text, (1, value), xycoords=("axes fraction", "data"), xytext=(-3, 3),
        textcoords="offset points", ha="right", va="bottom", fontsize=9, color=GREY,
        bbox=PLATE,
    )  # fmt: skip
