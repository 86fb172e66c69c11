# SPDX-License-Identifier: Apache-2.0
"""Exercise 7: CoDel in P4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from docsis_labs.criterion import Criterion, Verdict
from docsis_labs.exercise import P4, Exercise, RunContext, StudentFile
from docsis_labs.submission import Submission

PROGRAM: Final = "codel.p4"


def _judge(name: str) -> Callable[[Submission], Verdict]:
    """The function of a name in `criteria`, which is imported when it is needed."""

    def judge(submission: Submission) -> Verdict:
        from docsis_labs.exercises.codel import criteria

        return criteria.JUDGES[name](submission.program(PROGRAM))

    return judge


def _run(context: RunContext) -> None:
    from docsis_labs.exercises.codel.run import run

    run(context)


EXERCISE: Final = Exercise(
    number=7,
    folder="7-codel",
    title="CoDel in P4, at the head of the queue",
    files=(StudentFile(PROGRAM, P4),),
    criteria=(
        Criterion("bursts", "A burst that is gone in time passes", 20, _judge("bursts")),
        Criterion(
            "first-drop",
            "The first drop comes an interval after the target was passed",
            15,
            _judge("first_drop"),
            needs=("bursts",),
        ),
        Criterion(
            "control-law",
            "Drop after drop comes interval / sqrt(count) later",
            20,
            _judge("control_law"),
            needs=("first-drop",),
        ),
        Criterion(
            "end",
            "The dropping state ends with the queue",
            10,
            _judge("end"),
            needs=("bursts", "first-drop"),
        ),
        Criterion(
            "last-frames",
            "A link has something to send",
            10,
            _judge("last_frames"),
            needs=("bursts", "first-drop"),
        ),
        Criterion(
            "again",
            "What comes again soon goes on",
            10,
            _judge("again"),
            needs=("control-law", "end"),
        ),
        Criterion(
            "tcp",
            "Four uploads leave the delay low and the link full",
            15,
            _judge("tcp"),
            needs=("bursts", "first-drop", "control-law", "end"),
        ),
    ),
    run=_run,
)
