# SPDX-License-Identifier: Apache-2.0
"""A PTF test catches a mutant where it fails twice, and passes against what is unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from docsis_mutants.ptf_steps import Subject, Suite
from docsis_mutants.steps import Failure
from docsis_mutants.tree import Tree


class FakeTree:
    """Where the unchanged programs and switch are."""

    root = Path("unchanged")
    switch = Path("unchanged/switch")


TREE = cast(Tree, FakeTree())
MUTANT = Subject(Path("programs"), Path("unchanged/switch"))


class Scripted(Suite):
    """A suite whose tests fail as told: by test, how often, and whether unchanged, too."""

    def __init__(self, fails: dict[str, int], unchanged: Sequence[str] = ()) -> None:
        super().__init__()
        self.fails = dict(fails)
        self.unchanged = unchanged
        self.ran: list[tuple[str, ...]] = []

    def _run(
        self, tree: Tree, subject: Subject, words: Sequence[str]
    ) -> tuple[Failure | None, list[str]]:
        self.ran.append(tuple(words))
        if subject is not MUTANT:
            return (Failure(words[0]) if words[0] in self.unchanged else None), []
        for test, left in self.fails.items():
            alone = words == [test]
            if left and (alone or f"^{test}" not in words) and (alone or "^long" in words):
                self.fails[test] -= 1
                return Failure(test, "no frame left"), ["pie.First"]
        return None, []


def test_one_that_fails_twice_catches() -> None:
    suite = Scripted({"pie.Drops": 9})
    assert suite.failure(TREE, MUTANT, ["pie"]) == Failure("pie.Drops", "no frame left")
    assert suite.ran == [("pie", "^long"), ("pie.Drops",), ("pie.Drops",)]


def test_one_that_fails_by_chance_catches_nothing() -> None:
    suite = Scripted({"pie.Drops": 1})
    assert suite.failure(TREE, MUTANT, ["pie"]) is None
    # What has passed is not run again, either.
    assert suite.ran[-1] == ("pie", "^long", "^pie.First", "^pie.Drops")


def test_the_others_run_without_it_and_may_catch() -> None:
    suite = Scripted({"pie.Drops": 1, "pie.Burst": 9})
    found = suite.failure(TREE, MUTANT, ["pie"])
    assert found is not None
    assert found.test == "pie.Burst"


@pytest.mark.parametrize("mutants", [1, 2])
def test_one_that_fails_anyway_catches_nothing(mutants: int) -> None:
    suite = Scripted({"pie.Drops": 9 * mutants}, unchanged=["pie.Drops"])
    for _ in range(mutants):
        assert suite.failure(TREE, MUTANT, ["pie"]) is None
    # What is known of the unchanged switch is not asked for again.
    assert suite.ran.count(("pie.Drops",)) == 1 + mutants


def test_a_suite_that_cannot_run_catches_where_the_unchanged_switch_can_be_tested() -> None:
    suite = Scripted({"the suite itself": 9})
    found = suite.failure(TREE, MUTANT, ["pie"])
    assert found is not None
    assert found.test == "the suite itself"
    assert suite.ran[-1] == ("forwarding",)


def test_what_passes_survives() -> None:
    suite = Scripted({})
    assert suite.failure(TREE, MUTANT, ["^pie"]) is None
    assert suite.ran == [("^pie", "^long")]
