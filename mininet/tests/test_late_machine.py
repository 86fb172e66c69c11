# SPDX-License-Identifier: Apache-2.0
"""A run without a verdict is the machine's fault only where the machine is late by itself."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import late_machine
import pytest
from time_samples import TIMERS

from docsis_testbed.errors import NoVerdict
from docsis_testbed.measure import timers
from docsis_testbed.paths import ROOT

MOST_CLOCK_TESTS = 5


def late(p99_ms: float) -> dict[str, Any]:
    machine = copy.deepcopy(TIMERS)
    machine["realtime"]["lateness_ms"]["p99"] = p99_ms
    return machine


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (0.3, 0.3, pytest.fail.Exception),
        (1.0, 1.0, pytest.fail.Exception),
        (1.2, 0.3, pytest.skip.Exception),
        (0.3, 1.2, pytest.skip.Exception),
    ],
)
def test_only_a_late_machine_is_an_excuse(
    before: float,
    after: float,
    outcome: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.json").write_text(json.dumps({"timers": late(before)}))
    monkeypatch.setattr(timers, "measured", lambda: late(after))
    with pytest.raises(outcome), late_machine.verdict_in(tmp_path):
        raise NoVerdict("upstream: too late")
    with late_machine.verdict_in(tmp_path):
        pass


def test_at_most_five_tests_may_be_skipped_for_a_late_machine() -> None:
    marked = [
        str(path)
        for folder in ("control_plane", "mininet", "ptf_tests")
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


@pytest.mark.parametrize("folder", ["control_plane", "mininet", "ptf_tests"])
def test_no_other_test_is_skipped_for_it(folder: str) -> None:
    """Whoever asks for the excuse is marked, so that it is counted."""
    for path in (ROOT / folder).rglob("test_*.py"):
        text = path.read_text()
        if path != Path(__file__) and (
            "import late_machine" in text or "from late_machine" in text
        ):
            excuses = len(
                re.findall(r"^\s+(?:skip_or_fail|excuse)\(|with verdict_in\(", text, re.M)
            )
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
