# SPDX-License-Identifier: Apache-2.0
"""Exercise 6: DOCSIS-PIE's data path in P4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from docsis_labs.criterion import Criterion, Verdict
from docsis_labs.exercise import P4, Exercise, RunContext, StudentFile
from docsis_labs.submission import Submission

PROGRAM: Final = "data_path.p4"


def _judge(name: str) -> Callable[[Submission], Verdict]:
    """The function of a name in `criteria`, which is imported when it is needed."""

    def judge(submission: Submission) -> Verdict:
        from docsis_labs.exercises.pie_data_path import criteria

        return criteria.JUDGES[name](submission.program(PROGRAM))

    return judge


def _run(context: RunContext) -> None:
    from docsis_labs.exercises.pie_data_path.run import run

    run(context)


EXERCISE: Final = Exercise(
    number=6,
    folder="6-docsis-pie-data-path",
    title="The data path of DOCSIS-PIE in P4",
    files=(StudentFile(PROGRAM, P4),),
    criteria=(
        Criterion("no-probability", "A probability of 0 drops nothing", 5, _judge("nothing")),
        Criterion("gaps", "No drop comes too soon after the one before", 20, _judge("gaps")),
        Criterion(
            "coin", "In between a coin falls as p1 says", 20, _judge("coin"), needs=("gaps",)
        ),
        Criterion("burst", "A burst is allowed", 15, _judge("burst"), needs=("gaps",)),
        Criterion("size", "A frame counts by its size", 10, _judge("size"), needs=("gaps", "coin")),
        Criterion(
            "still",
            "A queue that is short keeps its frames",
            10,
            _judge("still"),
            needs=("gaps", "coin"),
        ),
        Criterion(
            "forced", "No drop comes too late", 10, _judge("forced"), needs=("coin", "still")
        ),
        Criterion("reset", "Nothing is remembered of before", 10, _judge("reset"), needs=("gaps",)),
    ),
    run=_run,
)
