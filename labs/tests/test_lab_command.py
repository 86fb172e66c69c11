# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 lab`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docsis_cli import app
from docsis_labs.doctor import Finding
from docsis_labs.exercise import LABS
from docsis_labs.sandbox import sandbox
from docsis_labs.which import exercise_of
from docsis_testbed.errors import TestbedError

CLASSIFY = LABS / "2-classify"

needs_sandbox = pytest.mark.skipif(sandbox.why_not() is not None, reason=str(sandbox.why_not()))


def lab(*arguments: str | int | Path) -> tuple[int, str]:
    """Exit status and output; what a user is told of errors is raised."""
    result = CliRunner().invoke(app, ["lab", *map(str, arguments)])
    if isinstance(result.exception, TestbedError):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_copy_has_no_solution_and_is_checked_where_it_is(here: Path) -> None:
    status, words = lab("start", 2)
    assert status == 0
    assert "2-classify/modem.yaml" in words
    copy = here / "2-classify"
    names = {path.name for path in copy.iterdir()}
    assert names == {"README.md", "Makefile", "modem.yaml", "topology.yaml", "images"}
    status, words = lab("check", 2, "--json")
    assert status == 1
    document = json.loads(words[words.index("{") :])
    assert document["points"] == 10
    shutil.copy(CLASSIFY / "solution" / "modem.yaml", copy)
    status, words = lab("check", 2)
    assert (status, words.splitlines()[-1]) == (0, "100 of 100 points")


def test_nobody_s_work_is_overwritten(here: Path) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "modem.yaml").write_text("my work")
    with pytest.raises(TestbedError, match="your work in it stays"):
        lab("start", 2, "mine")
    assert (here / "mine" / "modem.yaml").read_text() == "my work"
    (here / "file").write_text("")
    with pytest.raises(TestbedError, match="no folder"):
        lab("start", 2, "file")
    (here / "empty").mkdir()
    assert lab("start", 2, "empty")[0] == 0


@pytest.mark.usefixtures("here")
def test_what_is_not_there_is_told() -> None:
    with pytest.raises(TestbedError, match="there is no exercise 99; there are 1, 2"):
        lab("start", 99)
    with pytest.raises(TestbedError, match="docsis-p4 lab start 2"):
        lab("check", 2)
    with pytest.raises(TestbedError, match="not a folder"):
        lab("check", 2, "--folder", "nowhere")


@needs_sandbox
def test_a_class_is_what_was_meant_before_anything_is_graded(here: Path) -> None:
    with pytest.raises(TestbedError, match="^nowhere, nobody: there is no such folder"):
        lab("grade", "nowhere", "nobody", here, "--exercise", 2)
    for folder in ("empty", "a/same", "b/c/same", "b/d"):
        (here / folder).mkdir(parents=True)
    with pytest.raises(TestbedError, match="say which one it is with --exercise"):
        lab("grade", "empty")
    (here / "file").write_text("")
    (here / "link").symlink_to("empty")
    with pytest.raises(TestbedError, match="^file, link: not a folder"):
        lab("grade", "file", "link", "--exercise", 2)
    with pytest.raises(TestbedError, match="a/same and b/c/same would both be the submission same"):
        lab("grade", "a/same", "b/c/same", "b/d", "--exercise", 2)
    with pytest.raises(TestbedError, match="empty and empty would both be the submission empty"):
        lab("grade", "empty", "empty", "--exercise", 2)
    with pytest.raises(TestbedError, match="^/ has no name"):
        lab("grade", "/", "--exercise", 2)


@needs_sandbox
def test_a_submission_that_cannot_be_looked_at_is_told(here: Path) -> None:
    with pytest.raises(TestbedError, match=r"cannot be looked at \(File name too long\)"):
        exercise_of([here / (300 * "x")])


def test_submissions_with_folders_of_one_name_have_the_names_above(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("anna", "bert"):
        shutil.copytree(CLASSIFY / "solution", here / name / "2-classify")
    (here / "grades.csv").write_text("")
    given = ("anna/2-classify", "bert/2-classify", "grades.csv")
    status, words = lab("grade", *given, "--format", "gradescope", "--out", "all", "--seconds", 300)
    assert status == 0
    assert {file.name for file in (here / "all").iterdir()} == {"anna.json", "bert.json"}
    assert "as a submission is a folder: grades.csv" in words + capfd.readouterr().err
    monkeypatch.chdir(here / "anna")
    lab("grade", ".", "--format", "gradescope", "--out", here / "one", "--exercise", 2)
    assert [file.name for file in (here / "one").iterdir()] == ["anna.json"]


def test_without_a_sandbox_only_one_s_own_files_run(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sandbox, "why_not", lambda: "there is none")
    monkeypatch.setattr("docsis_labs.sandbox.sandbox.why_not", lambda: "there is none")
    shutil.copytree(CLASSIFY / "solution", here / "anna")
    with pytest.raises(TestbedError, match="in a sandbox only, and there is none"):
        lab("grade", "anna")
    status, words = lab("check", 2, "--folder", "anna")
    assert status == 0
    assert "without a sandbox" in words + capfd.readouterr().err


@needs_sandbox
def test_a_class_in_all_formats(here: Path) -> None:
    shutil.copytree(CLASSIFY / "solution", here / "Anna_17_assignsubmission_file_")
    shutil.copytree(CLASSIFY / "mistakes" / "udp-too", here / "Bert_18_assignsubmission_file_")
    folders = sorted(here.iterdir())
    status, words = lab("grade", *folders, "--format", "moodle", "--seconds", 300)
    assert status == 0
    assert "Participant 17,Anna,100.00,100.00" in words
    assert "Participant 18,Bert,75.00,100.00" in words
    status, _ = lab("grade", *folders, "--format", "gradescope", "--out", "all", "--seconds", 300)
    assert status == 0
    scores = [json.loads(file.read_text())["score"] for file in sorted((here / "all").iterdir())]
    assert scores == [100, 75]
    with pytest.raises(TestbedError, match="give --out FOLDER"):
        lab("grade", *folders, "--format", "gradescope")


def test_the_doctor_says_how_to_get_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docsis_labs.doctor.find_compiler", lambda: None)
    status, words = lab("doctor")
    assert status == 1
    assert "p4lang-p4c" in words
    assert "docker" not in words
    assert "sandbox" in words


def test_the_doctor_fails_only_where_an_exercise_cannot_be_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        Finding("virtual time", True, "is built", "all exercises", in_exercises=True),
        Finding("sandbox", False, "is missing", "lab grade"),
        Finding("Mininet", False, "is missing", "make run"),
    ]
    monkeypatch.setattr("docsis_labs.doctor.findings", lambda: found)
    status, words = lab("doctor")
    assert status == 0
    assert "no  sandbox (for lab grade): is missing." in words


def test_all_are_listed() -> None:
    _, words = lab("list")
    assert "Measure bufferbloat" in words
    assert "modem.yaml" in words


def test_a_path_is_not_broken_at_the_terminal_s_width(here: Path) -> None:
    folder = here / ("long-" * 20)
    shutil.copytree(LABS / "1-bufferbloat" / "solution", folder)
    status, words = lab("run", 1, "--folder", folder)
    assert status == 0
    assert f"are in {folder}/run/round-trips.csv and .svg." in words


def test_what_root_made_in_a_run_is_given_back(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Path] = []
    monkeypatch.setattr("docsis_labs.giving_back.give_back", given.append)
    shutil.copytree(CLASSIFY / "solution", here / "anna")
    assert lab("run", 2, "--folder", "anna")[0] == 0
    (here / "anna" / "modem.yaml").write_text("- 1\n")
    with pytest.raises(TestbedError):
        lab("run", 2, "--folder", "anna")
    assert given == [here / "anna" / "run"] * 2
