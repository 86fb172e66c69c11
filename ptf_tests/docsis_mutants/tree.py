# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree to mutate: a commit's files in a temporary folder, with its own builds.

What somebody edits meanwhile is not in it, and the clone that it comes from is never touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from docsis_mutants.processes import Ended, run
from docsis_mutants.site import Site, mutated

_PACKAGES: Final = ("cli", "control_plane", "experiments", "labs", "mininet", "ptf_tests")
_STUBS: Final = "control_plane/docsis_control/gen"
_SWITCH: Final = "switch/target/release/docsis-switch"
_KEPT: Final = ("PATH", "HOME", "LANG", "RUSTUP_HOME", "CARGO_HOME", "USER", "TMPDIR")
_NICE: Final = ("nice", "-n", "10")


class TreeError(Exception):
    """The copy cannot be made; the message says what to do."""


class Tree:
    """A copy of a commit.

    Attributes:
        root: Its folder.
        clone: The clone that it is of.
        commit: The commit, abbreviated.
    """

    def __init__(self, clone: Path, work: Path, commit: str = "HEAD") -> None:
        """Makes the copy in the folder `work`. TreeError: something is missing."""
        self.clone = clone
        self.root = work / "tree"
        self._work = work
        self.commit = _git(clone, "rev-parse", "--short=12", commit)
        self._check_out()
        for name in (_STUBS, _SWITCH):
            if not (clone / name).exists():
                raise TreeError(f"{clone / name} is missing; run `make setup`")
        shutil.copytree(clone / _STUBS, self.root / _STUBS)
        # The environment's own packages are the clone's; PYTHONPATH puts the copy's first.
        (self.root / ".venv").symlink_to(clone / ".venv")
        self.switch = work / "docsis-switch"
        shutil.copy2(clone / _SWITCH, self.switch)

    def _check_out(self) -> None:
        # A clone of its own, since runs tell the commit that they are of; objects are not copied.
        _git(self.clone, "clone", "--quiet", "--shared", "--no-checkout", ".", str(self.root))
        _git(self.root, "checkout", "--quiet", "--detach", self.commit)

    @property
    def python(self) -> Path:
        """The interpreter that the tests run with."""
        return self.root / ".venv" / "bin" / "python"

    def folder(self, name: str) -> Path:
        """A folder beside the copy, made if need be."""
        path = self._work / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def environment(self) -> dict[str, str]:
        """The environment of a test: the copy's packages, builds and switch."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        paths = [str(self.root / name) for name in (*_PACKAGES, _STUBS)]
        return {
            **kept,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
            "CARGO_TARGET_DIR": str(self._work / "target"),
            "CARGO_TERM_COLOR": "never",
            "DOCSIS_SWITCH": str(self.switch),
        }

    def run(
        self,
        arguments: list[str],
        seconds: float,
        place: str = ".",
        variables: Mapping[str, str] | None = None,
        enough: Callable[[], bool] = lambda: False,
    ) -> Ended:
        """Runs a program in the copy, behind other work of the machine (`processes.run`).

        Args:
            arguments: The command line.
            seconds: The longest time that it may take.
            place: The folder that it runs in, from the copy's root.
            variables: More of its environment.
            enough: When it says yes the program is ended.
        """
        return run(
            [*_NICE, *arguments],
            self.root / place,
            {**self.environment(), **(variables or {})},
            self._work / "last.log",
            seconds,
            enough,
        )

    @contextmanager
    def mutant(self, site: Site) -> Iterator[str]:
        """The copy with one change, taken back behind it; yields the mutated text.

        ValueError: The file is not as it was listed.
        """
        path = self.root / site.file
        text = path.read_text()
        changed = mutated(site, text)
        path.write_text(changed)
        try:
            yield changed
        finally:
            path.write_text(text)


def _git(clone: Path, *arguments: str) -> str:
    result = subprocess.run(
        ["git", *arguments], cwd=clone, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise TreeError(f"git {' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout.strip()
