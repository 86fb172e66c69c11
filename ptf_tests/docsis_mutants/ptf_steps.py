# SPDX-License-Identifier: Apache-2.0
"""The PTF suite on the embedded switch, up to the first test that fails and fails again.

The suite has a clock, so a test that failed runs once more against the same mutant. One that passes
then has caught nothing, and the others are run without it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from docsis_mutants import near
from docsis_mutants.site import Site
from docsis_mutants.steps import Failure, last_line, limit, time_is_over
from docsis_mutants.tree import Tree
from docsis_ptf.verdicts import Outcome, Verdict

_FIRST_SECONDS: Final = 3600.0
_START_SECONDS: Final = 30.0
"""Beside the tests: the namespace, the switch, what the machine's timers are worth."""
_MOST_UNCONFIRMED: Final = 3
_SUITE: Final = "the suite itself"


class Suite:
    """The suite, as all steps of a run share it: how long its tests take is measured once."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._known: Failure | None = None

    def baseline(self, tree: Tree) -> Failure | None:
        """Runs all of it but the long tests against the unchanged tree, once."""
        if not self._seconds and self._known is None:
            self._known, folder = self._run(tree, ["^long"], _FIRST_SECONDS, first=False)
            self._seconds = {each.test: each.seconds for each in _verdicts(folder)}
        return self._known

    def failure(self, tree: Tree, words: Sequence[str]) -> Failure | None:
        """Runs a selection; the failure of a test that failed twice."""
        without: list[str] = []
        for _ in range(_MOST_UNCONFIRMED):
            selection = [*words, "^long", *(f"^{test}" for test in without)]
            seconds = limit(_START_SECONDS + sum(self._seconds.values()))
            failure, _ = self._run(tree, selection, seconds)
            if failure is None:
                return None
            if failure.test in ("time", _SUITE):
                again, _ = self._run(tree, selection, seconds)
                if again is not None:
                    return again
                continue
            again, _ = self._run(tree, [failure.test], seconds)
            if again is not None:
                return again
            without.append(failure.test)
        return None

    def _run(
        self, tree: Tree, words: Sequence[str], seconds: float, *, first: bool = True
    ) -> tuple[Failure | None, Path]:
        folder = tree.folder("ptf")
        shutil.rmtree(folder)
        folder.mkdir()
        ended = tree.run(
            [
                *(str(tree.python), "-m", "docsis_ptf.runner", "--results", str(folder)),
                *("--programs", str(tree.root / "p4src" / "build"), *words),
            ],
            seconds,
            enough=(lambda: bool(_failed(folder))) if first else (lambda: False),
        )
        failed = _failed(folder)
        if failed:
            return failed[0], folder
        if ended.status is None and not ended.stopped:
            return time_is_over(seconds), folder
        if ended.status:
            return Failure(_SUITE, last_line(ended.output, "ptf:")), folder
        return None, folder


class Nearest:
    """The modules nearest to a P4 file."""

    name = "nearest PTF modules"

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    def baseline(self, tree: Tree) -> Failure | None:
        """See `Step`."""
        return self._suite.baseline(tree)

    def failure(self, tree: Tree, site: Site) -> Failure | None:
        """See `Step`."""
        return self._suite.failure(tree, near.ptf_modules(site.file))


class Others:
    """The rest of the suite."""

    name = "other PTF modules"

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    def baseline(self, tree: Tree) -> Failure | None:
        """See `Step`."""
        return self._suite.baseline(tree)

    def failure(self, tree: Tree, site: Site) -> Failure | None:
        """See `Step`."""
        return self._suite.failure(tree, [f"^{name}" for name in near.ptf_modules(site.file)])


def _verdicts(folder: Path) -> list[Verdict]:
    """The verdicts so far; a line that is just being written is left out."""
    path = folder / "verdicts.jsonl"
    if not path.exists():
        return []
    whole, _, _ = path.read_text().rpartition("\n")
    found = (json.loads(line) for line in whole.splitlines())
    return [Verdict(**{**values, "outcome": Outcome(values["outcome"])}) for values in found]


def _failed(folder: Path) -> list[Failure]:
    return [
        Failure(each.test, " ".join(each.words.split())[:200])
        for each in _verdicts(folder)
        if each.outcome in (Outcome.FAILED, Outcome.NOT_RUN)
    ]
