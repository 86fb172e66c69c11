# SPDX-License-Identifier: Apache-2.0
"""Versions of what a virtual run depends on; no program is asked."""

from __future__ import annotations

import platform
from pathlib import Path

from docsis_testbed.paths import ROOT
from docsis_testbed.versions import p4c, package


def collect() -> dict[str, str]:
    """Version by program. What cannot be told is "unknown"."""
    return {
        "docsis-p4": package("docsis-p4"),
        "source": commit(ROOT),
        "p4c": p4c(),
        "docsis-world": _world(),
        "finsy": package("finsy"),
        "numpy": package("numpy"),
        "python": platform.python_version(),
    }


def _world() -> str:
    try:
        import docsis_world
    except ImportError:
        # Results of others are compared and told where nothing can be played, too.
        return "unknown"
    return docsis_world.__version__


def commit(root: Path) -> str:
    """The commit that is checked out, read from git's own files: the first 10 digits of it."""
    try:
        folder = _git_folder(root / ".git")
        head = (folder / "HEAD").read_text().strip()
        name = head.removeprefix("ref: ")
        if name == head:
            return head[:10]
        common = folder / "commondir"
        shared = (folder / common.read_text().strip()).resolve() if common.exists() else folder
        return _resolved(shared, name)[:10]
    except OSError:
        return "unknown"


def _git_folder(path: Path) -> Path:
    """A work tree that is not the first has a file there, which names its folder."""
    if path.is_dir():
        return path
    return (path.parent / path.read_text().strip().removeprefix("gitdir: ")).resolve()


def _resolved(folder: Path, name: str) -> str:
    loose = folder / name
    if loose.exists():
        return loose.read_text().strip()
    for line in (folder / "packed-refs").read_text().splitlines():
        digest, _, ref = line.partition(" ")
        if ref == name:
            return digest
    return "unknown"
