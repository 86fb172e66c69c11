# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 population`: starts tests, keeps each result as it comes, and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table

from docsis_experiments.experiment.canonical import digest
from docsis_experiments.populations import document, table
from docsis_experiments.populations.models import Population
from docsis_experiments.populations.table import ResultOfTest, result_of
from docsis_experiments.populations.testing import PlannedTest, planned_test, topology_of
from docsis_experiments.reports import folder as run_folder
from docsis_experiments.reports import population_summary, report
from docsis_experiments.reports.plots.subjects import Populated
from docsis_experiments.reports.population_page import opening, shared
from docsis_experiments.reports.words import number
from docsis_experiments.runs import files, other_version
from docsis_experiments.runs.collecting import Player, collect
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.runs.sources import StageName
from docsis_experiments.runs.store import Store
from docsis_experiments.runs.unit import Unit, key
from docsis_experiments.stages.stage import Stage
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS

TABLE: Final = "tests.parquet"
POPULATION: Final = "population.yaml"


@dataclass(frozen=True)
class Place:
    """The place where tests are played.

    Attributes:
        name: Name of the stage.
        stage: Admits them, and tells versions.
        play: Plays them.
    """

    name: StageName
    stage: Stage
    play: Player


def run(
    population: Population,
    *,
    seed: int,
    place: Place,
    console: Console,
    output: Path | None = None,
    results: Path = RESULTS,
    store: Store | None = None,
) -> Path:
    """Play a population's tests, write the results, print the outcome.

    Args:
        population: The subscribers that are tested, and how.
        seed: Seed of the population: others draw other subscribers.
        place: Where its tests are played.
        console: Where progress and the outcome go.
        output: The folder itself, new or empty; one of `results` unless given.
        results: Folder that gets the population's folder.
        store: Has what was played before, and keeps what is played now.

    Returns:
        The population's folder.

    Raises:
        TestbedError: Tests failed (the results of the others are written), or something is missing
            or did not work; what has been played is kept.
    """
    destination = run_folder.Destination(output, results)
    destination.check()
    _admit(population, place)
    kept = Store() if store is None else store
    started = datetime.now()
    planned = _planned(population, seed)
    keys = {test.unit: key(test.unit, place.name) for test in planned}
    there, told = kept.there(keys.values())
    same = digest([test.unit.as_json() for test in planned])
    other = other_version.told(
        kept.folder / "populations", same, "Results of this population", place.name
    )
    for words in filter(None, [*told, other]):
        console.print(words, style="yellow", soft_wrap=True, highlight=False)
    if there:
        console.print(f"{len(there)} of {len(keys)} tests are there already.", highlight=False)
    missing = [unit for unit, one in keys.items() if one not in there]
    failures = collect(missing, place.play, kept, there, console, _words(planned), "tests")
    made = [(test, there[keys[test.unit]]) for test in planned if keys[test.unit] in there]
    folder = _write(population, seed, made, failures, place, started, destination, console)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, highlight=False)
    if failures:
        raise TestbedError(f"{len(failures)} of {len(keys)} tests failed, the first: {failures[0]}")
    return folder


def _admit(population: Population, place: Place) -> None:
    """Each tier with each modem, before anything is played."""
    first = planned_test(population, population.arms[0], 0, 1)
    for entry in population.tiers:
        topology = topology_of(entry.tier, population, 0)
        managers = [modem.manager for modem in population.modems]
        place.stage.admit(topology, managers, first.unit.loaded.scenario)


def _planned(population: Population, seed: int) -> list[PlannedTest]:
    """All arms of the first subscriber, then all of the next: what is compared is made together,
    and a population that is stopped has some tests of every arm."""
    return [
        planned_test(population, arm, seed, test)
        for test in range(1, population.tests + 1)
        for arm in population.arms
    ]


def _words(planned: Sequence[PlannedTest]) -> Mapping[Unit, str]:
    return {test.unit: test.words for test in reversed(planned)}


def _write(
    population: Population,
    seed: int,
    made: Sequence[tuple[PlannedTest, Outcome]],
    failures: Sequence[str],
    place: Place,
    started: datetime,
    destination: run_folder.Destination,
    console: Console,
) -> Path:
    tests = [result_of(test, outcome) for test, outcome in made]
    summary = population_summary.summarise(
        population, tests, failures, place.stage.versions(), seed=seed, stage=place.name
    )
    folder = destination.create(population.name)
    with run_folder.told_if_unfinished(folder, console):
        inputs = folder / "inputs"
        inputs.mkdir()
        document.write(population, seed, inputs / POPULATION)
        table.write(folder / TABLE, tests)
        files.write(folder / files.OUTCOMES, _each_once(made))
        details = run_folder.circumstances(started)
        report.complete(folder, summary, details, Populated(tests))
        folder = run_folder.finish(folder)
    _print(summary, tests, console)
    return folder


def _each_once(made: Sequence[tuple[PlannedTest, Outcome]]) -> list[Outcome]:
    """Arms in which a subscriber has the same modem share an outcome."""
    return list({outcome.key: outcome for _, outcome in made}.values())


def _print(summary: Mapping[str, Any], tests: Sequence[ResultOfTest], console: Console) -> None:
    for words in opening(summary):
        console.print(words, soft_wrap=True, highlight=False)
    if tests:
        console.print(arms_table(summary))


def arms_table(summary: Mapping[str, Any]) -> Table:
    """Medians and shares of each arm, for the terminal; intervals are in the report."""
    result = Table(
        title=f"{summary['title']}; medians over tests",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    result.add_column("arm")
    for words in ("tests", "idle\nms", "mean\nms", "maximum\nms", "Mbit/s"):
        result.add_column(words, justify="right", no_wrap=True)
    for band in summary["bands"]:
        result.add_column(f"mean of\n{band}, %", justify="right")
    for arm in summary["arms"]:
        medians, shares = arm["all"]["medians"], arm["all"]["shares"]["mean"]
        result.add_row(
            arm["label"],
            str(arm["all"]["tests"]),
            *(number(medians[name]["median"]) for name in ("idle", "mean", "max", "goodput")),
            *(shared(one)[0] for one in shares),
        )
    return result
