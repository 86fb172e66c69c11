# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 run EXPERIMENT --seeds N` and `--repeat N`: all runs many times, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from docsis_control.topology.document import write_topology
from docsis_experiments.experiment.chosen import chosen_runs
from docsis_experiments.experiment.document import SCENARIO_FILE, write_scenario
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.judging import repeated
from docsis_experiments.judging.repeated import Verdict
from docsis_experiments.repetition.making import Made, Maker, Order
from docsis_experiments.reports import folder as run_folder
from docsis_experiments.runs import files
from docsis_experiments.runs.outcome import Outcome
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import RESULTS
from docsis_testbed.progress import progress_bar


def run(
    loaded: Loaded,
    *,
    maker: Maker,
    numbers: range,
    only: Sequence[str] = (),
    console: Console,
    results: Path = RESULTS,
    output: Path | None = None,
    note: str = "",
) -> Path:
    """Make all runs, or those of them that are not there; write the results, print the tables.

    Args:
        loaded: The experiment and its topology.
        maker: Makes runs.
        numbers: Seeds or repetitions.
        only: Labels of runs, or of a grid's managers; all unless given.
        console: Where progress and tables go.
        results: Folder that gets the result's folder.
        output: The result's folder itself, new or empty, instead of one in `results`.
        note: What the user wants to remember of it; see `reports.note`.

    Returns:
        The result's folder.

    Raises:
        NoVerdict: Values were to be judged, and none is reproduced or contradicted; the results are
            written.
        TestbedError: A value is contradicted (the results are written), or runs could not be made;
            those that were made are kept, and the same command goes on from there.
    """
    destination = run_folder.Destination(output, results)
    destination.check()
    scenario, topology = loaded.scenario, loaded.topology
    runs = chosen_runs(scenario, only)
    stage = maker.stage
    stage.admit(topology, [one.managed.management for one in runs], scenario)
    started, made = datetime.now(), Made()
    made.told += [
        f"{one.label}: without traffic: {'; '.join(load.left_out)}"
        for one in runs
        for load in plan_for(scenario.played(one), topology).loads.values()
        if load.left_out
    ]
    with maker.opened(f"run {scenario.name}", topology):
        # Before anything of ours runs: the machine's own.
        timers = stage.timers()
        folder = destination.create(scenario.name)
        (folder / "inputs").mkdir()
        write_topology(topology, folder / "inputs" / "topology.yaml")
        write_scenario(scenario, folder / "inputs" / SCENARIO_FILE)
        with run_folder.told_if_unfinished(folder, console), progress_bar(console) as bar:
            task = bar.add_task("starting", total=len(runs) * len(numbers))

            def show(words: str, done: float) -> None:
                bar.update(task, description=words, completed=done)

            order = Order(loaded, tuple(runs), numbers, folder, show)
            outcomes = []
            for outcome in maker.make(order, made):
                outcomes.append(outcome)
                _tell(made, console)
            _complete(made, order, output)
            bar.update(task, description="report")
            figures = _written(loaded, maker, order, outcomes, timers, made, started, note)
            folder = run_folder.finish(folder)
            maker.finish(order)
    _show(figures, made, folder, console)
    _judge(figures)
    return folder


def _complete(made: Made, order: Order, output: Path | None) -> None:
    if made.failures:
        other = " with another --output" if output is not None else ""
        raise TestbedError(
            f"{len(made.failures)} of {order.count} runs could not be made, the first: "
            f"{made.failures[0]}; the others are kept, and the same command{other} makes what is "
            "missing"
        )


def _written(
    loaded: Loaded,
    maker: Maker,
    order: Order,
    outcomes: list[Outcome],
    timers: dict[str, Any],
    made: Made,
    started: datetime,
    note: str,
) -> dict[str, Any]:
    """Content of summary.json, once everything is in the folder."""
    # Heavy, and not needed until the runs are there.
    from docsis_experiments.reports import repeated_summary, report
    from docsis_experiments.reports.plots.subjects import Repeated

    scenario, folder, stage = loaded.scenario, order.folder, maker.stage
    places = {run.label: place for place, run in enumerate(order.runs)}
    outcomes.sort(key=lambda one: (places[one.run], one.number))
    files.write(folder / files.OUTCOMES, outcomes)
    figures = repeated_summary.summarise(
        scenario,
        order.runs,
        outcomes,
        repeated.judge(scenario, outcomes),
        numbers=order.numbers,
        words=maker.words,
        target=stage.target,
        topology=loaded.topology,
        versions=stage.versions(),
        timers=timers,
        marks=maker.marks,
        note=note,
    )
    details = {**run_folder.circumstances(started), "kept": made.kept, "told": made.told}
    report.complete(folder, figures, details, Repeated(figures, outcomes))
    return figures


def _show(figures: dict[str, Any], made: Made, folder: Path, console: Console) -> None:
    from docsis_experiments.reports import repeated_tables as tables
    from docsis_experiments.reports.repeated_page import found

    style = tables.STYLES[figures["verdict"]]
    console.print(figures["sentence"], style=style, soft_wrap=True, highlight=False)
    if words := found(figures):
        console.print(words, soft_wrap=True, highlight=False)
    for table in tables.tables(figures):
        console.print(table)
    console.print(tables.method(figures), soft_wrap=True, highlight=False)
    if made.kept:
        console.print(f"{made.kept} runs were there already.", highlight=False)
    _tell(made, console)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, highlight=False)


def _tell(made: Made, console: Console) -> None:
    """Says what has not been said yet: who waits for hours sees that runs are made again."""
    for words in made.news():
        console.print(f"{words}.", soft_wrap=True, highlight=False, style="yellow")


def _judge(figures: dict[str, Any]) -> None:
    """Ends a command whose values are contradicted, or of which none was judged."""
    verdicts = [entry["verdict"] for entry in figures["expectations"]]
    if Verdict.CONTRADICTED in verdicts:
        raise TestbedError(figures["sentence"].rstrip("."))
    if verdicts and Verdict.REPRODUCED not in verdicts:
        raise NoVerdict(figures["sentence"].rstrip("."))
