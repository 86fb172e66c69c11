# SPDX-License-Identifier: Apache-2.0
"""P4: compiled by p4c, then the PTF suite, then the pipeline's tests in virtual time.

Compiling takes longer than most tests. So the modem's program is compiled first, and that of the
CMTS where a step needs it.
"""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from docsis_testbed import p4build
from docsis_testbed.errors import TestbedError

from docsis_mutants import near
from docsis_mutants.ptf_steps import Subject, Suite, unchanged
from docsis_mutants.rust_steps import CargoTest
from docsis_mutants.site import Site
from docsis_mutants.steps import Failure, last_line
from docsis_mutants.tree import Tree, TreeError

_MODEM: Final = "cm"
_CMTS: Final = "cmts"
_ENDS: Final = (".json", ".p4info.txtpb")


class P4Compiler:
    """p4c, into a folder of its own."""

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
        """See `Compiler`; the CMTS's program is the unchanged one for now."""
        built = unchanged(tree).programs
        for end in _ENDS:
            shutil.copy2(built / f"{_CMTS}{end}", self.subject(tree).programs)
        return self.compiled(tree, _MODEM)

    def compiled(self, tree: Tree, program: str) -> str | None:
        """Compiles one program of the copy's present sources; what p4c says if it refuses."""
        folder = self.subject(tree).programs
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                p4build.compile_programs(
                    self._compiler, folder, tree.root / "p4src", names=(program,)
                )
        except TestbedError as error:
            return last_line(str(error), "error:")
        return None

    def subject(self, tree: Tree) -> Subject:
        """The programs compiled last, with the unchanged switch."""
        return Subject(tree.folder("programs"), tree.switch)

    def restore(self, tree: Tree) -> None:
        """See `Compiler`; what the commit has was never overwritten for long."""


class PtfModules:
    """PTF modules, which the mutated file chooses."""

    def __init__(
        self, name: str, choose: Callable[[str], list[str]], compiler: P4Compiler, suite: Suite
    ) -> None:
        """Takes what the step is called, and what makes the suite's selection of a file's path."""
        self.name = name
        self._choose = choose
        self._compiler = compiler
        self._suite = suite

    def baseline(self, tree: Tree) -> Failure | None:
        """See `Step`; the suite looks at the unchanged tree where a test has failed."""
        return None

    def failure(self, tree: Tree, site: Site) -> Failure | None:
        """See `Step`."""
        selection = self._choose(site.file)
        # A selection that only leaves modules out has the CMTS's among the others.
        has_cmts = _CMTS in selection or all(word.startswith("^") for word in selection)
        if has_cmts and (said := self._compiler.compiled(tree, _CMTS)):
            return Failure("p4c", said)
        return self._suite.failure(tree, self._compiler.subject(tree), selection)


def _others(file: str) -> list[str]:
    """All but the nearest modules, of which those run again that the CMTS's program may fail."""
    return [f"^{name}" for name in near.ptf_modules(file) if name not in near.WITH_CMTS]


class VirtualTime:
    """The pipeline's tests in virtual time, which read the programs from the copy."""

    def __init__(self, compiler: P4Compiler) -> None:
        self._compiler = compiler
        self._tests = CargoTest("device")
        self.name = self._tests.name

    def baseline(self, tree: Tree) -> Failure | None:
        """See `Step`."""
        return self._tests.baseline(tree)

    def failure(self, tree: Tree, site: Site) -> Failure | None:
        """See `Step`."""
        built, kept = unchanged(tree).programs, tree.folder("kept")
        names = [f"{program}{end}" for program in (_MODEM, _CMTS) for end in _ENDS]
        _copy(names, built, kept)
        _copy(names, self._compiler.subject(tree).programs, built)
        try:
            return self._tests.failure(tree, site)
        finally:
            _copy(names, kept, built)


def _copy(names: list[str], there: Path, here: Path) -> None:
    for name in names:
        shutil.copy2(there / name, here / name)


def steps(compiler: P4Compiler, suite: Suite) -> tuple[PtfModules, VirtualTime, PtfModules]:
    """The steps, in order; virtual time has no clock, so it is quicker than the whole suite."""
    nearest = PtfModules("nearest PTF modules", near.ptf_modules, compiler, suite)
    others = PtfModules("other PTF modules", _others, compiler, suite)
    return nearest, VirtualTime(compiler), others
