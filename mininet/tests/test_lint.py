# SPDX-License-Identifier: Apache-2.0
"""The linter looks at all of our code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from docsis_testbed.paths import ROOT

FOLDERS = ("cli", "control_plane", "experiments", "mininet", "ptf_tests")
GENERATED = ROOT / "control_plane" / "docsis_control" / "gen"


def test_no_file_of_ours_is_hidden_from_the_linter() -> None:
    shown = subprocess.run(
        [str(Path(sys.executable).with_name("ruff")), "check", "--show-files", *FOLDERS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ours = {
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if not path.is_relative_to(GENERATED)
    }
    assert ours - {Path(line) for line in shown.splitlines()} == set()
    assert len(ours) > 200
