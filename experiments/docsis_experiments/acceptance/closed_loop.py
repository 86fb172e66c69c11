# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 accept closed-loop`: virtual time beside Mininet, whole experiments."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from docsis_experiments.acceptance import figures, table
from docsis_experiments.acceptance.cases import Case
from docsis_experiments.acceptance.collect import Collected, Stages, Wanted, admit, collect
from docsis_experiments.acceptance.equivalence import Verdict
from docsis_experiments.runs.files import write_atomically
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import RESULTS
from docsis_testbed.progress import progress_bar

FOLDER: Final = RESULTS / "acceptance" / "closed-loop"
DOCUMENT: Final = "closed-loop.json"


def run(
    cases: Sequence[Case],
    *,
    stages: Stages,
    wanted: Wanted,
    console: Console,
    results: Path = FOLDER,
) -> Path:
    """Makes the runs that are missing, compares all that count, and says what follows.

    Args:
        cases: What is played.
        stages: Where.
        wanted: How many runs.
        console: Where progress and tables go.
        results: Folder of the runs and of the document.

    Returns:
        The document.

    Raises:
        NoVerdict: Nothing fails, but there are too few runs; the document is written.
        TestbedError: Something is not equivalent (the document is written), or a run could not be
            made; those before are kept.
    """
    collected = [Collected.of(case, results) for case in cases]
    for one in collected:
        admit(one, stages, wanted)
    missing = [len(one.missing_seeds(wanted)) + one.missing_runs(wanted) for one in collected]
    if sum(missing):
        with progress_bar(console) as bar:
            task = bar.add_task("starting", total=sum(missing))
            for number, one in enumerate(collected):
                before = sum(missing[:number])

                def told(what: str, one: Collected = one, before: int = before) -> None:
                    left = len(one.missing_seeds(wanted)) + one.missing_runs(wanted)
                    done = before + missing[number] - left  # noqa: B023 - called in its turn
                    bar.update(task, completed=done, description=what)

                collect(one, stages, wanted, told)
            bar.update(task, completed=sum(missing), description="comparing")
    document = figures.document(collected)
    path = results / DOCUMENT
    write_atomically(path, (json.dumps(document, indent=2) + "\n").encode())
    for case in document["cases"]:
        console.print(table.table(case))
        for note in table.notes(case):
            console.print(note, soft_wrap=True, highlight=False)
    console.print(f"Figures: {path}", soft_wrap=True, highlight=False)
    _judge(document)
    return path


def _judge(document: dict[str, Any]) -> None:
    verdicts = Counter(
        comparison["verdict"] for case in document["cases"] for comparison in case["comparisons"]
    )
    measured = verdicts.total() - verdicts[Verdict.NOT_MEASURED]
    missing = verdicts[Verdict.VALUES_MISSING]
    if failed := verdicts[Verdict.NOT_SHOWN] + verdicts[Verdict.DIFFERENT] + missing:
        raise TestbedError(
            f"{failed} of {measured} comparisons are not equivalent: "
            f"{verdicts[Verdict.DIFFERENT]} different, {verdicts[Verdict.NOT_SHOWN]} not shown"
            + (f", {missing} where some runs have no value" if missing else "")
            + (f"; {few} have too few runs" if (few := verdicts[Verdict.TOO_FEW_RUNS]) else "")
        )
    if few := verdicts[Verdict.TOO_FEW_RUNS]:
        least = document["least_runs"]
        raise NoVerdict(
            f"{few} of {measured} comparisons have too few runs: a verdict needs "
            f"{least['mininet']} that count on Mininet and {least['virtual']} in virtual time; run "
            "this again, and what is there is not made again"
        )
