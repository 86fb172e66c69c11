# SPDX-License-Identifier: Apache-2.0
"""Grades submissions: each by a judge in a process of its own, with a limit of wall time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from docsis_labs.exercise import Exercise
from docsis_labs.grading.result import Judged, Result, Status
from docsis_labs.sandbox.sandbox import Sandbox

SECONDS: Final = 10.0
"""Wall time of a submission."""

_ENVIRONMENT: Final = {
    # One thread is enough, and each more has memory of its own.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def grade(
    exercise: Exercise,
    folder: Path,
    sandbox: Sandbox,
    seconds: float = SECONDS,
    name: str | None = None,
) -> Result:
    """Grades one submission.

    Args:
        exercise: What it is for.
        folder: Where it is.
        sandbox: Where its programs run.
        seconds: Wall time that it may take.
        name: Name of the submission; the folder's unless given.
    """
    arguments = [str(exercise.number), str(folder.absolute())]
    process = subprocess.Popen(
        [
            *(sys.executable, "-P", "-m", "docsis_labs.grading.judge"),
            *arguments,
            "sandbox" if sandbox.is_one else "limits",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **_ENVIRONMENT},
        start_new_session=True,
    )
    late = False
    with process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
    documents = _documents(output)
    used = documents.pop() if documents and "id" not in documents[-1] else {}
    criteria = [_as_judged(document) for document in documents]
    for criterion in exercise.criteria[len(criteria) :]:
        if late:
            # A call that hangs is found long before. So many short waits, or a busy machine: nobody
            # can tell here.
            mistake, status = "too-slow", Status.BY_HAND
            text = (
                f"Grading took more than {seconds:.0f} s until here, and was ended. Give it more "
                "with --seconds: if that does not help, the program waits for something."
            )
        else:
            mistake, status = "defect", Status.BY_HAND
            last = errors.decode(errors="replace").strip().splitlines()[-1:] or ["nothing"]
            text = f"The judge ended (status {process.returncode}); it said: {last[0][:300]}"
        criteria.append(
            Judged(criterion.id, criterion.title, 0, criterion.points, status, mistake, text)
        )
    return Result(
        exercise.number,
        folder.name if name is None else name,
        tuple(criteria),
        sandbox.is_one,
        float(used.get("processor_seconds", 0.0)),
        int(used.get("memory_mb", 0)),
    )


def grade_all(
    exercise: Exercise,
    folders: Mapping[str, Path],
    sandbox: Sandbox,
    jobs: int = 1,
    seconds: float = SECONDS,
) -> Iterator[Result]:
    """Grades many, some at a time; the results in the order of the folders, which have names."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(
            lambda one: grade(exercise, one[1], sandbox, seconds, name=one[0]), folders.items()
        )


def _documents(output: bytes) -> list[dict[str, Any]]:
    documents = []
    for line in output.splitlines():
        try:
            documents.append(json.loads(line))
        except ValueError:
            # Half a line, of a judge that was ended.
            break
    return documents


def _as_judged(document: dict[str, Any]) -> Judged:
    return Judged(**{**document, "status": Status(document["status"])})
