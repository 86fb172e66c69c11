# SPDX-License-Identifier: Apache-2.0
"""Commands print labels and paths as they are, brackets included."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from docsis_testbed.progress import progress_bar, seconds_left
from docsis_testbed.terminal import terminal

NAMES = "/data/[old]/pie [ecn] [/b]"


def test_brackets_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(NAMES, title=NAMES)
    table.add_row(NAMES)
    console = terminal()
    console.print(f"Report: {NAMES}", soft_wrap=True)
    console.print(table)
    assert capsys.readouterr().out.count(NAMES) == 4
    terminal(stderr=True).print(NAMES)
    assert capsys.readouterr().err == f"{NAMES}\n"
    terminal(quiet=True).print(NAMES)
    assert capsys.readouterr().out == ""


def test_progress_shows_them() -> None:
    out = io.StringIO()
    with progress_bar(Console(file=out, force_terminal=True, width=120)) as bar:
        bar.add_task(NAMES)
    assert NAMES in out.getvalue()


def test_a_log_has_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    clock = [0.0]
    monkeypatch.setattr("docsis_testbed.progress.time.monotonic", lambda: clock[0])
    bar = progress_bar(Console(file=out, width=120))
    bar.get_time = lambda: clock[0]
    task = bar.add_task("starting", total=40)
    for at in range(125):
        clock[0] = at
        bar.update(task, description=f"{NAMES} {at}", completed=at / 10)
    first, second, *none = out.getvalue().splitlines()
    assert first.startswith(f"{NAMES} 60: 0:01:00 gone, about 0:0")
    assert second.startswith(f"{NAMES} 120: 0:02:00 gone")
    assert not none


def test_time_left_is_of_all_that_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("docsis_testbed.progress.time.monotonic", lambda: clock[0])
    bar = progress_bar(Console(file=io.StringIO(), width=120))
    bar.get_time = lambda: clock[0]
    bar.add_task("five hours: 120 works of 300 s on two processors", total=36_000)
    [task] = bar.tasks
    assert seconds_left(task) is None
    for round_of_two in range(1, 61):
        # The two end within a second, and then nothing does for five minutes.
        for at, done in ((300 * round_of_two, -300), (300 * round_of_two + 1, 0)):
            clock[0] = at
            bar.update(task.id, completed=600 * round_of_two + done)
        left = 300 * (60 - round_of_two)
        assert seconds_left(task) == pytest.approx(max(0, left), abs=1 + left / 100)
        clock[0] += 250
        assert seconds_left(task) == pytest.approx(max(0, left - 250), abs=1 + left / 100)


def test_time_left_is_shown() -> None:
    out = io.StringIO()
    with progress_bar(Console(file=out, force_terminal=True, width=120)) as bar:
        task = bar.add_task("nothing done", total=10)
        bar.refresh()
        assert "-:--:--" in out.getvalue()
        bar.update(task, completed=10)
    assert out.getvalue().count("0:00:00") > 1
