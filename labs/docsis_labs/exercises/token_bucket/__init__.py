# SPDX-License-Identifier: Apache-2.0
"""Exercise 3: a token bucket in P4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from docsis_labs.criterion import Criterion, Verdict
from docsis_labs.exercise import P4, Exercise, RunContext, StudentFile
from docsis_labs.submission import Submission

PROGRAM: Final = "token_bucket.p4"


def _judge(name: str) -> Callable[[Submission], Verdict]:
    """The function of a name in `criteria`, which is imported when it is needed."""

    def judge(submission: Submission) -> Verdict:
        from docsis_labs.exercises.token_bucket import criteria

        return criteria.JUDGES[name](submission.program(PROGRAM))

    return judge


def _run(context: RunContext) -> None:
    from docsis_labs.exercises.token_bucket.run import run

    run(context)


EXERCISE: Final = Exercise(
    number=3,
    folder="3-token-bucket",
    title="A token bucket in P4",
    files=(StudentFile(PROGRAM, P4),),
    criteria=(
        Criterion("wire", "A port without a policer is a wire", 5, _judge("wire")),
        Criterion("first-burst", "The first burst passes, and no more", 15, _judge("first_burst")),
        Criterion(
            "frame-length",
            "A frame costs its length on the wire",
            10,
            _judge("frame_length"),
            needs=("first-burst",),
        ),
        Criterion(
            "not-more",
            "Over no interval more than rate * t / 8 + burst bytes pass",
            20,
            _judge("not_more"),
            needs=("first-burst", "frame-length"),
        ),
        Criterion(
            "not-less",
            "Who sends all the time gets all of that but a frame",
            20,
            _judge("not_less"),
            needs=("first-burst", "frame-length"),
        ),
        Criterion(
            "idle",
            "After a pause there is a burst, and no more",
            10,
            _judge("idle"),
            needs=("first-burst",),
        ),
        Criterion(
            "long-silence",
            "The bucket is full after hours, too",
            5,
            _judge("long_silence"),
            needs=("idle",),
        ),
        Criterion(
            "wrap",
            "The clock wraps around, and nothing happens",
            10,
            _judge("wrap"),
            needs=("idle",),
        ),
        Criterion(
            "own-bucket",
            "Each port has a bucket of its own",
            5,
            _judge("own_bucket"),
            needs=("first-burst",),
        ),
    ),
    run=_run,
)
