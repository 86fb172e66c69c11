# SPDX-License-Identifier: Apache-2.0
"""Rust: tests of a crate by cargo, and the switch built anew for the PTF suite."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import Final

from docsis_mutants import near
from docsis_mutants.ptf_steps import Subject, Suite, unchanged
from docsis_mutants.site import Site
from docsis_mutants.steps import Failure, last_line, limit, time_is_over
from docsis_mutants.tree import Tree

_BUILD_SECONDS: Final = 3600.0
_FIRST_SECONDS: Final = 1800.0
_FAILED: Final = re.compile(r"^test (\S+) (?:- should panic )?\.\.\. FAILED", re.MULTILINE)
_PANIC: Final = "panicked at"
_CRATE: Final = "traffic-manager"


class RustCompiler:
    """cargo, for the crate's library and its tests."""

    def refused(self, tree: Tree, text: str) -> str | None:
        """See `Compiler`."""
        ended = tree.run(_cargo("test", _CRATE, "--no-run"), _BUILD_SECONDS, "switch")
        if ended.status == 0:
            return None
        return last_line(ended.output, "error")

    def restore(self, tree: Tree) -> None:
        """See `Compiler`; cargo compiles anew by itself."""


class CargoTest:
    """The tests of a crate."""

    def __init__(self, crate: str) -> None:
        self.name = f"cargo test -p {crate}"
        self._crate = crate
        self._took = 0.0

    def baseline(self, tree: Tree) -> Failure | None:
        """See `Step`."""
        if said := self._unbuilt(tree):
            return said
        # How long the tests take, and not how long the first build of all crates does.
        begun = time.monotonic()
        failure = self._run(tree, _FIRST_SECONDS)
        self._took = time.monotonic() - begun
        return failure

    def failure(self, tree: Tree, site: Site) -> Failure | None:
        """See `Step`."""
        return self._run(tree, limit(self._took))

    def _unbuilt(self, tree: Tree) -> Failure | None:
        built = tree.run(_cargo("test", self._crate, "--no-run"), _BUILD_SECONDS, "switch")
        return Failure("build", last_line(built.output, "error")) if built.status else None

    def _run(self, tree: Tree, seconds: float) -> Failure | None:
        if said := self._unbuilt(tree):
            return said
        ended = tree.run(_cargo("test", self._crate), seconds, "switch")
        if ended.status is None:
            return time_is_over(seconds)
        if ended.status == 0:
            return None
        failed = _FAILED.search(ended.output)
        if failed is not None:
            return Failure(failed[1], last_line(ended.output, _PANIC))
        return Failure("cargo", last_line(ended.output, "error"))


class SwitchSuite:
    """The switch built of the mutant, and the PTF modules that look at its traffic manager."""

    name = "PTF modules of shaping"

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    def baseline(self, tree: Tree) -> Failure | None:
        """See `Step`; the suite looks at the unchanged switch where a test has failed."""
        return None

    def failure(self, tree: Tree, site: Site) -> Failure | None:
        """See `Step`."""
        target = Path(tree.environment()["CARGO_TARGET_DIR"])
        subject = Subject(unchanged(tree).programs, target / "release" / "docsis-switch")
        return self._built(tree, target) or self._suite.failure(tree, subject, near.SHAPING.split())

    @staticmethod
    def _built(tree: Tree, target: Path) -> Failure | None:
        if (
            not (target / "release").exists()
            and (of := tree.clone / "switch/target/release").exists()
        ):
            # What others wrote is compiled already; cargo compiles ours anew, of the copy.
            shutil.copytree(of, target / "release", symlinks=True)
        ended = tree.run(_cargo("build", "docsis-switch", "--release"), _BUILD_SECONDS, "switch")
        if ended.status:
            return Failure("build", last_line(ended.output, "error"))
        return None


def _cargo(command: str, crate: str, *more: str) -> list[str]:
    return ["cargo", command, "--locked", "--package", crate, *more]


def steps(suite: Suite) -> tuple[CargoTest, CargoTest, SwitchSuite]:
    """The steps of the traffic manager, in order."""
    return CargoTest(_CRATE), CargoTest("device"), SwitchSuite(suite)
