# SPDX-License-Identifier: Apache-2.0
"""Finds the plots of a kind of result: every module of its package is one."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Drawing
from PIL import Image

from docsis_experiments.declared import modules
from docsis_experiments.reports.embedding import as_data
from docsis_experiments.reports.plots.look import RC
from docsis_experiments.reports.plots.plot import Plot


def plots_of(kind: ModuleType, summary: Mapping[str, Any]) -> list[Plot[Any]]:
    """All plots of a kind of result, in the order of the page.

    Args:
        kind: `plots.single`, `repeated`, `sweep`, `population`, `comparison` or `decisions`.
        summary: Content of summary.json.

    Raises:
        TypeError: A module has no plot; or two have the same file.
    """
    found: list[Plot[Any]] = []
    for module in modules(kind.__name__, kind.__path__):
        found += _of_module(module, summary)
    files = [plot.file for plot in found]
    if twice := next((file for file in files if files.count(file) > 1), None):
        raise TypeError(f"{kind.__name__}: two plots write {twice}")
    # Those of a module are in its order.
    return sorted(found, key=lambda plot: plot.place)


def _of_module(module: ModuleType, summary: Mapping[str, Any]) -> list[Plot[Any]]:
    plots = getattr(module, "plots", None)
    found: list[Any] = [getattr(module, "PLOT", None)] if plots is None else list(plots(summary))
    if not all(isinstance(plot, Plot) for plot in found):
        raise TypeError(f"{module.__name__}: has neither PLOT nor plots(summary), which a plot has")
    return found


def _save(drawing: Drawing, path: Path) -> None:
    """Saves a PNG of 256 colours: lines on white need no more, and it has a third of the bytes."""
    drawn = io.BytesIO()
    drawing.savefig(drawn, format="png")
    picture = Image.open(drawn).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(path, "PNG", optimize=True)


def write(kind: ModuleType, summary: Mapping[str, Any], subject: Any, folder: Path) -> None:
    """Draw what applies.

    Args:
        kind: As of `plots_of`.
        summary: Content of summary.json.
        subject: What the plots of this kind are given; see `subjects`.
        folder: Gets the PNG files, and a JSON file for each chart.
    """
    with mpl.rc_context(RC):
        for plot in plots_of(kind, summary):
            if plot.applies(subject):
                _save(plot.draw(subject), folder / plot.file)
                if plot.chart is not None:
                    (folder / plot.chart_file).write_text(as_data(plot.chart(subject)))
