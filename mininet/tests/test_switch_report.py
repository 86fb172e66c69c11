# SPDX-License-Identifier: Apache-2.0
"""Sub-commands of the switch: their reports, and their end with whoever started them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from docsis_testbed import switch_report
from docsis_testbed.errors import TestbedError


@pytest.fixture
def switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in, which does what its first argument says."""
    program = tmp_path / "switch"
    program.write_text('#!/bin/sh\neval "$1"\n')
    program.chmod(0o755)
    monkeypatch.setenv("DOCSIS_SWITCH", str(program))
    return program


@pytest.mark.usefixtures("switch")
def test_the_report_is_the_output() -> None:
    assert switch_report.run("echo '{\"a\": 1}'") == {"a": 1}


@pytest.mark.usefixtures("switch")
def test_a_failure_is_in_the_words_of_the_switch() -> None:
    with pytest.raises(TestbedError, match="docsis-switch failed: no such thing"):
        switch_report.run("echo no such thing >&2; exit 1")


@pytest.mark.usefixtures("switch")
def test_a_sub_command_ends_with_who_started_it() -> None:
    code = (
        "import time; from docsis_testbed import switch_report\n"
        "print(switch_report.start('exec sleep 600').pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        started = psutil.Process(int(starter.stdout.readline()))
        # Until the programs on the way have become it.
        deadline = time.monotonic() + 20
        while started.cmdline() != ["sleep", "600"]:
            assert time.monotonic() < deadline, started.cmdline()
            time.sleep(0.02)
        starter.send_signal(signal.SIGKILL)
        starter.wait()
        while started.is_running() and started.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.02)
