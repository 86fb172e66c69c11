# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 bench --all`: all current figures of the documentation, measured in one sitting."""

from __future__ import annotations

import json
import os
import platform
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from docsis_control.queue_managers.names import Preset
from docsis_control.topology import load_topology
from docsis_experiments.bench import control_loop, report
from docsis_experiments.bench.machine import processor
from docsis_experiments.bench.progress import step
from docsis_experiments.experiment.demo import demo
from docsis_experiments.repetition import job
from docsis_experiments.repetition.real_time import Repetitions
from docsis_experiments.runs.files import write_atomically
from docsis_experiments.runs.store import Store
from docsis_experiments.stages.mininet.stage import MininetStage
from docsis_experiments.stages.virtual import speed
from docsis_experiments.stages.virtual.speed_cases import CASES
from docsis_testbed import preflight, versions
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS, TOPOLOGIES
from docsis_testbed.runstate import recorded_run

TIERS: Final = ("cable-20", "cable-2018")
MANAGERS: Final = (Preset.DROP_TAIL_250MS, Preset.DOCSIS_PIE)
VIRTUAL_SECONDS: Final = 100.0

FILE: Final = "figures.json"
PICTURE: Final = "switch.png"


def run(seconds: float, repetitions: int, folder: Path | None, console: Console) -> Path:
    """Measure everything, one after the other, and write the figures as they come.

    Args:
        seconds: Length of each measurement between veth pairs.
        repetitions: How often each run of the demo and each switch is measured; medians count.
        folder: New folder for the figures; results/<time>-figures unless given.
        console: Where progress and tables go.

    Returns:
        The file with the figures. What is in it by part: "demo" by tier and queue manager, "bench"
        as `docsis-p4 bench` writes it, "loop" as `control_loop.measure` gives it, and "virtual" as
        `speed.run` does.

    Raises:
        TestbedError: something is missing or did not work; the parts before it are written.
    """
    preflight.check_root()
    source = versions.collect("embedded")
    if folder is None:
        folder = RESULTS / f"{datetime.now().strftime('%Y%m%d-%H%M%S')}-figures"
    if folder.exists():
        raise TestbedError(f"{folder} is there already; name a new folder")
    folder.mkdir(parents=True)
    file = folder / FILE
    figures: dict[str, Any] = {
        "date": datetime.now().date().isoformat(),
        "versions": source,
        "machine": {
            "cpus": os.cpu_count(),
            "processor": processor(),
            "kernel": platform.release(),
            "load_average": os.getloadavg()[0],
        },
        "repetitions": repetitions,
    }

    def write(part: str, found: Any) -> None:
        figures[part] = found
        write_atomically(file, (json.dumps(figures, indent=1) + "\n").encode())

    write("bench", report.run(seconds, repetitions, folder / "switch.json", console))
    with recorded_run("bench") as state, step("control loops of 64 modems", console) as progress:
        write("loop", control_loop.measure(state, progress))
    write("virtual", speed.run(list(CASES), VIRTUAL_SECONDS, console))
    write("demo", {tier: _demo(tier, repetitions, folder, console) for tier in TIERS})
    console.print(f"Written to {file}", soft_wrap=True, highlight=False)
    return file


def _demo(tier: str, repetitions: int, folder: Path, console: Console) -> dict[str, Any]:
    loaded = demo(load_topology(TOPOLOGIES / "residential.yaml", tier), MANAGERS)
    maker = Repetitions(MininetStage("embedded"), Store(folder / "kept"))
    result = job.run(
        loaded,
        maker=maker,
        numbers=maker.numbers(repetitions),
        console=console,
        output=folder / tier,
    )
    return of_summary(json.loads((result / "summary.json").read_text()))


def of_summary(summary: dict[str, Any]) -> dict[str, Any]:
    """The figures of a repeated demo, by queue manager.

    Args:
        summary: summary.json of many runs.

    Returns:
        By label of a run: "runs", how many count, and as medians over them "latency_ms" of the game
        with "p50", "p90" and "p99", and "goodput_mbps" of all uploads together.
    """
    return {
        one["label"]: {
            "runs": len(one["counted"]),
            "latency_ms": {
                part: one["groups"]["game"]["values"][f"latency {part}"]["median"]
                for part in ("p50", "p90", "p99")
            },
            "goodput_mbps": one["groups"]["uploads"]["values"]["goodput"]["median"],
        }
        for one in summary["runs"]
    }
