# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 run` and `demo`, each run once: one after the other, and what they left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from docsis_control.config.units import format_duration, format_share
from docsis_control.topology.document import write_topology
from docsis_experiments.experiment.chosen import chosen_runs
from docsis_experiments.experiment.document import SCENARIO_FILE, write_scenario
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.judging import judge
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.timing import MOST_P99_MS
from docsis_experiments.reports import folder as run_folder
from docsis_experiments.reports import report, service_flow_shares
from docsis_experiments.reports import single_summary as summary
from docsis_experiments.reports.plots.subjects import Runs
from docsis_experiments.reports.run_table import run_table
from docsis_experiments.reports.single_page import (
    approximate,
    broken,
    found,
    held_always,
    measured,
)
from docsis_experiments.reports.words import band
from docsis_experiments.stages.mininet import timers
from docsis_experiments.stages.stage import Stage
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import RESULTS
from docsis_testbed.progress import progress_bar


def run(
    loaded: Loaded,
    *,
    stage: Stage,
    only: Sequence[str] = (),
    console: Console,
    results: Path = RESULTS,
    output: Path | None = None,
    note: str = "",
) -> Path:
    """Run a scenario, write the results, print the tables.

    Args:
        loaded: The scenario and its topology.
        stage: Plays the runs.
        only: Labels of runs, or of a grid's managers; all unless given.
        console: Where progress and tables go.
        results: Folder that gets the run's folder.
        output: The run's folder itself, new or empty, instead of one in `results`.
        note: What the user wants to remember of it; see `reports.note`.

    Returns:
        The run's folder.

    Raises:
        NoVerdict: there are values that need not hold in every run, and one run is no verdict; or
            time jumped, or the measuring went wrong. The results are written.
        TestbedError: a value is outside that has to be inside in every run, and the results are
            written; or something is missing or did not work, and nothing is left behind but the
            folder.
    """
    destination = run_folder.Destination(output, results)
    destination.check()
    scenario, topology = loaded.scenario, loaded.topology
    runs = chosen_runs(scenario, only)
    stage.admit(topology, [one.managed.management for one in runs], scenario)
    topology = stage.playable(topology)
    plans = {one.label: plan_for(scenario.played(one), topology) for one in runs}
    started = datetime.now()
    with stage.opened(f"run {scenario.name}", topology):
        # Before anything of ours runs: the machine's own.
        late = stage.timers()
        folder = destination.create(scenario.name)
        (folder / "inputs").mkdir()
        topology_file = folder / "inputs" / "topology.yaml"
        write_topology(topology, topology_file)
        write_scenario(scenario, folder / "inputs" / SCENARIO_FILE)
        records: list[RunRecord] = []
        with run_folder.told_if_unfinished(folder, console), progress_bar(console) as bar:
            total = sum(plan.seconds + stage.build_seconds for plan in plans.values())
            task, before = bar.add_task("starting", total=total), 0.0
            for number, one in enumerate(runs):
                raw_folder = folder / "runs" / one.folder
                raw_folder.mkdir(parents=True)

                words = f"{number + 1}/{len(runs)} {one.label}"

                def show(
                    phase: str, passed: float, words: str = words, before: float = before
                ) -> None:
                    bar.update(task, completed=before + passed, description=f"{words}: {phase}")

                record = stage.measure(
                    scenario.played(one), one, plans[one.label], topology, topology_file,
                    number=1, folder=raw_folder, progress=show,
                )  # fmt: skip
                record.write(raw_folder)
                records.append(record)
                before += plans[one.label].seconds + stage.build_seconds
            bar.update(task, description="report", completed=bar.tasks[0].total)
            figures = summary.summarise(
                scenario,
                records,
                judge.judge(scenario, records),
                judge.not_judged(scenario, records),
                target=stage.target,
                topology=topology,
                versions=stage.versions(),
                timers=late,
                marks=stage.marks,
                note=note,
            )
            details = {
                **run_folder.circumstances(started),
                "plans": {one.direction: plans[one.label].document() for one in records},
            }
            report.complete(folder, figures, details, Runs(scenario, records))
            folder = run_folder.finish(folder)
    _tell(figures, console)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, highlight=False)
    _raise_what_is_left(figures)
    return folder


def _tell(figures: dict[str, Any], console: Console) -> None:
    """Print what was found."""
    opening = (
        held_always(figures),
        found(figures),
        service_flow_shares.found(figures),
        approximate(figures),
    )
    for words in opening:
        if words:
            console.print(words, soft_wrap=True, highlight=False)
    for table in (run_table(figures), *service_flow_shares.tables(figures)):
        console.print(table)
    if figures["expectations"]:
        console.print(verdicts_table(figures))
    console.print(timing_words(figures), soft_wrap=True, highlight=False)
    for run in figures["runs"]:
        for one in run.get("commands", ()):
            console.print(
                f"{one['command']}: {one['words']}; {one['log']}",
                soft_wrap=True, highlight=False,
            )  # fmt: skip
    for run in figures["runs"]:
        for link in run.get("links", ()):
            console.print(
                f"{run['label']}: {link_words(link)}",
                soft_wrap=True, highlight=False,
            )  # fmt: skip
    captures = [one for run in figures["runs"] for one in run.get("captures", ())]
    if captures:
        counted = "1 capture is" if len(captures) == 1 else f"{len(captures)} captures are"
        # runs/RUN/captures, also of those in a folder below it.
        folders = dict.fromkeys(str(Path(*Path(one["file"]).parts[:3])) for one in captures)
        console.print(f"{counted} in {' and '.join(folders)}.", soft_wrap=True, highlight=False)
    for one in captures:
        if one["words"]:
            console.print(
                f"{one['file']} {one['words']}.",
                style="yellow", soft_wrap=True, highlight=False,
            )  # fmt: skip
    if figures["left_out"]:
        console.print(f"Not judged: {'; '.join(figures['left_out'])}.", soft_wrap=True)


def link_words(link: Mapping[str, Any]) -> str:
    """Tells what a link with loss or jitter did to frames, from an entry of a run's `links`."""
    done = []
    if link["loss"] != format_share(0):
        ways = [
            f"{way['lost']} of {way['frames']} frames {end}"
            for end, way in (("from", link["from_host"]), ("to", link["to_host"]))
        ]
        done.append(f"lost {' it, and '.join(ways)} it, with {link['loss']} asked for")
    if link["jitter"] != format_duration(0):
        done.append(f"made each frame up to {link['jitter']} later")
    return f"the link of {link['host']} {'; it '.join(done)}."


def _raise_what_is_left(figures: dict[str, Any]) -> None:
    """Raises what one run cannot say, or what broke in it; see `run`."""
    # Where nothing is published, switches that were late are told; only what is not valid is more.
    if figures["no_verdict"] and (figures["expectations"] or figures["passed"] is None):
        raise NoVerdict("; ".join(figures["no_verdict"]))
    if any(broken(entry) for entry in figures["expectations"]):
        raise TestbedError(f"{held_always(figures).rstrip('.')}; the report may say why")
    if entries := [entry for entry in figures["expectations"] if not entry["every_run"]]:
        inside = sum(entry["holds"] is True for entry in entries)
        raise NoVerdict(
            f"one run is no verdict; {inside} of {len(entries)} measured values are within what is "
            "allowed. Many runs give a verdict: repeat this with --virtual --seeds 30, or in "
            "Mininet with --repeat 5"
        )


def timing_words(figures: dict[str, Any]) -> Text:
    """How late the machine and the switches were, and what that means for the verdicts."""
    said = Text(timers.words(figures["timers"]))
    for entry in figures["expectations"]:
        if entry["absent"]:
            said.append(f"\n{entry['what']} of {entry['run']}: {entry['absent']}.", "bold red")
    for words in figures["no_verdict"]:
        said.append(f"\n{words}.", "bold yellow")
    told = [
        late["lateness_ms"]["p99"]
        for run in figures["runs"]
        for late in run["timing"]["switches"].values()
        if late is not None
    ]
    if not figures["no_verdict"] and told:
        worst = max(told)
        said.append(
            f"\nAll runs are valid: time never jumped, and no switch was later than {worst:.2f} ms "
            f"at p99 (a verdict needs {MOST_P99_MS:g} ms)."
        )
    return said


def verdicts_table(figures: dict[str, Any]) -> Table:
    """Published and measured values beside each other, for the terminal; one run judges nothing.

    But for what has to hold in every run: that one run can tell.
    """
    every_run = all(entry["every_run"] for entry in figures["expectations"])
    result = Table(
        title="Published and measured",
        title_justify="left",
        caption="It has to hold in every run." if every_run else "One run is no verdict.",
        caption_justify="left",
    )
    result.add_column("what")
    result.add_column("run")
    for column in ("published", "allowed", "measured"):
        result.add_column(column, justify="right")
    for entry in figures["expectations"]:
        result.add_row(
            f"{entry['what']}{', ' + entry['unit'] if entry['unit'] else ''}",
            entry["run"],
            band(entry["published"]),
            band(entry["allowed"]),
            measured(entry),
        )
    return result
