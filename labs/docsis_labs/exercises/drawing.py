# SPDX-License-Identifier: Apache-2.0
"""Pictures of exercises: the same bytes from the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt


@contextmanager
def drawing(path: Path, *, rows: int = 1, height: float = 3.2) -> Iterator[list[Any]]:
    """Draws on axes below one another, and writes them into an SVG file.

    Args:
        path: The file; its folder is made.
        rows: How many axes.
        height: Height of each, inches.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    settings: dict[Any, Any] = {
        "svg.hashsalt": path.name,
        "font.size": 9,
        "axes.grid": True,
        "grid.color": "#dddddd",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with mpl.rc_context(settings):
        figure, axes = plt.subplots(
            rows, 1, figsize=(7.2, height * rows), layout="constrained", squeeze=False
        )
        try:
            yield [row[0] for row in axes]
            figure.savefig(path, format="svg", metadata={"Date": None})
        finally:
            plt.close(figure)
