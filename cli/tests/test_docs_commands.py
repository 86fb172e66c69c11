# SPDX-License-Identifier: Apache-2.0
"""The commands of the documentation do what the pages say.

Those of a page run one after the other in a folder of their own with the project's topologies.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documentation import DOCS, ROOT, Command, File, pages, steps

PAGES = [page for page in pages() if any(True for _ in steps(page))]

# Each plays so many runs that it takes 10 to 30 s of a processor; the tutorials' pages stay.
LONG = {DOCS / "how-to" / f"{name}.md" for name in ("command-line", "flent", "topologies")}

# As the installed program, but results go to the folder.
PROGRAM = """#!{python}
from pathlib import Path
import docsis_testbed.paths
docsis_testbed.paths.RESULTS = Path({results!r})
import docsis_cli
docsis_cli.main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as the reader's clone: with topologies, results, and the program on PATH."""
    (tmp_path / "topologies").symlink_to(ROOT / "topologies")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "docsis-p4"
    program.write_text(PROGRAM.format(python=sys.executable, results=str(tmp_path / "results")))
    python = tmp_path / "bin" / "python"
    # Not a link, which would not find the environment's packages.
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for file in (program, python):
        file.chmod(0o755)
    return tmp_path


def test_there_are_some() -> None:
    assert {DOCS / "tutorials" / "quickstart.md", *LONG} <= set(PAGES)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long if page in LONG else ()) for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_commands_of(page: Path, folder: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
    }
    for step in steps(page):
        if isinstance(step, File):
            path = folder / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, "utf-8")
            continue
        ended = subprocess.run(
            ["bash", "-c", step.words],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        where = f"{page.relative_to(ROOT)}:{step.line}: {step.words}"
        assert ended.returncode == step.status, f"{where}\n{ended.stdout}"
        assert not _missing(step, ended.stdout), f"{where}\n{_missing(step, ended.stdout)}"


def _missing(command: Command, output: str) -> str:
    """Returns the first line that the page shows and the command did not print where it should."""
    printed = iter(output.splitlines())
    for shown in command.prints:
        pattern = ".*".join(re.escape(part) for part in shown.split("..."))
        if not any(re.fullmatch(pattern, line.rstrip()) for line in printed):
            return f"the page shows: {shown}\nthe command printed:\n{output}"
    return ""
