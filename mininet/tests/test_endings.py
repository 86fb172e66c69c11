# SPDX-License-Identifier: Apache-2.0
"""Programs are ended, by SIGKILL if need be, and waited for."""

from __future__ import annotations

import signal
import subprocess

import pytest

from docsis_testbed.endings import end, how


@pytest.mark.parametrize(
    ("script", "seconds", "status"),
    [
        ("echo on; exec sleep 1000", 60, -signal.SIGTERM),
        ("trap '' TERM; echo on; exec sleep 1000", 0.2, -signal.SIGKILL),
    ],
)
def test_a_program_is_ended(script: str, seconds: float, status: int) -> None:
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"on\n"
        end(program, seconds)
        assert program.returncode == status
        assert how(status) == f"was killed by {signal.Signals(-status).name}"


def test_a_program_that_has_ended_keeps_its_status() -> None:
    with subprocess.Popen(["false"]) as program:
        program.wait()
        end(program, 60)
        assert program.returncode == 1
