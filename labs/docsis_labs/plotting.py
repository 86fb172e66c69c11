# SPDX-License-Identifier: Apache-2.0
"""Pictures that exercises draw of what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from docsis_labs.home import Measured


def round_trips(runs: Mapping[str, Measured], file: Path) -> None:
    """Draws each packet's round trip over time.

    Args:
        runs: By name, in the order of the legend.
        file: The SVG; its folder is made.
    """
    # Equal runs have equal files.
    mpl.rcParams["svg.hashsalt"] = "docsis-p4 labs"
    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for name, run in runs.items():
        sent, returned = np.array(run.sent_ns), np.array(run.returned_ns)
        came = returned >= 0
        axes.plot(sent[came] / 1e9, (returned - sent)[came] / 1e6, ".", markersize=2, label=name)
    axes.set_xlabel("time, s")
    axes.set_ylabel("round trip, ms")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", markerscale=4, frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})
