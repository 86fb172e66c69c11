# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 sweep`: plays what is not there yet, keeps each result as it comes, and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table

from docsis_control.topology.document import write_topology
from docsis_experiments.experiment.canonical import digest
from docsis_experiments.experiment.document import SCENARIO_FILE, write_scenario
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.reports import folder as run_folder
from docsis_experiments.reports import report, sweep_summary
from docsis_experiments.reports.plots.subjects import Swept
from docsis_experiments.reports.words import number
from docsis_experiments.runs import files, other_version
from docsis_experiments.runs.collecting import Player, collect
from docsis_experiments.runs.store import Store
from docsis_experiments.runs.unit import Unit, key
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_experiments.sweeps import document, table
from docsis_experiments.sweeps.expand import Point
from docsis_experiments.sweeps.loader import LoadedSweep
from docsis_experiments.sweeps.table import Cell
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS

TABLE: Final = "table.parquet"

_SHOWN_POINTS: Final = 40
"""The most points that the table on the terminal shows."""


def run(
    loaded: LoadedSweep,
    *,
    play: Player,
    console: Console,
    results: Path = RESULTS,
    store: Store | None = None,
) -> Path:
    """Play a sweep, write the results, print the table.

    Args:
        loaded: The sweep, its experiment and its points.
        play: Where its runs are played.
        console: Where progress and the table go.
        results: Folder that gets the sweep's folder.
        store: Has what was played before, and keeps what is played now.

    Returns:
        The sweep's folder.

    Raises:
        TestbedError: Runs failed (the results of the others are written), or something is missing
            or did not work; what has been played is kept.
    """
    stage = VirtualStage()
    start = loaded.points[0].condition
    stage.admit(start.topology, [start.run.managed.management], start.scenario)
    kept = Store() if store is None else store
    started = datetime.now()
    planned = _units(loaded)
    keys = [key(unit) for _, _, unit in planned]
    there, told = kept.there(keys)
    same = digest([unit.as_json() for _, _, unit in planned])
    other = other_version.told(kept.folder / "sweeps", same, "Results of this sweep", "virtual")
    for words in filter(None, [*told, other]):
        console.print(words, style="yellow", soft_wrap=True, highlight=False)
    if there:
        console.print(f"{len(there)} of {len(planned)} runs are there already.", highlight=False)
    missing = [unit for (_, _, unit), one in zip(planned, keys, strict=True) if one not in there]
    failures = collect(missing, play, kept, there, console, words_of(planned))
    cells = [
        Cell(point, seed, there[one])
        for (point, seed, _), one in zip(planned, keys, strict=True)
        if one in there
    ]
    folder = _write(loaded, cells, failures, stage.versions(), started, results, console)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, highlight=False)
    if failures:
        raise TestbedError(
            f"{len(failures)} of {len(planned)} runs failed, the first: {failures[0]}"
        )
    return folder


def _units(loaded: LoadedSweep) -> list[tuple[Point, int, Unit]]:
    """All points from the first seed, then all from the next: a sweep that is stopped has some
    runs of every point."""
    return [
        (point, seed, Unit.of(Loaded(point.condition.scenario, point.condition.topology),
                              point.condition.run, seed))
        for seed in loaded.sweep.seeds
        for point in loaded.points
    ]  # fmt: skip


def words_of(planned: Sequence[tuple[Point, int, Unit]]) -> Mapping[Unit, str]:
    """Names each unit for people."""
    return {unit: f"{point.words}, seed {seed}" for point, seed, unit in planned}


def _write(
    loaded: LoadedSweep,
    cells: Sequence[Cell],
    failures: Sequence[str],
    versions: Mapping[str, str],
    started: datetime,
    results: Path,
    console: Console,
) -> Path:
    figures = sweep_summary.summarise(loaded, cells, failures, versions)
    folder = run_folder.create_named(loaded.sweep.name, results)
    with run_folder.told_if_unfinished(folder, console):
        inputs = folder / "inputs"
        inputs.mkdir()
        document.write(loaded.sweep, inputs / "sweep.yaml", SCENARIO_FILE)
        write_scenario(loaded.base.scenario, inputs / SCENARIO_FILE)
        write_topology(loaded.base.topology, inputs / "topology.yaml")
        files.write(folder / files.OUTCOMES, [cell.outcome for cell in cells])
        table.write(folder / TABLE, cells)
        report.complete(folder, figures, run_folder.circumstances(started), Swept(figures))
        folder = run_folder.finish(folder)
    console.print(points_table(figures))
    return folder


def points_table(figures: Mapping[str, Any]) -> Table:
    """Medians over the seeds of every point, for the terminal; intervals are in the report."""
    # Where no group has latency, there may be goodput still.
    group = next(iter(figures["shown"]), None)
    latency = () if group is None else ("p50", "p90", "p99")
    what = "" if group is None else f"latency of {group}, "
    result = Table(
        title=f"{figures['title']}; {what}{_medians(len(figures['seeds']))}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    result.add_column("queue manager")
    for name in figures["axes"]:
        result.add_column(name.replace("_", " ").removesuffix("s"), justify="right")
    for words in (*(f"{name}\nms" for name in latency), "Mbit/s"):
        result.add_column(words, justify="right", no_wrap=True)
    for point in figures["points"][:_SHOWN_POINTS]:
        values = point["groups"].get(group, {})
        shown = [values.get(f"latency {name}") for name in latency]
        result.add_row(
            point["manager"],
            *point["written"].values(),
            *(number(one["median"] if one else None) for one in (*shown, point["goodput"])),
        )
    if (more := len(figures["points"]) - _SHOWN_POINTS) > 0:
        result.caption = f"and {more} more in {TABLE} and the report"
    return result


def _medians(seeds: int) -> str:
    return "one seed" if seeds == 1 else f"medians of {seeds} seeds"
