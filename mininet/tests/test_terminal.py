# SPDX-License-Identifier: Apache-2.0
"""Commands print labels and paths as they are, brackets included."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from docsis_testbed.progress import progress_bar
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
