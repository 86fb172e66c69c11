# SPDX-License-Identifier: Apache-2.0
"""What is run against a mutant: first whether it compiles, then tests, the nearest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from docsis_mutants.site import Site
from docsis_mutants.tree import Tree

TIMES_LONGER: Final = 5.0
"""A mutant may take that much longer than the unchanged tree did."""
SECONDS_LONGER: Final = 60.0
"""And so much more, since the machine is not ours alone."""


@dataclass(frozen=True)
class Failure:
    """Why a step was not passed.

    Attributes:
        test: The test that failed, or what stands for it.
        words: What it said, in a line.
    """

    test: str
    words: str = ""

    def __str__(self) -> str:
        return f"{self.test}: {self.words}" if self.words else self.test


class Step(Protocol):
    """A part of the tests.

    Attributes:
        name: What the record calls it.
    """

    name: str

    def baseline(self, tree: Tree) -> Failure | None:
        """Runs its tests against the unchanged tree, which have to pass; done once."""
        ...

    def failure(self, tree: Tree, site: Site) -> Failure | None:
        """Runs its tests against a mutant; None: all of them passed."""
        ...


class Compiler(Protocol):
    """Compiles a mutant, or finds that it does not compile."""

    def refused(self, tree: Tree, text: str) -> str | None:
        """What the compiler says of a mutant with this text; None: it compiles."""
        ...

    def restore(self, tree: Tree) -> None:
        """Behind a mutant: leaves nothing of it where the next step would find it."""
        ...


def limit(baseline_seconds: float) -> float:
    """Seconds that a mutant may take where the unchanged tree took `baseline_seconds`."""
    return TIMES_LONGER * baseline_seconds + SECONDS_LONGER


def time_is_over(seconds: float) -> Failure:
    """The failure of a mutant that hangs."""
    return Failure("time", f"not ended after {seconds:.0f} s")


def last_line(text: str, mark: str = "") -> str:
    """The last line with a mark, shortened; the last of all where there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked: Sequence[str] = [line for line in lines if mark in line] or lines
    return marked[-1][:200] if marked else ""
