# SPDX-License-Identifier: Apache-2.0
"""A run that a signal ends: what it started has ended before it has, and its verdicts are kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from docsis_testbed.interrupts import raising_when_terminated

from docsis_ptf import preflight, runner, sandbox, switches
from docsis_ptf.found import Found
from docsis_ptf.options import Options
from docsis_ptf.params import TestParams
from docsis_ptf.verdicts import Outcome, Verdict

TESTS = ["classifier_fields.Values", "classifier_fields.MaskEdges"]
VERDICT = Verdict(TESTS[0], Outcome.PASSED)

# It writes a verdict, ends its parent, and has a second signal for it when it is ended itself.
CHILD = """
import os, signal, sys
folder, number, verdict = sys.argv[1:]
def ended(*_):
    os.kill(os.getppid(), int(number))
    open(os.path.join(folder, "ended"), "w").close()
    sys.exit()
signal.signal(signal.SIGTERM, ended)
# So that a runner that does not end it leaves nothing for long.
signal.alarm(60)
open(os.path.join(folder, "pid"), "w").write(str(os.getpid()))
if verdict:
    open(os.path.join(folder, "verdicts.jsonl"), "w").write(verdict + "\\n")
os.kill(os.getppid(), int(number))
while True:
    signal.pause()
"""


@pytest.fixture(autouse=True)
def _as_the_command_line(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Signals raise what they raise in docsis-p4, even where the tests run in the background."""
    monkeypatch.setattr(switches, "binary", lambda kind: Path("/switch"))
    monkeypatch.setattr(runner, "_keep_lateness", lambda folder: "")
    # With nothing to call between fork and exec Python does not fork, and gRPC, which other tests
    # of this process have used, does not go on in the child.
    monkeypatch.setattr(sandbox, "dies_with_parent", lambda end: None)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with raising_when_terminated():
        yield
    signal.signal(signal.SIGINT, before)


def run(number: signal.Signals, verdict: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs the suite with a sandbox that ends the run with a signal."""

    def command(job: Mapping[str, object]) -> list[str]:
        return [sys.executable, "-c", CHILD, str(folder), str(int(number)), verdict]

    monkeypatch.setattr(runner, "_sandbox_command", command)
    return runner.run(Options(tests=TESTS, results=folder))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, "the run was interrupted"),
        (signal.SIGTERM, "SIGTERM ended the run"),
        (signal.SIGHUP, "SIGHUP ended the run"),
    ],
)
@pytest.mark.parametrize("verdict", [json.dumps(asdict(VERDICT)), ""], ids=["some", "none"])
def test_the_sandbox_has_ended_when_the_run_has(
    number: signal.Signals,
    words: str,
    verdict: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(number, verdict, tmp_path, monkeypatch) == 128 + number
    # Ended in peace, and waited for: a process that has only ended still has a number.
    assert (tmp_path / "ended").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    for name in ("matrix.html", "junit.xml"):
        assert (tmp_path / name).exists() == bool(verdict)
    rest = f"1 of 2 tests were not run behind {TESTS[0]}: {words}"
    said = rest if verdict else f"{words} before the first test was over"
    assert capsys.readouterr().err == f"ptf: {said}\n"
    # The handlers of the command line are back.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_running_targets_verdicts_are_kept(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back = []

    def tested(*_: object) -> int:
        (tmp_path / "verdicts.jsonl").write_text(json.dumps(asdict(VERDICT)) + "\n")
        signal.raise_signal(number)
        return 0

    monkeypatch.setattr(preflight, "check_wiring", lambda target, ports: None)
    monkeypatch.setattr(preflight, "examine", lambda params, ports: ((), Found(None)))
    monkeypatch.setattr(preflight, "give_back", lambda params, found: given_back.append(found))
    monkeypatch.setattr(runner, "_ptf", tested)
    told = Options("192.0.2.7:9559", tests=TESTS, results=tmp_path)
    assert runner.run(told) == 128 + number
    assert given_back == [Found(None)]
    assert (tmp_path / "matrix.html").exists()


def test_a_signal_while_ptf_starts_leaves_no_ptf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(arguments: list[str], **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(["sleep", "60"], **options))
        signal.raise_signal(signal.SIGTERM)
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(SystemExit):
        runner._ptf(TestParams(), {1: "lo"}, TESTS, 1, tmp_path)
    assert started[0].returncode == -signal.SIGKILL
