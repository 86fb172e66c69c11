# SPDX-License-Identifier: Apache-2.0
"""What a student's code prints is shown to the student, as text, and changes no points."""

from __future__ import annotations

import json
import shutil
from contextlib import closing, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docsis_cli import app
from docsis_labs.errors import SubmissionError
from docsis_labs.exercise import LABS
from docsis_labs.sandbox.sandbox import Sandbox, why_not
from docsis_labs.student.client import Student
from docsis_labs.student.printed import LEFT_OUT, MOST, Printed
from docsis_testbed.errors import TestbedError

SOLUTION = LABS / "4-tail-drop" / "solution"

needs_sandbox = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A solution of exercise 4, in a folder of its own."""
    return Path(shutil.copytree(SOLUTION, tmp_path / "anna"))


def lab(*arguments: str | Path) -> tuple[int, str]:
    """Exit status and output; what a user is told of errors is raised."""
    result = CliRunner().invoke(app, ["lab", *map(str, arguments)])
    if isinstance(result.exception, TestbedError):
        raise result.exception
    return result.exit_code, result.output


def prints(folder: Path, line: str) -> None:
    """Puts a line in front of each function's own lines."""
    file = folder / "tail_drop.py"
    changed = []
    for text in file.read_text().splitlines():
        changed.append(text)
        if text.startswith("def "):
            changed.append(f"    {line}")
    file.write_text("\n".join(changed) + "\n")


def test_the_beginning_is_kept_until_it_is_taken() -> None:
    printed = Printed()
    printed.hear(b"one")
    printed.hear(b" two")
    assert printed.take() == "one two"
    assert printed.take() == ""
    printed.hear(b"x" * MOST)
    assert printed.text == "x" * MOST
    printed.hear(b"y")
    assert printed.take() == "x" * MOST + LEFT_OUT


def test_a_character_that_is_cut_in_two_is_left_out() -> None:
    printed = Printed()
    printed.hear(b"x" * (MOST - 1) + "ä".encode())
    assert printed.text == "x" * (MOST - 1)
    printed.take()
    printed.hear(b"\xff")
    assert printed.text == "\ufffd"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("print('loads')\ndef f():\n    print('works')\n    return 1\n", "loads\nworks\n"),
        ("def f():\n    print('soon')\n    while True: pass\n", "soon\n"),
        ("import os\ndef f():\n    print('goes')\n    os._exit(1)\n", "goes\n"),
        ("print('bad')\nraise ValueError\n", "bad\n"),
    ],
    ids=["returns", "hangs", "exits", "does-not-load"],
)
def test_nothing_is_lost_however_a_call_ends(
    text: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docsis_labs.student.client._CALL_SECONDS", 1.0)
    printed = Printed()
    with suppress(SubmissionError):
        student = Student(Sandbox(None), "law.py", text, printed)
        with closing(student):
            student.call("f")
    assert printed.take() == told


def test_it_stands_under_the_criterion_whose_calls_printed_it(work: Path) -> None:
    prints(work, "print('[red]bytes[/red] :cat: \\x1b[31m')")
    status, words = lab("check", "4", "--folder", work)
    assert status == 0
    lines = words.splitlines()
    shown = [number for number, line in enumerate(lines) if line.strip() == "It printed:"]
    assert len(shown) >= 4
    for number in shown:
        # Nothing of it is markup, an emoji or a command to the terminal.
        assert lines[number + 1].strip() == "[red]bytes[/red] :cat: \\x1b[31m"
    assert "\x1b[31m" not in words
    assert lines[0].startswith(" 20 of  20")
    assert shown[0] in {1, 2}


def test_a_lot_of_it_is_cut(work: Path) -> None:
    prints(work, "print('much ' * 2000)")
    _, words = lab("check", "4", "--folder", work)
    assert "(the rest is left out)" in words
    assert words.count("much ") <= 6 * MOST // len("much ")


def test_tools_find_it_in_the_json_of_a_check(work: Path) -> None:
    prints(work, "print('here')")
    _, words = lab("check", "4", "--folder", work, "--json")
    first = json.loads(words[words.index("{") :])["criteria"][0]
    assert first["printed"].startswith("here\n")


@needs_sandbox
def test_a_class_s_results_have_none_of_it(work: Path) -> None:
    prints(work, "print('for me alone')")
    for form in ("json", "gradescope", "moodle"):
        _, words = lab("grade", work, "--format", form, "--seconds", "300")
        assert "for me alone" not in words
        assert "printed" not in words
        assert "100" in words


def test_a_run_shows_it_also_when_it_fails(tmp_path: Path) -> None:
    shutil.copy(LABS / "1-bufferbloat" / "solution" / "bufferbloat.py", tmp_path)
    with (tmp_path / "bufferbloat.py").open("a") as file:
        file.write("\nprint('loaded')\n\ndef loss(returned_ns):\n    print('asked')\n    1 / 0\n")
    result = CliRunner().invoke(app, ["lab", "run", "1", "--folder", str(tmp_path)])
    assert isinstance(result.exception, TestbedError)
    assert "ZeroDivisionError" in str(result.exception)
    assert result.output.splitlines()[-3:] == ["It printed:", "  loaded", "  asked"]
