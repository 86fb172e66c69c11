# SPDX-License-Identifier: Apache-2.0
"""Commands under way: what is kept of them, and that none is left. Processes stand in for hosts."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from docsis_control.topology.loader import load_topology
from docsis_testbed import own_commands
from docsis_testbed.own_commands import Done, OwnCommand, _Runner, commands_running
from docsis_testbed.paths import TOPOLOGIES


class Here:
    """A testbed whose hosts are this machine."""

    topology = load_topology(TOPOLOGIES / "residential.yaml")

    def node(self, name: str) -> Here:
        """The node of that name."""
        del name
        return self

    def popen(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """Starts a program as mnexec does: as the head of a group."""
        return subprocess.Popen(command, start_new_session=True, **options)


def played(
    folder: Path, *commands: OwnCommand, until: Callable[[], bool] = lambda: True
) -> list[Done]:
    """Returns what became of commands that ran until something was so."""
    here: Any = Here()
    with commands_running(here, commands, folder) as done:
        deadline = time.monotonic() + 60
        while not until():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    return done


def runs(pid: int) -> bool:
    """Whether there is such a process, and it is more than a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_output_is_kept_with_names_as_addresses(tmp_path: Path) -> None:
    log = tmp_path / "1-cpe1.log"
    words = ("sh", "-c", 'echo "$@"; echo told >&2; exit 3', "sh", "server1", "a  b", "$HOME")
    [one] = played(tmp_path, OwnCommand("cpe1", words), until=lambda: "told" in log.read_text())
    assert log.read_text() == "10.0.0.101 a  b $HOME\ntold\n"
    assert one.log == log
    assert one.ended in ("ended with exit status 3", "was ended with the run")


def test_a_command_that_has_ended_tells_how(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    first = OwnCommand("cpe1", ("false",))
    then = OwnCommand("cpe1", ("touch", str(marker)), 0.5)
    done = played(tmp_path / "logs", first, then, until=marker.exists)
    assert done[0].words == "ended with exit status 1"


def test_what_has_not_ended_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "1-cpe1.log"
    words = ("sh", "-c", "trap '' TERM; sleep 1000 & echo $!; echo $$; sleep 1000; sleep 1000")
    monkeypatch.setattr(own_commands, "_END_SECONDS", 0.5)
    [one, late] = played(
        tmp_path,
        OwnCommand("cpe1", words),
        OwnCommand("cpe2", ("true",), 1000.0),
        until=lambda: log.read_text().count("\n") == 2,
    )
    assert one.words == "was ended with the run"
    assert late.words == "was not started: the run was over before"
    # The kernel takes a moment to end what was killed.
    deadline = time.monotonic() + 60
    while left := [pid for pid in map(int, log.read_text().split()) if runs(pid)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def test_a_command_that_has_ended_keeps_its_id_until_it_needs_no_signal(tmp_path: Path) -> None:
    here: Any = Here()
    command = OwnCommand("cpe1", ("sh", "-c", "exit 3"))
    runner = _Runner(here, command, {}, tmp_path / "log", threading.Event())
    runner.thread.start()
    runner.thread.join(60)
    assert not runner.thread.is_alive()
    process = runner._process
    assert process is not None
    assert process.returncode is None
    assert psutil.Process(process.pid).parent() == psutil.Process()
    # Its output ends a moment before it does.
    deadline = time.monotonic() + 60
    while runs(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    runner.ask_to_end(0.0)
    runner.kill_late(time.monotonic() + 60)
    assert runner.done().words == "ended with exit status 3"


@pytest.mark.parametrize(
    ("on_term", "end_seconds", "asked"),
    [("echo asked; exit", 60.0, True), ("", 0.5, False)],
    ids=["SIGTERM", "SIGKILL"],
)
def test_what_a_command_has_left_behind_is_ended_with_the_run(
    on_term: str, end_seconds: float, asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "1-cpe1.log"
    left = 'trap "$0" TERM; echo $$; while :; do sleep 0.01; done'
    words = ("sh", "-c", 'echo $$; sh -c "$1" "$2" &', "sh", left, on_term)
    monkeypatch.setattr(own_commands, "_END_SECONDS", end_seconds)

    def left_alone() -> bool:
        said = log.read_text().split()
        return len(said) == 2 and not runs(int(said[0]))

    [one] = played(tmp_path, OwnCommand("cpe1", words), until=left_alone)
    assert one.words == "ended with exit status 0"
    _, behind, *more = log.read_text().split()
    # The shell may say how its sleep has ended.
    assert ("asked" in more) is asked
    # The kernel takes a moment to end what was killed.
    deadline = time.monotonic() + 60
    while runs(int(behind)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_command_that_ended_before_it_had_a_group_tells_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Here, "popen", lambda _, command, **options: subprocess.Popen(command, **options)
    )
    here: Any = Here()
    command = OwnCommand("cpe1", ("sh", "-c", "exit 3"))
    runner = _Runner(here, command, {}, tmp_path / "log", threading.Event())
    runner.thread.start()
    runner.thread.join(60)
    assert runner._process is not None
    deadline = time.monotonic() + 60
    while runs(runner._process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    runner.ask_to_end(0.0)
    runner.kill_late(time.monotonic() + 60)
    assert runner.done().words == "ended with exit status 3"


def test_more_output_than_is_kept_is_cut_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_commands, "MOST_OUTPUT", 1 << 20)
    marker = tmp_path / "marker"
    script = f"head -c 3000000 /dev/zero; touch {marker}; sleep 1000"
    [one] = played(tmp_path, OwnCommand("cpe1", ("sh", "-c", script)), until=marker.exists)
    assert one.cut
    assert one.log.stat().st_size == 1 << 20
    assert one.words == "was ended with the run; the log has 1 MiB of it"


def test_a_program_that_does_not_start_is_told(tmp_path: Path) -> None:
    [one] = played(tmp_path, OwnCommand("cpe1", (str(tmp_path),)))
    assert one.words.startswith("was not started: ")


def test_without_commands_there_is_no_folder(tmp_path: Path) -> None:
    assert played(tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_all_commands_are_asked_to_end_before_one_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[signal.Signals] = []
    really = own_commands._signal

    def recorded(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
        sent.append(number)
        really(process, number)

    monkeypatch.setattr(own_commands, "_signal", recorded)
    monkeypatch.setattr(own_commands, "_END_SECONDS", 0.5)
    stubborn = OwnCommand("cpe1", ("sh", "-c", "trap '' TERM; echo on; sleep 1000; sleep 1000"))
    logs = [tmp_path / f"{number}-cpe1.log" for number in (1, 2, 3)]
    done = played(tmp_path, *[stubborn] * 3, until=lambda: all(map(Path.read_text, logs)))
    assert [one.words for one in done] == ["was ended with the run"] * 3
    assert sent == [signal.SIGTERM] * 3 + [signal.SIGKILL] * 3


def test_a_log_that_cannot_be_written_is_told_and_the_command_goes_on(tmp_path: Path) -> None:
    (tmp_path / "1-cpe1.log").symlink_to("/dev/full")
    marker = tmp_path / "marker"
    script = f"head -c 300000 /dev/zero; touch {marker}"
    [one] = played(tmp_path, OwnCommand("cpe1", ("sh", "-c", script)), until=marker.exists)
    assert one.words.endswith("; its log ends early (No space left on device)")
