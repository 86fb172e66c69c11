# SPDX-License-Identifier: Apache-2.0
"""The suite's tests as their classes describe themselves, without running any."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from docsis_control.project_files import ROOT

SUITE: Final = ROOT / "ptf_tests" / "suite"


@dataclass(frozen=True)
class Test:
    """One test of the suite.

    Attributes:
        module: The file it is in.
        name: Its class.
        about: The first line of its docstring.
        needs: Abilities that it asks of a target beyond forwarding.
        long: Whether it takes long.
        comparisons: Statistical comparisons that it makes (statistics.py).
    """

    # Not a test case, whatever its name suggests to a test loader.
    __test__ = False

    module: str
    name: str
    about: str
    needs: tuple[str, ...]
    long: bool
    comparisons: int = 0

    @property
    def key(self) -> str:
        """The name that PTF gives it."""
        return f"{self.module}.{self.name}"

    @property
    def groups(self) -> frozenset[str]:
        """Groups by which it can be selected beside its own name."""
        return frozenset({self.module, *self.needs, *(["long"] if self.long else [])})


def load(folder: Path = SUITE) -> tuple[Test, ...]:
    """All tests, by module and then in the order of the file, as PTF runs them."""
    found: list[Test] = []
    for path in sorted(folder.glob("*.py")):
        module = _module(path)
        for name, value in vars(module).items():
            # Base classes are not imported by name: what a module has itself is a test.
            if (
                isinstance(value, type)
                and value.__module__ == module.__name__
                and hasattr(value, "runTest")
            ):
                needs, long = getattr(value, "needs", ()), bool(getattr(value, "long", False))
                about = (value.__doc__ or "").partition("\n")[0]
                compared = int(getattr(value, "comparisons", 0))
                found.append(Test(path.stem, name, about, tuple(needs), long, compared))
    return tuple(found)


def _module(path: Path) -> ModuleType:
    # PTF tells on standard output how it takes frames apart.
    with contextlib.redirect_stdout(io.StringIO()):
        sys.path.insert(0, str(path.parent))
        try:
            return importlib.import_module(path.stem)
        finally:
            sys.path.remove(str(path.parent))
