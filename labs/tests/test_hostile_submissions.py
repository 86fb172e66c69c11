# SPDX-License-Identifier: Apache-2.0
"""No submission hangs or harms the grader, or another submission."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from hostile import HOSTILE

from docsis_labs.criterion import Criterion
from docsis_labs.errors import SubmissionError
from docsis_labs.exercise import ALL_POINTS, PYTHON, Exercise, StudentFile
from docsis_labs.exercises import exercise as numbered
from docsis_labs.exercises.docsis_pie import criteria
from docsis_labs.files import read_bytes
from docsis_labs.folder_submission import FolderSubmission
from docsis_labs.grading.grader import grade_all
from docsis_labs.grading.judge import judge
from docsis_labs.grading.result import Status
from docsis_labs.sandbox.sandbox import Sandbox, sandbox, why_not
from docsis_labs.student import starved
from docsis_labs.student.client import Student

needs_sandbox = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

SHORT = Exercise(
    number=5,
    folder="5-docsis-pie-control-law",
    title="The first criterion alone",
    files=(StudentFile("law.py", PYTHON),),
    criteria=(Criterion("queue-delay", "The delay", ALL_POINTS, criteria.queue_delay),),
    run=lambda context: None,
)


@needs_sandbox
@pytest.mark.parametrize("name", HOSTILE)
def test_each_is_told_what_is_wrong(name: str, tmp_path: Path) -> None:
    make, mistake = HOSTILE[name]
    make(tmp_path)
    result = judge(SHORT, tmp_path, sandbox())
    [one] = result.criteria
    assert one.status is Status.MISSED, one
    assert one.points == 0
    assert not mistake or one.mistake == mistake, one
    assert one.text.isprintable()
    assert len(one.text) < 700
    assert not Path("/tmp/docsis-lab-was-here").exists()


@needs_sandbox
def test_the_others_of_a_class_are_untouched(tmp_path: Path) -> None:
    exercise = numbered(5)
    solution = exercise.path / "solution" / "law.py"
    names = ["anna", "loops", "floods", "forks", "fifo", "bert", "no-file", "carla"]
    for name in names:
        (tmp_path / name).mkdir()
        make = HOSTILE[name][0] if name in HOSTILE else lambda folder: shutil.copy(solution, folder)
        make(tmp_path / name)
    # A busy machine has its time: what is looked at here is who gets which points.
    results = list(grade_all(exercise, {n: tmp_path / n for n in names}, sandbox(), 2, seconds=300))
    assert [result.submission for result in results] == names
    for result in results:
        good = result.submission not in HOSTILE
        assert result.points == (ALL_POINTS if good else 0), result
        assert not result.by_hand
        assert result.processor_seconds < 10
        assert result.memory_mb < 256
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_a_link_to_a_folder_is_no_submission(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(numbered(5).path / "solution")
    result = judge(SHORT, tmp_path / "link")
    assert result.criteria[0].mistake == "missing-file"
    assert "link" in result.criteria[0].text


def test_a_file_that_cannot_even_be_looked_at_is_told(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError) as told:
        read_bytes(tmp_path, 300 * "x")
    assert "cannot be read: File name too long" in told.value.missed.hint


def test_time_without_a_processor_is_not_the_student_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that takes longer than its time, of which the machine kept it waiting for a part."""
    text = "import time\ndef f(seconds):\n    time.sleep(seconds)\n    return 1\n"
    monkeypatch.setattr("docsis_labs.student.client._CALL_SECONDS", 1.0)
    student = Student(Sandbox(None), "law.py", text)
    assert starved.waited(os.getpid()) >= 0
    times = iter((0.0, *(1.5 for _ in range(1000))))
    monkeypatch.setattr(starved, "waited", lambda pid: next(times))
    assert student.call("f", 1.3) == 1
    monkeypatch.setattr(starved, "waited", lambda pid: 0.0)
    with pytest.raises(SubmissionError, match="did not end"):
        student.call("f", 3600)
    student.close()


def test_a_number_beyond_all_floating_point_numbers_is_wrong_and_no_defect(tmp_path: Path) -> None:
    """Wherever an answer is computed with: compared, as a number, and in the closed loop."""
    exercise = numbered(5)
    law = (exercise.path / "solution" / "law.py").read_text()
    (tmp_path / "law.py").write_text(
        f"{law}\nright = update\n\n"
        "def update(state, *rest):\n"
        '    return {**right(state, *rest), "drop_prob": 10**400}\n'
    )
    result = judge(exercise, tmp_path)
    assert not result.by_hand, result.criteria
    assert result.points < ALL_POINTS
    submission = FolderSubmission(exercise, tmp_path, Sandbox(None))
    with closing(submission), pytest.raises(SubmissionError, match="has to return"):
        criteria.closed_loop(submission)
    student = Student(Sandbox(None), "law.py", "def f():\n    return 10**400\n")
    with pytest.raises(SubmissionError, match="larger than any floating-point number"):
        student.number("f")
    student.close()
