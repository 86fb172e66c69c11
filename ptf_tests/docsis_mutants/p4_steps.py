# SPDX-License-Identifier: Apache-2.0
"""P4: compiled by p4c, then the PTF suite, then the pipeline's tests in virtual time."""

from __future__ import annotations

import contextlib
import io
import shutil
from pathlib import Path

from docsis_testbed import p4build
from docsis_testbed.errors import TestbedError

from docsis_mutants.ptf_steps import Nearest, Others, Suite
from docsis_mutants.rust_steps import CargoTest
from docsis_mutants.steps import last_line
from docsis_mutants.tree import Tree, TreeError

_PROGRAMS = ("cm", "cmts")


class P4Compiler:
    """p4c, for both programs, into the copy's p4src/build."""

    def __init__(self) -> None:
        """Finds p4c. TreeError: it is not on PATH."""
        found = p4build.find_compiler()
        if found is None:
            raise TreeError(
                "no P4 compiler: neither p4c-bm2-ss nor p4c is on PATH; install p4c, or leave the "
                "pipeline out with AREAS='traffic-manager laws'"
            )
        self._compiler = found

    def refused(self, tree: Tree, text: str) -> str | None:
        """See `Compiler`."""
        scratch = tree.folder("p4")
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                p4build.compile_programs(
                    self._compiler, scratch, tree.root / "p4src", names=_PROGRAMS
                )
        except TestbedError as error:
            return last_line(str(error), "error:")
        for path in scratch.iterdir():
            shutil.copy2(path, self._built(tree))
        return None

    def restore(self, tree: Tree) -> None:
        """See `Compiler`; the programs of the unchanged sources."""
        said = self.refused(tree, "")
        if said is not None:
            raise TreeError(f"p4src/ of {tree.commit} does not compile: {said}")

    @staticmethod
    def _built(tree: Tree) -> Path:
        return tree.root / "p4src" / "build"


def steps(suite: Suite) -> tuple[Nearest, Others, CargoTest]:
    """The steps, in order."""
    return Nearest(suite), Others(suite), CargoTest("device")
