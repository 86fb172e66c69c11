# SPDX-License-Identifier: Apache-2.0
"""A run without a verdict is the machine's fault only where the machine is late by itself."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import late_machine
import pytest

from docsis_ptf.sleeper import Machine
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import ROOT

MOST_CLOCK_TESTS = 5
FOLDERS = ("cli", "control_plane", "experiments", "mininet", "ptf_tests")


class Beside:
    """Stands in for the process that measures the machine: it has found this already."""

    def __init__(self, p99_ms: float, stalls_ns: tuple[int, ...] = ()) -> None:
        most = max(stalls_ns, default=9_000_000)
        self.machine = Machine(1000, 50_000, round(p99_ms * 1e6), most, stalls_ns)

    def __call__(self, under: Sequence[str], cpus: Sequence[int]) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def stop(self) -> Machine:
        return self.machine


@pytest.mark.parametrize(
    ("p99_ms", "outcome"),
    [(0.3, pytest.fail.Exception), (1.0, pytest.fail.Exception), (1.2, pytest.skip.Exception)],
)
def test_only_a_machine_that_is_late_during_the_run_is_an_excuse(
    p99_ms: float, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_machine, "Sleeper", Beside(p99_ms))
    runs = Runs(9)
    with pytest.raises(outcome, match=f"run 1: too late; .*{p99_ms:.2f} ms at p99"):
        late_machine.judged(runs.run)
    assert runs.made == 1
    assert late_machine.judged(lambda: "in time") == "in time"


class Runs:
    """Runs of which the first have no verdict, and the next one has."""

    def __init__(self, without: int) -> None:
        self.without = without
        self.made = 0

    def run(self) -> int:
        self.made += 1
        if self.made <= self.without:
            raise NoVerdict(f"run {self.made}: too late")
        return self.made


def test_a_run_is_made_again_where_the_machine_stood_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_machine, "Sleeper", Beside(0.3, stalls_ns=(42_000_000,)))
    # The first that has a verdict counts: there is no other one to choose.
    assert late_machine.judged(Runs(0).run) == 1
    assert late_machine.judged(Runs(2).run) == 3
    with pytest.raises(pytest.fail.Exception, match="run 3: too late"):
        late_machine.judged(Runs(3).run)


def test_a_run_that_fails_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_machine, "Sleeper", Beside(0.3, stalls_ns=(42_000_000,)))
    made = []

    def run() -> None:
        made.append(1)
        raise TestbedError("a share is off")

    with pytest.raises(TestbedError, match="off"):
        late_machine.judged(run)
    assert made == [1]


def test_at_most_five_tests_may_be_skipped_for_a_late_machine() -> None:
    marked = [
        str(path)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("test_*.py")
        if path != Path(__file__) and "pytest.mark.clock" in path.read_text()
    ]
    assert marked
    # Cases count, so it is pytest that counts.
    options = ["--collect-only", "-qq", "-m", "clock", "-p", "no:cacheprovider"]
    listing = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *marked],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    # FILE: NUMBER, one line a file.
    counts = [int(line.rsplit(": ")[1]) for line in listing.stdout.splitlines() if ".py: " in line]
    assert len(counts) == len(marked), listing.stdout + listing.stderr
    assert sum(counts) <= MOST_CLOCK_TESTS, listing.stdout


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_other_test_is_skipped_for_it(folder: str) -> None:
    """Whoever asks for the excuse is marked, so that it is counted."""
    for path in (ROOT / folder).rglob("test_*.py"):
        text = path.read_text()
        if path != Path(__file__) and (
            "import late_machine" in text or "from late_machine" in text
        ):
            excuses = len(re.findall(r"^\s+(?:excuse_run|excuse)\(|= judged\(", text, re.M))
            assert text.count("@pytest.mark.clock") == excuses, path


@pytest.mark.parametrize("late_ns", [900_000, 1_100_000])
def test_a_measured_machine_is_an_excuse_above_a_millisecond(late_ns: int) -> None:
    outcome = pytest.skip.Exception if late_ns > 1_000_000 else pytest.fail.Exception
    with pytest.raises(outcome, match="20 ms"):
        late_machine.excuse("20 ms", late_ns / 1e6)


def test_the_machine_is_measured_beside_a_test() -> None:
    with late_machine.machine_beside() as machine:
        pass
    assert machine[0].samples >= 1
