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
