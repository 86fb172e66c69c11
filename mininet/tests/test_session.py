# SPDX-License-Identifier: Apache-2.0
"""A death fails an experiment, with a sentence that says who died and how."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from docsis_control.topology.loader import load_topology
from docsis_testbed.addresses import device_address
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES
from docsis_testbed.session import ControllerProgram, Session


@pytest.fixture
def switch() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def session(tmp_path: Path, switch: subprocess.Popen[bytes]) -> Session:
    """One without a testbed, which watches a program that stands for a switch."""
    made = Session(cast(Any, None), tmp_path, lambda *_: None, switch, time.monotonic())
    log = tmp_path / "cm1.log"
    log.write_text("serving\nthe last line\n")
    made.watch("switch cm1", switch, log)
    return made


def test_a_death_ends_the_wait(session: Session, switch: subprocess.Popen[bytes]) -> None:
    session.wait("idle baseline", 0.01)
    switch.kill()
    with pytest.raises(TestbedError) as failed:
        session.wait("measuring", 600)
    assert str(failed.value) == (
        "switch cm1 was killed by SIGKILL while measuring; its last words: the last line "
        f"({session.folder}/cm1.log)"
    )


def test_a_death_ends_the_wait_for_another(
    session: Session, switch: subprocess.Popen[bytes]
) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:
        switch.terminate()
        with pytest.raises(TestbedError, match="switch cm1 was killed by SIGTERM while ending"):
            session.wait_for(other, "irtt")
        other.kill()


def test_who_does_not_answer_has_died(session: Session, switch: subprocess.Popen[bytes]) -> None:
    def ask() -> None:
        session.wait("measuring", 0.01)
        switch.kill()
        raise TestbedError("cm1 does not answer")

    with (
        pytest.raises(TestbedError, match="switch cm1 was killed by SIGKILL while measuring"),
        session.explained(),
    ):
        ask()


def test_other_errors_stay_what_they_are(session: Session) -> None:
    with pytest.raises(TestbedError, match="the file is missing"), session.explained():
        raise TestbedError("the file is missing")


def test_what_may_end_may_end(session: Session, switch: subprocess.Popen[bytes]) -> None:
    session.let_end(switch)
    switch.kill()
    session.wait_for(switch, "the switch")
    session.check("ending")


class FakeTestbed:
    """Keeps the command that is to be started."""

    def __init__(self, target: str, logs: Path) -> None:
        self.topology = load_topology(TOPOLOGIES / "residential.yaml")
        self.target = target
        self.logs = logs
        self.command: list[str] = []

    def launch_here(self, command: list[str], log: Path, *, append: bool) -> None:
        del log, append
        self.command = command


@pytest.mark.parametrize(
    ("target", "told"),
    [("embedded", []), ("bmv2", ["cm1=127.0.0.1:9091", "cmts1=127.0.0.1:9092"])],
)
def test_the_controller_is_told_where_queues_are_set(
    tmp_path: Path, target: str, told: list[str]
) -> None:
    testbed = FakeTestbed(target, tmp_path)
    ControllerProgram(cast(Any, testbed), tmp_path / "topology.yaml", tmp_path).start()
    given = list(zip(testbed.command, testbed.command[1:], strict=False))
    assert [value for option, value in given if option == "--thrift"] == told
    devices = (testbed.topology.cable_modem, testbed.topology.cmts)
    at = [f"{device.name}={device_address(device, target)}" for device in devices]
    assert [value for option, value in given if option == "--address"] == at
