# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 accept replay`: what switches recorded on Mininet, again in virtual time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from docsis_control.queue_managers.names import Preset
from docsis_control.topology.document import write_topology
from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.demo import demo
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.runs.files import write_atomically
from docsis_testbed import switch_report
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import RESULTS, TOPOLOGIES
from docsis_testbed.progress import progress_bar

FOLDER: Final = RESULTS / "acceptance" / "replay"
DOCUMENT: Final = "replay.json"

_IDLE_SECONDS: Final = 1.0
"""Probes alone, before the uploads."""

_ENDED: Final = {
    "stopped": "complete",
    "limit": "until its limit",
    "overrun": "until the disk did not keep up",
    "cut_off": "until it is cut off",
}

_ROWS: Final = (
    ("frames in", "frames_in"),
    ("frames out", "frames_out"),
    ("requests", "requests"),
    ("messages on streams", "messages"),
    ("turns of requests", "turns"),
    ("told the controller", "events"),
    ("packet-ins", "packet_ins"),
    ("jumps of time", "jumps"),
    ("compared, the same", "same"),
)


def topology(tier: str | None) -> Topology:
    """The demo's, with a tier in place."""
    return load_topology(TOPOLOGIES / "residential.yaml", tier)


def run(topology: Topology, *, seconds: float, console: Console, results: Path = FOLDER) -> Path:
    """Records a run of the demo under DOCSIS-PIE on Mininet, and replays both switches.

    Args:
        topology: What is built.
        seconds: How long there are uploads.
        console: Where progress and table go.
        results: Gets a folder with the recordings, the run's raw files and the verdict.

    Returns:
        That folder.

    Raises:
        TestbedError: Something differs (the verdict is written), or the run did not work.
        NoVerdict: Nothing was recorded that could differ.
    """
    # Replaying what is recorded needs no Mininet.
    from docsis_experiments.stages.mininet.stage import MininetStage
    from docsis_testbed.testbed import recording_of

    folder = results / datetime.now().strftime("%Y%m%d-%H%M%S-%f")
    recordings, raw = folder / "recordings", folder / "run"
    stage = MininetStage("embedded", recordings=recordings)
    loaded = demo(topology, [Preset.DOCSIS_PIE], seconds)
    scenario = loaded.scenario.model_copy(update={"idle": round(_IDLE_SECONDS * 1e9), "ramp_up": 0})
    [run] = scenario.all_runs
    stage.admit(topology, [run.managed.management], scenario)
    plan = plan_for(scenario, topology)
    with stage.opened("accept replay", topology):
        for made in (recordings, raw):
            made.mkdir(parents=True)
        topology_file = folder / "topology.yaml"
        write_topology(topology, topology_file)
        with progress_bar(console) as bar:
            task = bar.add_task("starting", total=plan.seconds + stage.build_seconds)

            def told(phase: str, passed: float) -> None:
                bar.update(task, completed=passed, description=phase)

            stage.measure(
                scenario, run, plan, topology, topology_file,
                number=1, folder=raw, progress=told,
            )  # fmt: skip
    switches = (topology.cable_modem, topology.cmts)
    files = [recording_of(device, recordings) for device in switches]
    replay(files, console=console, document=folder / DOCUMENT)
    return folder


def replay(files: Sequence[Path], *, console: Console, document: Path | None = None) -> None:
    """Replays recordings in virtual time and says whether all outputs are the same.

    Args:
        files: Recordings of `docsis-switch --record`.
        console: Where the table goes.
        document: Gets what the switch reports, as JSON.

    Raises:
        TestbedError: Something differs (the document is written), or a file cannot be replayed.
        NoVerdict: Nothing was recorded that could differ.
    """
    # The switch runs in the project's folder.
    names = [str(file.resolve()) for file in files]
    report = switch_report.run("replay", "--json", *names, differs=1)
    if document is not None:
        write_atomically(document, (json.dumps(report, indent=2) + "\n").encode())
    console.print(_table(report["recordings"]))
    _judge(report["recordings"], document)


def _table(reports: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="Recorded on the wire, replayed in virtual time")
    table.add_column("", no_wrap=True)
    for report in reports:
        table.add_column(Path(report["file"]).stem, justify="right")
    span = (f"{(r['last_ns'] - r['first_ns']) / 1e9:.3f}" for r in reports)
    table.add_row("seconds", *span)
    for label, key in _ROWS:
        table.add_row(label, *(str(report[key]) for report in reports))
    for place in sorted({place for report in reports for place in report["dropped"]}):
        counts = (str(report["dropped"].get(place, 0)) for report in reports)
        table.add_row(f"dropped: {place.replace('_', ' ')}", *counts)
    table.add_row("recorded", *(_ENDED[report["ended"]] for report in reports))
    same = ("NO" if report["first_difference"] else "yes" for report in reports)
    table.add_row("the same", *same)
    return table


def _judge(reports: Sequence[dict[str, Any]], document: Path | None) -> None:
    for report in reports:
        first = report["first_difference"]
        if first is None:
            continue
        port = "" if first["port"] is None else f", port {first['port']}"
        raise TestbedError(
            f"{report['file']}: {first['what']} differs at {first['at_ns']} ns{port}: recorded is "
            f"that {first['recorded']}, replayed that {first['replayed']}"
            + (f"; see {document}" if document else "")
        )
    for report in reports:
        if report["same"] == 0:
            raise NoVerdict(f"{report['file']} has no output: record a switch with traffic")
