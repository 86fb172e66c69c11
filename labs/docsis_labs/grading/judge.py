# SPDX-License-Identifier: Apache-2.0
"""Judges one submission: in the process at hand, or as a process of its own.

    python -m docsis_labs.grading.judge EXERCISE FOLDER sandbox|limits

prints a JSON document a line: one for each criterion as soon as it is judged, and one of what it
took.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from docsis_labs.criterion import Criterion, Missed, Passed
from docsis_labs.errors import SubmissionError
from docsis_labs.exercise import Exercise
from docsis_labs.folder_submission import FolderSubmission
from docsis_labs.grading.result import Judged, Result, Status
from docsis_labs.sandbox.sandbox import Sandbox, own_files, sandbox
from docsis_labs.submission import Submission

PROCESSOR_SECONDS: Final = 10
_MEMORY: Final = 1 << 30
"""Address space of a judge: of this, libraries that are mapped and not used take the most."""


def judged(exercise: Exercise, submission: Submission) -> Iterator[Judged]:
    """Judges the criteria one after the other."""
    passed: set[str] = set()
    for criterion in exercise.criteria:
        missing = [name for name in criterion.needs if name not in passed]
        if missing:
            titles = [c.title for c in exercise.criteria if c.id in missing]
            one = _made(criterion, Status.SKIPPED, f"First: {'; '.join(titles)}.")
        else:
            one = replace(_judged(criterion, submission), printed=submission.printed())
        if one.status is Status.PASSED:
            passed.add(criterion.id)
        yield one


def _judged(criterion: Criterion, submission: Submission) -> Judged:
    try:
        verdict = criterion.judge(submission)
    except SubmissionError as error:
        status = Status.BY_HAND if error.by_hand else Status.MISSED
        return _made(criterion, status, error.missed.hint, error.missed.mistake)
    except Exception as error:
        # A defect of the exercise is not the student's.
        words = f"{type(error).__name__}: {error}"
        return _made(criterion, Status.BY_HAND, f"This criterion failed itself: {words}", "defect")
    match verdict:
        case Passed(text):
            return _made(criterion, Status.PASSED, text)
        case Missed(mistake, hint):
            return _made(criterion, Status.MISSED, hint, mistake)


def _made(criterion: Criterion, status: Status, text: str, mistake: str = "") -> Judged:
    points = criterion.points if status is Status.PASSED else 0
    return Judged(criterion.id, criterion.title, points, criterion.points, status, mistake, text)


def judge(exercise: Exercise, folder: Path, where: Sandbox | None = None) -> Result:
    """Judges a submission in this process.

    Args:
        exercise: What it is for.
        folder: Where it is.
        where: Its programs run; where there is none, a sandbox as for one's own files.
    """
    where = own_files() if where is None else where
    began = time.process_time()
    with closing(FolderSubmission(exercise, folder, where)) as submission:
        criteria = tuple(judged(exercise, submission))
    return Result(
        exercise.number,
        folder.name,
        criteria,
        where.is_one,
        round(time.process_time() - began, 3),
        0,
    )


def _most_resident() -> int:
    """The most memory that this process has had, KiB.

    getrusage would not do: a new process begins with what its parent had.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0])
    return 0


def main() -> None:
    """Judges what the arguments name."""
    from docsis_labs.exercises import exercise as numbered

    number, folder, where = sys.argv[1:]
    exercise = numbered(int(number))
    here = sandbox() if where == "sandbox" else Sandbox(None)
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with closing(FolderSubmission(exercise, Path(folder), here)) as submission:
        for one in judged(exercise, submission):
            print(json.dumps(asdict(one)), flush=True)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in used)
    memory = max(_most_resident(), used[1].ru_maxrss)
    print(json.dumps({"processor_seconds": round(seconds, 3), "memory_mb": memory >> 10}))


if __name__ == "__main__":
    main()
