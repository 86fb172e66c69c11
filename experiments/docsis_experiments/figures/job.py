# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 figures`: sample and compare."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

from docsis_experiments.figures import checks, samples
from docsis_experiments.figures.checks import Check, P
from docsis_experiments.figures.confidence import CONFIDENCE
from docsis_experiments.figures.samples import Sampled
from docsis_experiments.reports import document, report
from docsis_experiments.reports import folder as run_folder
from docsis_testbed import versions
from docsis_testbed.paths import RESULTS, switch_binary
from docsis_testbed.progress import progress_bar

_PROBABILITIES: Final = tuple(float(f"{p:.4g}") for p in np.geomspace(1e-3, 10, 33))
"""The probabilities of figure 16."""

_CURVE_DROPS: Final = 4000
_CURVE_FRAMES: Final = 50_000

_PLAIN: Final = (2, 3, 5, 10, 15, 20, 30, 40)
_SEARCH: Final = (15, 20, 25, 30, 35, 40, 50, 60)


def run(
    *, frames: int, trials: int, seed: int, console: Console, results: Path = RESULTS
) -> tuple[Path, bool]:
    """Makes the figures and their report.

    Args:
        frames: Through the pipeline for each probability.
        trials: For each number of sessions.
        seed: Seed of all that is drawn; equal seeds give equal results.
        console: Where progress and table go.
        results: Folder that gets the run's folder.

    Returns:
        The run's folder, and whether all numbers are within their bounds.

    Raises:
        TestbedError: The switch is not built, or a folder cannot be made.
    """
    # Asked first, so that nothing is left where it is not built.
    switch_binary()
    started = datetime.now()
    folder = run_folder.create_named("figures", results)
    with run_folder.told_if_unfinished(folder, console), progress_bar(console) as bar:
        total = bar.add_task("drops", total=6)
        (plain,) = samples.drops("pie", [P], frames, seed)
        bar.update(total, advance=1)
        (derandomised,) = samples.drops("docsis-pie", [P], frames, seed)
        bar.update(total, advance=1)
        curve = [
            sample
            for p in _PROBABILITIES
            for sample in samples.drops("docsis-pie", [p], _frames(p, frames), seed)
        ]
        bar.update(total, advance=1, description="sessions")
        hashed = samples.sessions(_PLAIN, queues=256, search=False, trials=trials, seed=seed)
        groups = samples.sessions(_PLAIN, queues=64, search=False, trials=trials, seed=seed)
        bar.update(total, advance=1)
        searched = samples.sessions(_SEARCH, queues=256, search=True, trials=trials, seed=seed)
        bar.update(total, advance=1, description="report")
        found = [
            *checks.bernoulli(plain),
            *checks.derandomised(derandomised),
            *checks.effective(curve),
            *checks.collisions([*hashed, *searched]),
        ]
        passed = all(check.passed for check in found)
        summary = document.rounded(
            {
                "experiment": "figures",
                "frames": frames,
                "trials": trials,
                "seed": seed,
                "confidence": CONFIDENCE,
                "passed": passed,
                "versions": versions.collect("embedded"),
                "checks": [check.document() for check in found],
            }
        )
        document.validate(summary)
        sampled = Sampled(plain, derandomised, curve, hashed, groups, searched)
        report.complete(folder, summary, run_folder.circumstances(started), sampled)
        bar.update(total, advance=1)
        folder = run_folder.finish(folder)
    console.print(table(found))
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, highlight=False)
    return folder, passed


def _frames(p: float, most: int) -> int:
    """As many as give each point of figure 16 about as many drops, and no more than four times
    what the others take."""
    return min(4 * most, max(_CURVE_FRAMES, round(_CURVE_DROPS / (checks.RATIO * p))))


def table(found: list[Check]) -> Table:
    """The comparison for the terminal."""
    result = Table(title="Figures of the papers, made of the pipeline")
    result.add_column("figure")
    result.add_column("what")
    result.add_column("published")
    result.add_column("measured", justify="right", no_wrap=True)
    result.add_column("", no_wrap=True)
    for check in found:
        result.add_row(
            check.figure,
            check.what,
            check.published,
            f"{check.measured:.4g}",
            "holds" if check.passed else "FAILS",
        )
    return result
