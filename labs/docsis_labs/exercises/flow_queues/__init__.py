# SPDX-License-Identifier: Apache-2.0
"""Exercise 8: flow queues in P4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from docsis_labs.criterion import Criterion, Verdict
from docsis_labs.exercise import P4, Exercise, RunContext, StudentFile
from docsis_labs.submission import Submission

PROGRAM: Final = "flow_queues.p4"


def _judge(name: str) -> Callable[[Submission], Verdict]:
    """The function of a name in `criteria`, which is imported when it is needed."""

    def judge(submission: Submission) -> Verdict:
        from docsis_labs.exercises.flow_queues import criteria

        return criteria.JUDGES[name](submission.program(PROGRAM))

    return judge


def _run(context: RunContext) -> None:
    from docsis_labs.exercises.flow_queues.run import run

    run(context)


EXERCISE: Final = Exercise(
    number=8,
    folder="8-flow-queues",
    title="Flow queues and fairness in P4",
    files=(StudentFile(PROGRAM, P4),),
    criteria=(
        Criterion("anything", "Every frame passes as it came", 5, _judge("anything")),
        Criterion(
            "order",
            "A flow's frames leave in their order",
            15,
            _judge("order"),
            needs=("anything",),
        ),
        Criterion("apart", "Flows do not wait for one another", 25, _judge("apart")),
        Criterion(
            "books", "What a sub-queue holds is known", 15, _judge("books"), needs=("apart",)
        ),
        Criterion(
            "limit",
            "A flow fills its own part of the buffer",
            15,
            _judge("limit"),
            needs=("books",),
        ),
        Criterion(
            "all-queues", "All sub-queues are used", 10, _judge("all_queues"), needs=("limit",)
        ),
        Criterion(
            "fair",
            "Flows that always send get equal bytes",
            15,
            _judge("fair"),
            needs=("limit", "all-queues"),
        ),
    ),
    run=_run,
)
