# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 demo`: queue managers one after the other, and what they left."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from docsis_control.plan import PRIMARY_SERVICE_FLOW
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.document import write_topology
from docsis_control.topology.models import Topology
from docsis_control.topology.services import primary_service_flow
from docsis_experiments.demo.plan import Measurement, Plan, plan_for
from docsis_experiments.measurement.timing import MOST_P99_MS
from docsis_experiments.reports import folder as run_folder
from docsis_experiments.reports import latency_page, plots, raw, report, summary
from docsis_experiments.reports.page import stage_words
from docsis_experiments.reports.plots import STYLES
from docsis_experiments.stages.mininet import timers
from docsis_experiments.stages.stage import Stage
from docsis_testbed.errors import NoVerdict
from docsis_testbed.paths import RESULTS
from docsis_testbed.progress import progress_bar

_CELL = 10
"""Characters of the table's longest figure; a queue manager's name may take several lines."""

_SIDE_BY_SIDE = 4
"""Runs that have a column each in a terminal of 80 characters."""


def run(
    topology: Topology,
    *,
    stage: Stage,
    aqms: Sequence[Preset],
    measured_seconds: float,
    console: Console,
    results: Path = RESULTS,
) -> Path:
    """Run the experiment, write the results, print the table.

    Args:
        topology: What to build.
        stage: Plays the runs.
        aqms: Queue managers, in the order in which they run.
        measured_seconds: Length of each measured time.
        console: Where progress and table go.
        results: Folder that gets the run's folder.

    Returns:
        The run's folder.

    Raises:
        NoVerdict: time jumped in a switch, so a run is not valid; the results are written.
        TestbedError: something is missing or did not work; nothing is left behind but what
            was written, in a folder whose name ends with `.partial`.
    """
    stage.admit(topology, aqms)
    plan = plan_for(topology, measured_seconds)
    each = plan.seconds + stage.build_seconds
    started = datetime.now()
    with stage.opened("demo", topology):
        # Before anything of ours runs: the machine's own.
        late = stage.timers()
        folder = run_folder.create(topology, results)
        topology_file = folder / "inputs" / "topology.yaml"
        write_topology(topology, topology_file)
        measurements: list[Measurement] = []
        with run_folder.told_if_unfinished(folder, console), progress_bar(console) as bar:
            total = bar.add_task("starting", total=len(aqms) * each)
            for number, aqm in enumerate(aqms):
                raw_folder = folder / "runs" / aqm.value
                raw_folder.mkdir(parents=True)
                done = number * each

                def show(phase: str, seconds: float, aqm: Preset = aqm, done: float = done) -> None:
                    bar.update(
                        total, completed=done + seconds, description=f"{STYLES[aqm].label}: {phase}"
                    )

                measurements.append(
                    stage.measure(
                        topology,
                        topology_file,
                        aqm,
                        plan=plan,
                        folder=raw_folder,
                        progress=show,
                    )
                )
            bar.update(total, description="report", completed=bar.tasks[0].total)
            figures = summary.summarise(
                measurements,
                target=stage.target,
                topology=topology.name,
                tier=topology.services,
                versions=stage.versions(),
                timers=late,
                marks=stage.marks,
            )
            write_results(folder, topology, plan, measurements, figures, started)
            folder = run_folder.finish(folder)
    console.print(table(figures))
    console.print(timing_words(figures), soft_wrap=True, highlight=False)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, highlight=False)
    if not figures["valid"]:
        raise NoVerdict(f"these figures are not valid: {'; '.join(figures['no_verdict'])}")
    return folder


def write_results(
    folder: Path,
    topology: Topology,
    plan: Plan,
    measurements: Sequence[Measurement],
    figures: dict[str, Any],
    started: datetime | None = None,
) -> None:
    """Write everything that `results.folder` lists, but for the inputs.

    Args:
        folder: The run's folder.
        topology: What was built.
        plan: Times and traffic.
        measurements: In the order in which they ran.
        figures: Content of summary.json.
        started: When the run began; now unless given.
    """
    (folder / "summary.json").write_text(json.dumps(figures, indent=2) + "\n")
    details = {
        **run_folder.circumstances(started or datetime.now()),
        "plan": asdict(plan),
        "runs": {m.aqm.value: _details(m) for m in measurements},
    }
    (folder / "details.json").write_text(json.dumps(details, indent=2) + "\n")
    all_series = {}
    for measurement in measurements:
        data = raw.series(measurement, topology.cable_modem.name, PRIMARY_SERVICE_FLOW)
        raw.write(data, measurement.folder)
        all_series[measurement.aqm] = data
    flow = primary_service_flow(topology)
    target_ms = flow.latency_target / 1e6
    plots.latency_cdf(all_series, target_ms, folder / "plots" / latency_page.LATENCY.file)
    plots.over_time(
        all_series,
        target_ms,
        flow.max_sustained_rate / 1e6 if flow.max_sustained_rate else None,
        folder / "plots" / latency_page.OVER_TIME.file,
    )
    report.write(folder)


def _details(measurement: Measurement) -> dict[str, Any]:
    return {
        "idle": asdict(measurement.idle),
        "measured": asdict(measurement.loaded),
        "uploads": {
            name: {**asdict(upload), "mbps": upload.received_bytes * 8e-6 / upload.seconds}
            for name, upload in measurement.uploads.items()
        },
        "counters": measurement.counters,
    }


def table(figures: dict[str, Any]) -> Table:
    """The result for the terminal, from summary.json's content: a column for each run.

    More than a terminal has room for have a row each, with the figures that matter most.
    """
    runs = figures["runs"]
    result = Table(
        title=f"{figures['topology']}, {figures['tier']}, {figures['target']} switch"
        f"{stage_words(figures)}"
    )
    result.add_column("", no_wrap=True)
    if len(runs) > _SIDE_BY_SIDE:
        for heading, _ in _COLUMNS:
            result.add_column(heading, justify="right")
        for run in runs:
            result.add_row(run["aqm"], *(text(run) for _, text in _COLUMNS))
        return result
    for run in runs:
        result.add_column(STYLES[Preset(run["aqm"])].label, justify="right", min_width=_CELL)
    for label, text in _ROWS:
        result.add_row(label, *(text(run) for run in runs))
    return result


def timing_words(figures: dict[str, Any]) -> Text:
    """How late the machine and the switches were, from summary.json's content."""
    said = Text(timers.words(figures["timers"]))
    for words in figures["no_verdict"]:
        said.append(f"\n{words[:1].upper()}{words[1:]}.", "bold red")
    if not figures["no_verdict"] and any(run["timing"]["switches"] for run in figures["runs"]):
        said.append(
            "\nAll runs are valid: time never jumped, and no switch was later than "
            f"{MOST_P99_MS:g} ms at p99."
        )
    return said


def _latency(key: str, quantile: str) -> Callable[[dict[str, Any]], str]:
    return lambda run: f"{run['upstream'][key][quantile]:.1f}"


def _switches_p99(run: dict[str, Any]) -> str:
    """Of the later one, milliseconds."""
    told = [s["lateness_ms"]["p99"] for s in run["timing"]["switches"].values() if s is not None]
    return f"{max(told):.2f}" if told else "-"


_ROWS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("goodput, Mbit/s", lambda run: f"{run['upstream']['goodput_mbps']:.2f}"),
    ("latency p50, ms", _latency("latency_ms", "p50")),
    ("        p90, ms", _latency("latency_ms", "p90")),
    ("        p99, ms", _latency("latency_ms", "p99")),
    ("induced p50, ms", _latency("induced_latency_ms", "p50")),
    ("        p90, ms", _latency("induced_latency_ms", "p90")),
    ("        p99, ms", _latency("induced_latency_ms", "p99")),
    ("loss, %", lambda run: f"{100 * run['upstream']['loss_ratio']:.2f}"),
    ("MOS", lambda run: f"{run['upstream']['mos']:.2f}"),
    ("early drops", lambda run: str(run["aqm_drops"])),
    ("buffer-full drops", lambda run: str(run["tail_drops"])),
    (
        "updates missed",
        lambda run: (
            f"{run['controller']['missed']} of "
            f"{run['controller']['updates'] + run['controller']['missed']}"
        ),
    ),
    ("loop late p99, ms", lambda run: f"{run['controller']['lateness_ms']['p99']:.2f}"),
    ("switch late p99,ms", _switches_p99),
    ("valid", lambda run: "yes" if run["timing"]["valid"] else "NO"),
)

_COLUMNS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("Mbit/s", lambda run: f"{run['upstream']['goodput_mbps']:.2f}"),
    ("p50, ms", _latency("latency_ms", "p50")),
    ("p90, ms", _latency("latency_ms", "p90")),
    ("p99, ms", _latency("latency_ms", "p99")),
    ("loss, %", lambda run: f"{100 * run['upstream']['loss_ratio']:.2f}"),
    ("MOS", lambda run: f"{run['upstream']['mos']:.2f}"),
    ("late", lambda run: _switches_p99(run) if run["timing"]["valid"] else "INVALID"),
)
