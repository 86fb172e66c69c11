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
        """Tries the mutants that have no outcome yet, until each area has its number.

        Args:
            seed: Of the draw.
            counts: How many mutants that compile each area has.
            survivors: Tries those again that have survived.

        Raises:
            TreeError: A test fails against the unchanged tree.
        """
        record.mend(self._kept)
        for area in (area for area in counts if area in self._trials):
            known = record.latest(record.read(self._kept), seed)
            compiled = 0
            for site in draw.order(self._sites, area, seed):
                if compiled == counts[area]:
                    break
                tried = known.get(site.key)
                again = survivors and tried is not None and tried.outcome is Outcome.SURVIVED
                if tried is None or again:
                    tried = self._try(site, area, seed)
                    record.add(self._kept, tried)
                    at = f"{area} {min(compiled + 1, counts[area])}/{counts[area]}"
                    self._say(f"{at} {told(tried)}")
                compiled += tried.outcome is not Outcome.NOT_COMPILED
            self._trials[area].compiler.restore(self._tree)

    def _try(self, site: Site, area: Area, seed: int) -> Tried:
        trial = self._trials[area]
        # The first step's tests are known to pass before the first mutant is made.
        self._require_baseline(trial.compiler, trial.steps[0])
        begun = time.monotonic()
        outcome, step, words = self._outcome(site, trial)
        return Tried(
            site=site,
            seed=seed,
            outcome=outcome,
            step=step,
            words=words,
            seconds=round(time.monotonic() - begun, 1),
            commit=self._tree.commit,
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _outcome(self, site: Site, trial: Trial) -> tuple[Outcome, str, str]:
        with self._tree.mutant(site) as mutant:
            said = trial.compiler.refused(self._tree, mutant.text)
            if said is not None:
                return Outcome.NOT_COMPILED, "", said
            for step in trial.steps:
                if id(step) not in self._passed:
                    mutant.take_back()
                    self._require_baseline(trial.compiler, step)
                    mutant.make()
                    trial.compiler.refused(self._tree, mutant.text)
                failure = step.failure(self._tree, site)
                if failure is not None:
                    return Outcome.CAUGHT, step.name, str(failure)
        return Outcome.SURVIVED, "", ""

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
