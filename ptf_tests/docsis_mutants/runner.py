# SPDX-License-Identifier: Apache-2.0
"""Tries the mutants of a draw one after the other, and records what becomes of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from docsis_mutants import draw, record
from docsis_mutants.areas import Area
from docsis_mutants.record import Outcome, Tried
from docsis_mutants.site import Site
from docsis_mutants.steps import Compiler, Step
from docsis_mutants.tree import Tree, TreeError


@dataclass(frozen=True)
class Trial:
    """How the mutants of an area are tried.

    Attributes:
        compiler: Compiles one.
        steps: The tests, the nearest first.
    """

    compiler: Compiler
    steps: Sequence[Step]


class Runner:
    """Runs a draw, or goes on with it."""

    def __init__(
        self,
        tree: Tree,
        sites: Sequence[Site],
        trials: Mapping[Area, Trial],
        kept: Path,
        say: Callable[[str], None],
    ) -> None:
        """Prepares a run.

        Args:
            tree: The copy that is mutated.
            sites: All sites, of the list.
            trials: For each area how its mutants are tried.
            kept: The record.
            say: Told of each mutant in a line.
        """
        self._tree = tree
        self._sites = sites
        self._trials = trials
        self._kept = kept
        self._say = say
        self._passed: set[int] = set()

    @property
    def commit(self) -> str:
        """The commit that is mutated, abbreviated."""
        return self._tree.commit

    def run(self, seed: int, counts: Mapping[Area, int], *, survivors: bool = False) -> None:
        """Tries the mutants that have no outcome yet, until each area has its number of them.

        Args:
            seed: Of the draw.
            counts: How many mutants that compile each area has.
            survivors: Tries those again that have survived.

        Raises:
            TreeError: A test fails against the unchanged tree.
        """
        record.mend(self._kept)
        for area in (area for area in counts if area in self._trials):
            trial = self._trials[area]
            drawn = self._begun(area, seed, counts[area], survivors=survivors)
            # Step by step for all of them: the nearest tests take seconds, and catch most.
            for number in range(1, len(trial.steps)):
                for at, tried in enumerate(drawn):
                    if tried.outcome is Outcome.WAITING and tried.passed == number:
                        drawn[at] = self._tried(trial, tried.site, seed, tried)
            trial.compiler.restore(self._tree)

    def _begun(self, area: Area, seed: int, count: int, *, survivors: bool) -> list[Tried]:
        """Mutants that compile, as many as asked for, with what is known behind the first step."""
        known = record.latest(record.read(self._kept), seed)
        found: list[Tried] = []
        for site in draw.order(self._sites, area, seed):
            if len(found) == count:
                break
            tried = known.get(site.key)
            if tried is None or (survivors and tried.outcome is Outcome.SURVIVED):
                tried = self._tried(self._trials[area], site, seed, None)
            if tried.outcome is not Outcome.NOT_COMPILED:
                found.append(tried)
        return found

    def _tried(self, trial: Trial, site: Site, seed: int, before: Tried | None) -> Tried:
        """Tries a mutant in its next step, and records what became of it."""
        number = before.passed if before else 0
        step = trial.steps[number]
        self._require_baseline(trial.compiler, step)
        begun = time.monotonic()
        outcome, words = self._outcome(trial, step, site)
        passed = number + (outcome is Outcome.WAITING)
        if passed == len(trial.steps):
            outcome = Outcome.SURVIVED
        tried = Tried(
            site=site,
            seed=seed,
            outcome=outcome,
            step=step.name if outcome is Outcome.CAUGHT else "",
            words=words,
            seconds=round(time.monotonic() - begun + (before.seconds if before else 0.0), 1),
            commit=self._tree.commit,
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            passed=passed,
        )
        record.add(self._kept, tried)
        self._say(told(tried))
        return tried

    def _outcome(self, trial: Trial, step: Step, site: Site) -> tuple[Outcome, str]:
        with self._tree.mutant(site) as text:
            said = trial.compiler.refused(self._tree, text)
            if said is not None:
                return Outcome.NOT_COMPILED, said
            failure = step.failure(self._tree, site)
        if failure is not None:
            return Outcome.CAUGHT, str(failure)
        return Outcome.WAITING, ""

    def _require_baseline(self, compiler: Compiler, step: Step) -> None:
        if id(step) in self._passed:
            return
        compiler.restore(self._tree)
        self._say(f"unchanged tree {self._tree.commit}: {step.name}")
        failure = step.baseline(self._tree)
        if failure is not None:
            raise TreeError(
                f"{step.name} fails against the unchanged tree {self._tree.commit} ({failure}); "
                "mutants tell nothing before that is mended"
            )
        self._passed.add(id(step))


def told(tried: Tried) -> str:
    """A mutant and its outcome in a line."""
    site = tried.site
    change = f"{_short(site.before)} -> {_short(site.after)}"
    by = f" by {tried.step}, {tried.words}" if tried.step else f" {tried.words}".rstrip()
    return (
        f"{site.file}:{site.line}:{site.column} {site.operator}: {change}: {tried.outcome}{by} "
        f"({tried.seconds:.0f} s)"
    )


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 40 else f"{flat[:37]}..."


def caught(tried: Iterable[Tried]) -> tuple[int, int]:
    """How many were caught, and how many there were that compile."""
    compiled = [each for each in tried if each.outcome is not Outcome.NOT_COMPILED]
    return sum(each.outcome is Outcome.CAUGHT for each in compiled), len(compiled)
