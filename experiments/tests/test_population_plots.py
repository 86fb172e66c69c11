# SPDX-License-Identifier: Apache-2.0
"""The pictures of a population of more tiers than one picture has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docsis_experiments.populations.table import ResultOfTest
from docsis_experiments.reports.plots.population.distributions import MOST_PANELS, plots
from docsis_experiments.reports.plots.scales import chunks
from docsis_experiments.reports.plots.subjects import Populated

TIERS = [f"tier-{number}" for number in range(MOST_PANELS + 1)]
SUMMARY: dict[str, Any] = {
    "arms": [{"label": "one"}],
    "tiers": [{"name": name} for name in TIERS],
}


def made(number: int, tier: str) -> ResultOfTest:
    return ResultOfTest(
        arm="one", number=number, seed=number, tier=tier, modem="m", drawn_ms=14, idle_ms=14,
        mean_ms=20 + number, p99_ms=40, max_ms=60, requests=100, unanswered=0,
        goodput_mbps=10, key="0" * 64, digest="",
    )  # fmt: skip


def test_a_picture_of_tiers_that_nobody_was_drawn_for_is_left_out(tmp_path: Path) -> None:
    """The second picture's tiers have no test."""
    first, _ = chunks(TIERS, MOST_PANELS)
    populated = Populated([made(number, tier) for number, tier in enumerate(first)])
    drawn = [plot for plot in plots(SUMMARY) if plot.applies(populated)]
    assert [plot.file for plot in drawn] == [
        "round-trips-1.png", "mean-by-tier-1-1.png", "max-by-tier-1-1.png",
    ]  # fmt: skip
    for plot in drawn:
        plot.draw(populated)
    everybody = Populated([made(number, tier) for number, tier in enumerate(TIERS)])
    assert sum(plot.applies(everybody) for plot in plots(SUMMARY)) == 5
