# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 lab`: exercises for a course on queueing or P4."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from docsis_testbed.errors import TestbedError
from docsis_testbed.readable import readable
from docsis_testbed.terminal import terminal

if TYPE_CHECKING:
    from docsis_labs.grading.result import Result

app = typer.Typer(
    name="lab",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Start, run, check and grade exercises about queues.",
)

_CONSOLE = terminal()

_OWN_SECONDS = 60.0
"""Wall time for grading one's own files, on whatever machine."""

_Number = Annotated[int, typer.Argument(metavar="N", help="The exercise's number.")]
_Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        help="Folder with your files. The default is this one, or the exercise's folder in it.",
    ),
]


class Format(StrEnum):
    """The forms of a class's results."""

    TABLE = "table"
    JSON = "json"
    GRADESCOPE = "gradescope"
    MOODLE = "moodle"


@app.command("list")
def listed() -> None:
    """List the exercises."""
    from docsis_labs.exercises import exercises

    table = Table(box=None, header_style="bold")
    for title in ("exercise", "title", "files"):
        table.add_column(title)
    for exercise in exercises().values():
        names = ", ".join(file.name for file in exercise.files)
        table.add_row(str(exercise.number), exercise.title, names)
    _CONSOLE.print(table)


@app.command()
def start(
    number: _Number,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help="New folder for the copy. The default is named after the exercise, here.",
        ),
    ] = None,
) -> None:
    """Copy an exercise into a folder of your own."""
    from docsis_labs import starting
    from docsis_labs.exercises import exercise as numbered

    exercise = numbered(number)
    target = Path(exercise.folder) if folder is None else folder
    starting.start(exercise, target)
    files = ", ".join(str(target / file.name) for file in exercise.files)
    _tell(f"Exercise {number}, {exercise.title}: read {target / 'README.md'}, then edit {files}.")


@app.command()
def run(
    number: _Number,
    folder: _Folder = None,
    mininet: Annotated[
        bool, typer.Option("--mininet", help="Play in Mininet, as root, instead of virtual time.")
    ] = False,
) -> None:
    """Play an exercise with your files, and show what happens."""
    from contextlib import closing

    from docsis_labs import starting
    from docsis_labs.errors import SubmissionError
    from docsis_labs.exercise import RunContext
    from docsis_labs.exercises import exercise as numbered
    from docsis_labs.folder_submission import FolderSubmission
    from docsis_labs.giving_back import give_back
    from docsis_labs.sandbox.sandbox import own_files

    exercise = numbered(number)
    here = starting.folder_of(exercise, folder)
    with closing(FolderSubmission(exercise, here, own_files())) as submission:
        try:
            exercise.run(RunContext(exercise, submission, here, _CONSOLE, mininet))
        except SubmissionError as error:
            raise TestbedError(error.missed.hint) from None
        except FileExistsError as error:
            raise TestbedError(f"{error.filename}: is no folder; move it away") from None
        except PermissionError as error:
            raise TestbedError(
                f"{error.filename}: cannot be written ({error.strerror}); look at whose it is"
            ) from None
        finally:
            # With sudo, `make clean` and the next run without it need what is in there.
            give_back(here / "run")
            _show_printed(submission.printed())


@app.command()
def check(
    number: _Number,
    folder: _Folder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Grade your own files. The exit status is 1 where points are missing."""
    from docsis_labs import starting
    from docsis_labs.exercises import exercise as numbered
    from docsis_labs.grading.grader import grade
    from docsis_labs.sandbox.sandbox import own_files, why_not

    exercise = numbered(number)
    sandbox = own_files()
    if not sandbox.is_one:
        words = f"docsis-p4: your program runs with limits, but without a sandbox: {why_not()}"
        print(words, file=sys.stderr)
    result = grade(exercise, starting.folder_of(exercise, folder), sandbox, _OWN_SECONDS)
    if as_json:
        print(json.dumps(result.document(printed=True), indent=2))
    else:
        _show(result)
    if result.points < sum(criterion.points for criterion in exercise.criteria):
        raise typer.Exit(1)


@app.command("grade")
def graded(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER", help="Folder of each submission.")
    ],
    number: Annotated[
        int | None,
        typer.Option(
            "--exercise",
            metavar="N",
            help="The exercise's number. By default the names of the files tell which one it is.",
        ),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="Format of the results.")] = Format.TABLE,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File for the results. With gradescope it is a folder, which gets a file for each "
            "submission.",
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option("--jobs", min=1, max=64, metavar="NUMBER", help="Grade this many at a time."),
    ] = 1,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            min=1,
            max=600,
            help="Wall time for each submission; give more on a busy machine.",
        ),
    ] = 10,
) -> None:
    """Grade a class's files, each submission in a sandbox.

    A submission gets 10 s of wall time unless --seconds says otherwise.
    """
    from docsis_labs.exercises import exercise as numbered
    from docsis_labs.grading.grader import grade_all
    from docsis_labs.grading.naming import submissions
    from docsis_labs.sandbox.sandbox import sandbox
    from docsis_labs.which import exercise_of

    here = sandbox()
    named, others = submissions(folders)
    exercise = exercise_of([*named.values()]) if number is None else numbered(number)
    if form is Format.GRADESCOPE and out is None and len(named) > 1:
        raise TestbedError("--format gradescope has a file of each submission: give --out FOLDER")
    results = list(grade_all(exercise, named, here, jobs, seconds))
    from docsis_labs.grading import writing

    if form is Format.TABLE:
        _CONSOLE.print(_table(results), soft_wrap=True)
    try:
        text = writing.written(results, form.value, out)
    except OSError as error:
        raise TestbedError(f"{out} cannot be written: {error}") from None
    if text is not None and form is not Format.TABLE:
        sys.stdout.write(text)
    if others:
        names = readable(", ".join(map(str, others)))
        print(f"docsis-p4: not graded, as a submission is a folder: {names}", file=sys.stderr)


@app.command()
def doctor() -> None:
    """Check that everything that exercises need works.

    If something is missing it says how to get it. The exit status is 1 where an exercise cannot be
    done without it.
    """
    from docsis_labs.doctor import findings

    found = findings()
    for finding in found:
        mark = "yes" if finding.found else "no "
        _tell(f"{mark} {finding.what} (for {finding.needed_for}): {finding.text}.")
    if any(finding.in_exercises and not finding.found for finding in found):
        raise typer.Exit(1)


def _show(result: Result) -> None:
    marks = {"passed": "green", "missed": "red", "skipped": "yellow", "by-hand": "yellow"}
    for one in result.criteria:
        points = f"{one.points:3} of {one.of:3}"
        _CONSOLE.print(f"{points}  {one.title}", style=marks[one.status.value])
        if one.text:
            _tell(f"            {one.text}")
        _show_printed(one.printed, indent="            ")
    words = "; the rest has to be graded by hand" if result.by_hand else ""
    _tell(f"{result.points} of {sum(one.of for one in result.criteria)} points{words}")


def _show_printed(printed: str, indent: str = "") -> None:
    """Shows what a student's code printed: as text, whatever stands in it."""
    if not printed.strip():
        return
    from rich.text import Text

    _tell(f"{indent}It printed:")
    for line in readable(printed).rstrip("\n").split("\n"):
        _CONSOLE.print(Text(f"{indent}  {line}"), soft_wrap=True)


def _table(results: list[Result]) -> Table:
    table = Table(box=None, header_style="bold")
    for title in ("submission", "points", "s", "mistakes"):
        table.add_column(title)
    for result in results:
        mistakes = ", ".join(dict.fromkeys(one.mistake for one in result.criteria if one.mistake))
        points = f"{result.points}{' by hand' if result.by_hand else ''}"
        name = "".join(c if c.isprintable() else "?" for c in result.submission)
        table.add_row(name, points, f"{result.processor_seconds:.1f}", mistakes)
    return table


def _tell(words: str) -> None:
    _CONSOLE.print(words, highlight=False, soft_wrap=True)
