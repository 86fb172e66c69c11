# SPDX-License-Identifier: Apache-2.0
"""The picture that exercises draw of calls: each packet's round trip over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from docsis_labs.exercises.drawing import drawing
from docsis_labs.home import Measured


def round_trips(runs: Mapping[str, Measured], file: Path) -> None:
    """Draws each packet's round trip over time.

    Args:
        runs: By name, in the order of the legend.
        file: The SVG; its folder is made.
    """
    with drawing(file) as [axes]:
        for name, run in runs.items():
            sent, returned = np.array(run.sent_ns), np.array(run.returned_ns)
            came = returned >= 0
            trips = (returned - sent)[came] / 1e6
            axes.plot(sent[came] / 1e9, trips, ".", markersize=2, label=name)
        axes.set_xlabel("time, s")
        axes.set_ylabel("round trip, ms")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left", markerscale=4, frameon=False)
