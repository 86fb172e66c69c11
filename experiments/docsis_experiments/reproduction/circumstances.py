# SPDX-License-Identifier: Apache-2.0
"""When, where and from which commit results were made."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from docsis_control.project_files import INSTALLED
from docsis_experiments.reproduction.costs.ledger import machine
from docsis_experiments.runs import sources
from docsis_experiments.runs.sources import StageName
from docsis_testbed.paths import ROOT

_CHANGED = "+changes"
_PROGRAM = (".", ":(exclude)docs/results")
"""The files whose changes count. Published results are not part of the program."""
_FOLDERS = ("control_plane", "experiments", "mininet", "p4src", "switch")
"""A new file in one of these folders belongs to the program before git tracks it: rows and metrics
are found by looking into folders."""


@dataclass(frozen=True)
class Circumstances:
    """The circumstances of a sitting.

    Attributes:
        date: ISO 8601 with the time zone.
        commit: The program's commit, with "+changes" where it has some that are in no commit.
        machine: What it is called, and what it has.
        sources: What made the runs: hashes, and versions.
    """

    date: str
    commit: str
    machine: str
    sources: Mapping[str, str]

    def as_data(self) -> dict[str, Any]:
        """Returns it as results.json has it."""
        return {
            "date": self.date,
            "commit": self.commit,
            "machine": self.machine,
            "sources": dict(self.sources),
        }


def now(stage: StageName) -> Circumstances:
    """The circumstances of this moment.

    Raises:
        TestbedError: The code cannot be read.
    """
    parts = sources.parts(stage)
    return Circumstances(
        datetime.now().astimezone().isoformat(timespec="seconds"),
        _commit() or parts["code"][:10],
        machine(),
        parts,
    )


def _commit() -> str:
    """The commit that is checked out; "" where git does not tell, or there is no clone."""
    if INSTALLED:
        return ""
    found = _git("rev-parse", "--short=10", "HEAD")
    if not found:
        return ""
    known = _git("status", "--porcelain", "--untracked-files=no", "--", *_PROGRAM)
    new = _git("ls-files", "--others", "--exclude-standard", "--", *_FOLDERS)
    # If git fails there may be changes, so the commit is marked as if there were.
    return found if known == new == "" else f"{found}{_CHANGED}"


def _git(*arguments: str) -> str | None:
    """Runs git in the clone, and returns its output; None if it fails."""
    try:
        ended = subprocess.run(
            ["git", "-C", str(ROOT), *arguments],
            capture_output=True, text=True, check=False, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None
