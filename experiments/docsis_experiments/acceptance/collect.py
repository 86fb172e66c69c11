# SPDX-License-Identifier: Apache-2.0
"""Makes the runs that are not there yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from docsis_experiments.acceptance import sources
from docsis_experiments.acceptance.cases import Case
from docsis_experiments.acceptance.kept import Kept, Shelf
from docsis_experiments.acceptance.values import document
from docsis_experiments.runs.sources import unchanged
from docsis_experiments.stages.stage import Stage
from docsis_testbed.errors import TestbedError

Told = Callable[[str], None]
"""Called with what is being made, before each run."""


@dataclass(frozen=True)
class Stages:
    """The stages on which runs are played.

    Attributes:
        mininet: In real time; made only where a run is missing, so that those who have no Mininet
            may compare.
        virtual: In virtual time, of a seed.
    """

    mininet: Callable[[], Stage]
    virtual: Callable[[int], Stage]


@dataclass(frozen=True)
class Wanted:
    """How many runs of each case there are to be.

    Attributes:
        mininet: Valid ones on Mininet.
        seeds: In virtual time: of the seeds from 1 up to this.
    """

    mininet: int
    seeds: int


@dataclass(frozen=True)
class Collected:
    """The runs of a case.

    Attributes:
        case: What was played.
        mininet, virtual: Those of either stage.
    """

    case: Case
    mininet: Shelf
    virtual: Shelf

    @staticmethod
    def of(case: Case, results: Path) -> Collected:
        """Those that are there."""
        return Collected(
            case,
            Shelf(results, case.name, "mininet", sources.key(case, "mininet")),
            Shelf(results, case.name, "virtual", sources.key(case, "virtual")),
        )

    def missing_seeds(self, wanted: Wanted) -> list[int]:
        """Seeds of which there is no run."""
        there = {kept.unit for kept in self.virtual.runs()}
        return [seed for seed in range(1, wanted.seeds + 1) if _unit(seed) not in there]

    def missing_runs(self, wanted: Wanted) -> int:
        """Runs on Mininet that are to be made, if all are valid."""
        return max(0, wanted.mininet - sum(kept.counts for kept in self.mininet.runs()))


def admit(collected: Collected, stages: Stages, wanted: Wanted) -> None:
    """Refuses what cannot be played of what is missing, before anything is made.

    Raises:
        TestbedError: What cannot be played, why, and what to do.
    """
    if seeds := collected.missing_seeds(wanted):
        collected.case.admit(stages.virtual(seeds[0]))
    if collected.missing_runs(wanted):
        collected.case.admit(stages.mininet())


def collect(collected: Collected, stages: Stages, wanted: Wanted, told: Told) -> None:
    """Makes what is missing; each run is kept as soon as it is whole.

    A run on Mininet during which the machine was not quiet is made again, as many times in one
    sitting as runs are wanted.

    Raises:
        TestbedError: A run could not be made; those before are kept.
    """
    case = collected.case
    for seed in collected.missing_seeds(wanted):
        told(f"{case.name}: seed {seed} of {wanted.seeds}")
        _play(case, stages.virtual(seed), collected.virtual, _unit(seed))
    left = wanted.mininet
    while missing := collected.missing_runs(wanted):
        again = "" if left == wanted.mininet else f", {wanted.mininet - left} repeated"
        told(f"{case.name}: Mininet {wanted.mininet - missing + 1} of {wanted.mininet}{again}")
        shelf = collected.mininet
        if not _play(case, stages.mininet(), shelf, shelf.next_unit()).counts:
            left -= 1
            if left == 0:
                return


def _unit(seed: int) -> str:
    return f"seed-{seed}"


def _play(case: Case, stage: Stage, shelf: Shelf, unit: str) -> Kept:
    place, before = shelf.place(unit), shelf.whole(unit)
    with unchanged(shelf.stage), (place / "said.txt").open("w") as said:
        try:
            case.play(stage, Console(file=said, width=100), place)
        except TestbedError:
            # A scenario's value beside the published one, or lateness: the results are written.
            if shelf.whole(unit) == before:
                raise
    folder = shelf.whole(unit)
    assert folder is not None, "a job leaves its folder"
    why = "; ".join(document(folder, "summary.json")["no_verdict"])
    kept = Kept(unit, folder.name, counts=not why, why=why)
    shelf.keep(kept)
    return kept
