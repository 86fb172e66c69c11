# SPDX-License-Identifier: Apache-2.0
"""The notebooks of the documentation run from their first cell to the last, in virtual time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documentation import DOCS, ROOT

NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))


def cells(notebook: Path) -> list[dict[str, Any]]:
    content = json.loads(notebook.read_text("utf-8"))
    assert content["nbformat"] == 4
    found: list[dict[str, Any]] = content["cells"]
    return found


def test_there_are_some() -> None:
    assert DOCS / "tutorials" / "street.ipynb" in NOTEBOOKS


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_outputs_are_committed(notebook: Path) -> None:
    for cell in cells(notebook):
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_cells_run_one_after_the_other(notebook: Path, tmp_path: Path) -> None:
    code = ["".join(cell["source"]) for cell in cells(notebook) if cell["cell_type"] == "code"]
    assert code
    # As a kernel does: all cells in one namespace, and no file that a worker could import.
    ended = subprocess.run(
        [sys.executable, "-c", "\n\n".join(code)],
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0].endswith('there is a host "laptop" already; give another name')
    assert lines[1].startswith("Drop tail, 250 ms: the game waits ")
    assert (tmp_path / lines[3]).is_file()
    assert lines[-1].endswith(" ms")
