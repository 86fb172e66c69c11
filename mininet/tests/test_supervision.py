# SPDX-License-Identifier: Apache-2.0
"""A program that dies is told of, in words, and started again; not for ever at once."""

from __future__ import annotations

import errno
import os
import queue
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docsis_testbed import supervision
from docsis_testbed.endings import errors_of, how, last_words
from docsis_testbed.errors import TestbedError
from docsis_testbed.nodes import DocsisSwitch, SwitchBeside, programs_of
from docsis_testbed.runstate import recorded_run
from docsis_testbed.supervision import LONGEST_PAUSE, LOOK_SECONDS, pause_before, supervised

SECONDS = 20.0
"""Far more than anything here takes."""


class Sleeper:
    """A program that sleeps, or cannot be started."""

    def __init__(self, log: Path) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.log = log
        self.starts = 0
        self.fails = False
        self.refusals = 0

    def start(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self.starts += 1
        command = ["false"] if self.fails else ["sleep", "600"]
        self.process = subprocess.Popen(command)

    def wait_ready(self) -> None:
        assert self.process is not None
        if self.fails:
            self.process.wait()
            raise TestbedError("it ended at its start")


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Sleeper]:
    program = Sleeper(tmp_path / "sleeper.log")
    program.start()
    yield program
    if program.process is not None:
        program.process.kill()
        program.process.wait()


def test_a_death_is_told_and_the_program_started_again(sleeper: Sleeper) -> None:
    told: queue.Queue[str] = queue.Queue()
    with supervised([("the sleeper", sleeper)], told.put):
        first = sleeper.process
        assert first is not None
        first.kill()
        assert told.get(timeout=SECONDS) == (
            f"the sleeper was killed by SIGKILL; its log is {sleeper.log}. It is started again now."
        )
        assert told.get(timeout=SECONDS) == "the sleeper runs again."
        second = sleeper.process
        assert second is not None
        assert second is not first
        assert second.poll() is None
        # One that dies again and again gets pauses.
        second.terminate()
        assert told.get(timeout=SECONDS).endswith(
            f"was killed by SIGTERM; its log is {sleeper.log}. It is started again in 1 s."
        )
        assert told.get(timeout=SECONDS) == "the sleeper runs again."
    assert sleeper.starts == 3


def test_it_is_noticed_well_within_a_second() -> None:
    assert LOOK_SECONDS <= 0.25


def test_a_death_is_told_only_where_that_is_wanted(sleeper: Sleeper) -> None:
    told: queue.Queue[str] = queue.Queue()
    with supervised([("the sleeper", sleeper)], told.put, restart=False):
        assert sleeper.process is not None
        sleeper.process.kill()
        assert told.get(timeout=SECONDS).endswith("It is not started again.")
    assert sleeper.starts == 1
    assert told.empty()


def test_one_that_cannot_be_started_is_told_and_tried_again(sleeper: Sleeper) -> None:
    told: queue.Queue[str] = queue.Queue()
    with supervised([("the sleeper", sleeper)], told.put):
        assert sleeper.process is not None
        sleeper.fails = True
        sleeper.process.kill()
        assert told.get(timeout=SECONDS).endswith("It is started again now.")
        assert told.get(timeout=SECONDS) == "the sleeper was not started: it ended at its start"
        assert told.get(timeout=SECONDS).startswith("the sleeper ended with exit status 1;")
        sleeper.fails = False
        assert told.get(timeout=SECONDS) == "the sleeper runs again."


def test_one_that_the_machine_does_not_start_is_tried_again_after_growing_pauses(
    sleeper: Sleeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def no_pause(attempt: int) -> float:
        asked.append(attempt)
        return 0.0

    monkeypatch.setattr(supervision, "pause_before", no_pause)
    told: queue.Queue[str] = queue.Queue()
    with supervised([("the sleeper", sleeper)], told.put):
        assert sleeper.process is not None
        sleeper.refusals = 2
        sleeper.process.kill()
        assert told.get(timeout=SECONDS).endswith("It is started again now.")
        for _ in range(2):
            assert told.get(timeout=SECONDS) == (
                f"the sleeper was not started: [Errno {errno.EAGAIN}] "
                f"{os.strerror(errno.EAGAIN)}. It is tried again now."
            )
        assert told.get(timeout=SECONDS) == "the sleeper runs again."
        # The next death counts on.
        sleeper.process.kill()
        assert told.get(timeout=SECONDS).endswith("It is started again now.")
        assert told.get(timeout=SECONDS) == "the sleeper runs again."
    assert asked[:4] == [0, 1, 2, 3]


def die_twice(other: Sleeper, told: queue.Queue[str]) -> None:
    """Kills a program twice. Whatever had died before it has been told when it runs again."""
    for _ in range(2):
        assert other.process is not None
        other.process.kill()
        assert told.get(timeout=SECONDS).startswith("the other was killed")
        assert told.get(timeout=SECONDS) == "the other runs again."


def test_one_that_was_not_started_and_is_stopped_by_the_user_is_left_alone(
    sleeper: Sleeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "pause_before", lambda _: 0.0)
    told: queue.Queue[str] = queue.Queue()

    def stopping(words: str) -> None:
        if words.startswith("the sleeper was not started"):
            sleeper.process = None
        told.put(words)

    other = Sleeper(tmp_path / "other.log")
    other.start()
    with supervised([("the sleeper", sleeper), ("the other", other)], stopping):
        assert sleeper.process is not None
        sleeper.refusals = 1
        sleeper.process.kill()
        assert told.get(timeout=SECONDS).endswith("It is started again now.")
        assert told.get(timeout=SECONDS).endswith("It is tried again now.")
        # When the other runs again, the first would do so, too.
        die_twice(other, told)
    assert sleeper.starts == 1
    assert other.process is not None
    other.process.kill()
    other.process.wait()


class _Ended:
    """A process that ends while somebody waits for it."""

    returncode = -signal.SIGTERM

    def __init__(self) -> None:
        self._looks = 0

    def poll(self) -> int | None:
        self._looks += 1
        return None if self._looks == 1 else self.returncode


@pytest.mark.parametrize(
    ("processes", "words"),
    [
        ([None], "^switch cm1 was stopped at its start$"),
        ([_Ended(), None], "^switch cm1 was killed by SIGTERM at its start: it said nothing; see"),
    ],
)
def test_a_switch_that_the_user_stops_at_its_start_is_told(
    processes: list[Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A new process is there at the first look; from the stop on there is none.
    looks = iter(processes)
    monkeypatch.setattr(DocsisSwitch, "process", property(lambda _: next(looks, None)))
    log = tmp_path / "cm1.log"
    log.touch()
    switch = DocsisSwitch.__new__(DocsisSwitch)
    made = {"name": "cm1", "joined": None, "log": log, "grpc_address": f"unix:{tmp_path}/none"}
    switch.__dict__.update(made, _log_start=0)
    with pytest.raises(TestbedError, match=words):
        switch.wait_ready()


def test_one_that_is_ended_on_purpose_is_left_alone(sleeper: Sleeper, tmp_path: Path) -> None:
    other = Sleeper(tmp_path / "other.log")
    other.start()
    told: queue.Queue[str] = queue.Queue()
    with supervised([("the sleeper", sleeper), ("the other", other)], told.put):
        process, sleeper.process = sleeper.process, None
        assert process is not None
        process.kill()
        process.wait()
        # When the other's death has been told, the first's would have been, too.
        die_twice(other, told)
    assert sleeper.starts == 1
    assert other.process is not None
    other.process.kill()
    other.process.wait()


@pytest.mark.root
def test_the_death_of_a_program_of_two_devices_is_told_once_and_both_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DocsisSwitch, "command", lambda _: ["sleep", "600"])
    monkeypatch.setattr(DocsisSwitch, "wait_ready", lambda _: None)
    told: queue.Queue[str] = queue.Queue()
    log = tmp_path / "log"
    with recorded_run("test", tmp_path / "run") as run:
        made: dict[str, Any] = {"run": run, "log": log, "grpc_address": "", "inNamespace": False}
        modem = DocsisSwitch("cm1", device_id=1, **made)
        cmts = SwitchBeside("cmts1", device_id=2, beside=modem, **made)
        for switch in (modem, cmts):
            switch.start()
        programs = [(switch.told, switch) for switch in programs_of((modem, cmts))]
        with supervised(programs, told.put):
            first = cmts.process
            assert first is not None
            first.kill()
            assert told.get(timeout=SECONDS) == (
                f"the switch of cm1 and cmts1 was killed by SIGKILL; its log is {log}. "
                "It is started again now."
            )
            assert told.get(timeout=SECONDS) == "the switch of cm1 and cmts1 runs again."
            assert cmts.process is modem.process is not first
            assert cmts.process is not None
            assert cmts.process.poll() is None
        modem.end_program()
        assert cmts.process is None
    assert told.empty()


def test_pauses_grow_to_a_bound() -> None:
    pauses = [pause_before(attempt) for attempt in range(8)]
    assert pauses == [0, 1, 2, 4, 8, 16, LONGEST_PAUSE, LONGEST_PAUSE]
    assert pause_before(10**9) == LONGEST_PAUSE


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "ended with exit status 0"),
        (3, "ended with exit status 3"),
        (-signal.SIGKILL, "was killed by SIGKILL"),
        (-64, "was killed by SIGRTMAX"),
        (-200, "was killed by signal 200"),
    ],
)
def test_endings_in_words(status: int, words: str) -> None:
    assert how(status) == words


def test_last_words(tmp_path: Path) -> None:
    log = tmp_path / "switch.log"
    log.write_text("first run\n")
    before = log.stat().st_size
    assert last_words(log) == "first run"
    assert last_words(log, before) == f"it said nothing; see {tmp_path}"
    log.write_text("first run\nsecond\nrun\n")
    assert last_words(log, before) == "run"


def test_a_program_is_told_with_its_own_error(tmp_path: Path) -> None:
    """A program's output for others may end with anything: a table, or the bracket of JSON."""
    log = tmp_path / "client.log"
    log.write_text('{\n "intervals": []\n}\n')
    errors_of(log).write_text("")
    assert last_words(log) == "}"
    errors_of(log).write_text("a warning\nthe server has gone\n")
    assert last_words(log) == "the server has gone"
