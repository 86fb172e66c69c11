# SPDX-License-Identifier: Apache-2.0
"""A scenario of a few seconds in Mininet: what is measured, what is left, an interrupt."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from late_machine import excuse_run, repeated
from rich.console import Console
from scenario_files import EVERY_KIND, write

from docsis_experiments.experiment.loader import load
from docsis_experiments.repetition import once
from docsis_experiments.stages.mininet.stage import MininetStage
from docsis_ptf.sleeper import Machine
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import RUN_STATE, TOPOLOGIES
from docsis_testbed.testbed import root_interfaces

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

IN_REAL_TIME = (
    # Bursts are for virtual time, and a busy machine is not as exact.
    ("  - {name: train, kind: burst, frames: 20, interval: 1 s}\n", ""),
    ("published: 9.3\n    tolerance: {below: 1.5,", "published: 9.5\n    tolerance: {below: 2,"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Machine]:
    """The folder of a run, how it failed, and the machine meanwhile."""
    folder = tmp_path_factory.mktemp("scenario")
    file = write(folder, *IN_REAL_TIME, text=EVERY_KIND)
    numbers = itertools.count(1)

    def attempt() -> tuple[Path, str, bool]:
        results = folder / f"results-{next(numbers)}"
        # One run is no verdict; of switches that were too late nothing is said at all.
        with pytest.raises(TestbedError) as raised:
            once.run(
                load(file),
                stage=MininetStage("embedded"),
                console=Console(),
                results=results,
            )
        (made,) = results.iterdir()
        assert isinstance(raised.value, NoVerdict)
        figures = json.loads((made / "summary.json").read_text())
        return made, str(raised.value), bool(figures["no_verdict"])

    (made, error, _), machine = repeated(attempt, lambda made: made[2])
    return made, error, machine


def leftovers() -> list[str]:
    present = {name for _, name in socket.if_nameindex()}
    topology = load(TOPOLOGIES / "scenarios" / "voip-latency.yaml").topology
    left = [name for name in root_interfaces(topology) if name in present]
    return left + [str(path) for path in RUN_STATE.glob("*.json")]


@pytest.mark.clock
def test_measured_values_are_beside_the_published(run: tuple[Path, str, Machine]) -> None:
    folder, error, machine = run
    figures: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    goodput, latency = figures["expectations"]
    # Of a buffer of 250 KB at 10 and 5 Mbit/s.
    assert 50 < latency["measured"] < 550
    if figures["passed"] is None:
        assert "tail: no" in error
        excuse_run(error, machine)
    assert goodput["holds"], goodput
    assert latency["holds"] is False
    assert "one run is no verdict; 1 of 2 measured values" in error


def test_every_kind_of_traffic_is_measured(run: tuple[Path, str, Machine]) -> None:
    groups = json.loads((run[0] / "summary.json").read_text())["runs"][0]["groups"]
    assert set(groups) == {"call", "ftp", "game", "steady"}
    assert 290 <= groups["call"]["packets"] <= 301
    # What the kernel saw of packets and what irtt said of its own are of one queue.
    assert groups["ftp"]["latency_ms"]["mean"] == pytest.approx(
        groups["call"]["latency_ms"]["mean"], rel=0.4
    )
    assert groups["game"]["message_latency_ms"]["mean"] > 0
    # 454 of 500 bytes are payload, for 2 of 6 s.
    assert groups["steady"]["goodput_mbps"] == pytest.approx(0.5 * 454 / 500 / 3, rel=0.2)


def test_channel_was_made_slower(run: tuple[Path, str, Machine]) -> None:
    rows = (run[0] / "runs" / "tail" / "channel.csv").read_text().splitlines()[1:]
    steps = [tuple(map(float, row.split(","))) for row in rows]
    assert [rate for _, rate in steps] == [10, 5]
    assert [at for at, _ in steps] == pytest.approx([0, 3], abs=0.3)


def test_results_are_whole_and_nothing_else_is_left(run: tuple[Path, str, Machine]) -> None:
    folder, _, _ = run
    assert folder.name.endswith("-short")
    for name in ("report.html", "details.json", "inputs/scenario.yaml", "plots/over-time.png"):
        assert (folder / name).is_file()
    assert load(folder / "inputs" / "scenario.yaml").scenario.name == "short"
    assert leftovers() == []


def test_interrupt_leaves_nothing(tmp_path: Path) -> None:
    file = write(tmp_path, *IN_REAL_TIME, text=EVERY_KIND)
    program = subprocess.Popen(
        [
            # A shell starts what runs in its background, CI perhaps, with SIGINT ignored.
            *("env", "--default-signal=INT"),
            str(Path(sys.executable).with_name("docsis-p4")),
            *("run", str(file)),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 40
    while not _sends(program.pid) and program.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert program.poll() is None, program.stderr.read() if program.stderr else ""
    os.kill(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=40)
    assert program.returncode == 130, errors
    assert "docsis-p4: interrupted; nothing of it is left running" in errors
    assert leftovers() == []


def _sends(run: int) -> bool:
    """Whether a run has started a program in a host, which is not its shell."""
    here = os.stat("/proc/self/ns/net").st_ino
    for child in psutil.Process(run).children():
        with suppress(psutil.NoSuchProcess, FileNotFoundError):
            command = child.cmdline()
            elsewhere = os.stat(f"/proc/{child.pid}/ns/net").st_ino != here
            if elsewhere and "irtt" in command:
                return True
    return False
