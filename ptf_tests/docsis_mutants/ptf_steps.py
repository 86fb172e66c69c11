# SPDX-License-Identifier: Apache-2.0
"""The PTF suite on the embedded switch, up to the first test that catches a mutant.

The suite has a clock, so a test that failed has to fail once more against the same mutant, and to
pass against the unchanged switch and program. Where it does not it has caught nothing, and the
others are run without it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_mutants.steps import Failure, last_line, time_is_over
from docsis_mutants.tree import Tree
from docsis_ptf.verdicts import Outcome, Verdict

SECONDS: Final = 3600.0
"""The longest time for the suite, which takes four minutes where nothing else runs."""

_MOST_DOUBTFUL: Final = 5
_BAD: Final = (Outcome.FAILED, Outcome.NOT_RUN)
_SUITE: Final = "the suite itself"
_TIME: Final = "time"
_QUICK: Final = "forwarding"
"""A module to run against the unchanged switch where no test failed, but the suite did."""


@dataclass(frozen=True)
class Subject:
    """What the suite is run against.

    Attributes:
        programs: Folder with the compiled programs.
        switch: The switch's executable.
    """

    programs: Path
    switch: Path


def unchanged(tree: Tree) -> Subject:
    """The programs that the commit has, and the clone's switch."""
    return Subject(tree.root / "p4src" / "build", tree.switch)


class Suite:
    """The suite, as all steps of a run share it: a test is tried unchanged once."""

    def __init__(self) -> None:
        self._sound: dict[str, bool] = {}

    def failure(self, tree: Tree, subject: Subject, words: Sequence[str]) -> Failure | None:
        """Runs a selection without the long tests; the first failure that stands."""
        without: list[str] = []
        doubtful = 0
        while doubtful < _MOST_DOUBTFUL:
            selection = [*words, "^long", *(f"^{test}" for test in without)]
            failure, passed = self._run(tree, subject, selection)
            if failure is None:
                return None
            alone = selection if failure.test in (_TIME, _SUITE) else [failure.test]
            again, _ = self._run(tree, subject, alone)
            if again is not None and self._passes_unchanged(tree, failure.test):
                return failure
            doubtful += 1
            # It goes on behind those that have passed.
            without += passed if alone is selection else [*passed, failure.test]
        return None

    def _passes_unchanged(self, tree: Tree, test: str) -> bool:
        if test not in self._sound:
            word = _QUICK if test in (_TIME, _SUITE) else test
            self._sound[test] = self._run(tree, unchanged(tree), [word])[0] is None
        return self._sound[test]

    def _run(
        self, tree: Tree, subject: Subject, words: Sequence[str]
    ) -> tuple[Failure | None, list[str]]:
        """The first failure, and the tests that passed or were skipped before it."""
        folder = tree.folder("ptf")
        shutil.rmtree(folder)
        folder.mkdir()
        ended = tree.run(
            [
                *(str(tree.python), "-m", "docsis_ptf.runner", "--results", str(folder)),
                *("--programs", str(subject.programs), *words),
            ],
            SECONDS,
            variables={"DOCSIS_SWITCH": str(subject.switch)},
            enough=lambda: bool(_failed(folder)),
        )
        failed = _failed(folder)
        passed = [each.test for each in _verdicts(folder) if each.outcome not in _BAD]
        if failed:
            return failed[0], passed
        if ended.status is None and not ended.stopped:
            return time_is_over(SECONDS), passed
        if ended.status:
            # A selection of nothing is one that has all been run.
            left = "leaves no test" not in ended.output
            failure = Failure(_SUITE, last_line(ended.output, "ptf:"))
            return (failure if left else None), passed
        return None, passed


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
        if each.outcome in _BAD
    ]
