# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 accept referee`: virtual time beside what another simulator measured."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from docsis_experiments.acceptance.cases import Case
from docsis_experiments.acceptance.collect import Collected, Stages, Wanted, admit, collect
from docsis_experiments.acceptance.referee import data, figures, table
from docsis_experiments.acceptance.referee.rule import Verdict
from docsis_experiments.runs.files import write_atomically
from docsis_experiments.stages.stage import Stage
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import RESULTS
from docsis_testbed.progress import progress_bar

FOLDER: Final = RESULTS / "acceptance" / "referee"
DOCUMENT: Final = "referee.json"


def run(
    case: Case,
    recorded: Path,
    *,
    virtual: Callable[[int], Stage],
    seeds: int,
    console: Console,
    results: Path = FOLDER,
) -> Path:
    """Makes the seeds that are missing, compares all, and says what follows.

    Args:
        case: What the referee played.
        recorded: The file of its results.
        virtual: The stage of a seed.
        seeds: How many of them, from 1 up.
        console: Where progress and the table go.
        results: Folder of the runs and of the document.

    Returns:
        The document.

    Raises:
        NoVerdict: Nothing fails, but there are too few runs; the document is written.
        TestbedError: Something is not within the margin (the document is written), the referee's
            results cannot be used, or a run could not be made.
    """
    referee = data.load(recorded)
    collected, wanted = Collected.of(case, results), Wanted(mininet=0, seeds=seeds)
    stages = Stages(_no_mininet, virtual)
    admit(collected, stages, wanted)
    if missing := len(collected.missing_seeds(wanted)):
        with progress_bar(console) as bar:
            task = bar.add_task("starting", total=missing)

            def told(what: str) -> None:
                left = len(collected.missing_seeds(wanted))
                bar.update(task, completed=missing - left, description=what)

            collect(collected, stages, wanted, told)
            bar.update(task, completed=missing, description="comparing")
    document = figures.document(referee, collected.virtual, case)
    path = results / DOCUMENT
    write_atomically(path, (json.dumps(document, indent=2) + "\n").encode())
    console.print(table.table(document))
    if others := collected.virtual.others():
        console.print(
            f"{others} runs are of another commit, other inputs or another build, and are not "
            "compared.",
            soft_wrap=True,
            highlight=False,
        )
    console.print(f"Figures: {path}", soft_wrap=True, highlight=False)
    _judge(document)
    return path


def _no_mininet() -> Stage:
    raise AssertionError("no run on Mininet is wanted")


def _judge(document: dict[str, Any]) -> None:
    verdicts = Counter(comparison["verdict"] for comparison in document["comparisons"])
    judged = verdicts.total() - verdicts[Verdict.TOLD]
    if failed := verdicts[Verdict.NOT_SHOWN] + verdicts[Verdict.OUTSIDE]:
        raise TestbedError(
            f"{failed} of {judged} medians are not shown to be within "
            f"{document['margin']:.0%} of the referee's: "
            f"{verdicts[Verdict.OUTSIDE]} outside, {verdicts[Verdict.NOT_SHOWN]} not shown"
        )
    if few := verdicts[Verdict.TOO_FEW_RUNS]:
        raise NoVerdict(
            f"{few} of {judged} medians have too few runs: a verdict needs "
            f"{document['least_runs']} of either side; run this again with more --seeds, and what "
            "is there is not made again"
        )
