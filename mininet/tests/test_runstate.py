# SPDX-License-Identifier: Apache-2.0
"""Clean-up removes exactly what was recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from docsis_control.local_socket import default_folder
from docsis_testbed import runstate
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RUN_STATE

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(SLEEPER, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
        process.kill()


def test_everything_recorded_is_ended(tmp_path: Path, sleeper: subprocess.Popen[str]) -> None:
    with runstate.recorded_run("demo", tmp_path) as run:
        run.add_process(sleeper.pid, "sleeper")
        assert len(list(tmp_path.glob("*.json"))) == 1
    assert sleeper.wait(timeout=10) == -signal.SIGTERM
    assert list(tmp_path.glob("*.json")) == []


def test_interrupted_run_is_cleaned_up_too(tmp_path: Path, sleeper: subprocess.Popen[str]) -> None:
    def run_until_terminated() -> None:
        with runstate.recorded_run("demo", tmp_path) as run:
            run.add_process(sleeper.pid, "sleeper")
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit, match="143"):
        run_until_terminated()
    assert sleeper.wait(timeout=10) == -signal.SIGTERM


def test_process_that_ignores_sigterm_is_killed() -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('up', flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        identity = runstate.identify(process.pid, "stubborn")
        assert identity is not None
        runstate.end_processes([identity], grace=0.2)
        assert process.wait(timeout=10) == -signal.SIGKILL


def test_another_process_of_the_same_id_is_left_alone(sleeper: subprocess.Popen[str]) -> None:
    identity = runstate.identify(sleeper.pid, "sleeper")
    assert identity is not None
    imposter = runstate.ProcessId(identity.pid, identity.started - 1, "gone long ago")
    assert runstate.end_processes([imposter]) == []
    assert sleeper.poll() is None


def test_controllers_of_root_are_found_where_runs_are_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_folder() == RUN_STATE


def test_a_thread_that_has_the_id_now_is_left_alone() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert thread.native_id not in (None, os.getpid())
        assert thread.native_id is not None
        gone = runstate.ProcessId(thread.native_id, 1, "gone long ago")
        assert runstate.end_processes([gone]) == []
    finally:
        done.set()
        thread.join()


def test_interface_with_another_index_is_left_alone() -> None:
    owner = runstate.identify(os.getpid(), "test")
    assert owner is not None
    state = runstate.State(owner, "test", interfaces=[runstate.InterfaceId("lo", 999_999)])
    assert runstate.remove(state) == []
    assert runstate.interface_index("lo") is not None


def test_second_run_is_refused_by_name(tmp_path: Path) -> None:
    with (
        runstate.recorded_run("demo", tmp_path),
        pytest.raises(TestbedError, match=rf"docsis-p4 demo \(process {os.getpid()}\)"),
        runstate.recorded_run("run", tmp_path),
    ):
        pytest.fail("must not start")


def test_leftovers_of_a_dead_owner_are_swept(
    tmp_path: Path, sleeper: subprocess.Popen[str]
) -> None:
    identity = runstate.identify(sleeper.pid, "sleeper")
    assert identity is not None
    dead = runstate.ProcessId(identity.pid, identity.started - 1, "owner")
    runstate.RunState(tmp_path / "1.json", runstate.State(dead, "demo", [identity]))
    removed = runstate.sweep(tmp_path)
    assert removed == [f"process {sleeper.pid} (sleeper)"]
    assert sleeper.wait(timeout=10) == -signal.SIGTERM


def test_state_of_a_live_owner_is_not_swept(tmp_path: Path, sleeper: subprocess.Popen[str]) -> None:
    owner = runstate.identify(os.getpid(), "test")
    identity = runstate.identify(sleeper.pid, "sleeper")
    assert owner is not None
    assert identity is not None
    runstate.RunState(tmp_path / "1.json", runstate.State(owner, "demo", [identity]))
    assert runstate.sweep(tmp_path) == []
    assert sleeper.poll() is None


def test_stop_lets_the_owner_clean_up(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from docsis_testbed import runstate\n"
        "try:\n"
        "    with runstate.recorded_run('demo', Path(sys.argv[1])):\n"
        "        print('up', flush=True); time.sleep(600)\n"
        "except SystemExit: sys.exit(7)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        assert runstate.stop(tmp_path) == [f"process {owner.pid} (demo)"]
        assert owner.wait(timeout=10) == 7
    assert runstate.stop(tmp_path) == []


def test_foreign_state_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(TestbedError, match=r"x\.json: not a state file"):
        runstate.stop(tmp_path)


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_interrupt_waits_until_what_is_made_is_recorded(
    number: signal.Signals, kind: type[BaseException]
) -> None:
    steps = []

    def make() -> None:
        with runstate.interrupts_deferred():
            os.kill(os.getpid(), number)
            steps.append("recorded")
        steps.append("not reached")

    with pytest.raises(kind):
        make()
    assert steps == ["recorded"]


@pytest.mark.root
def test_daemons_in_our_namespaces_are_ended_too(
    tmp_path: Path, sleeper: subprocess.Popen[str]
) -> None:
    """A program that a user left in a host goes with the host; one outside stays."""
    daemon = "sleep 600 >/dev/null 2>&1 & echo $!; exec sleep 600"
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", daemon], stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
        identity = runstate.identify(pid, "daemon")
        assert identity is not None
        with runstate.recorded_run("demo", tmp_path) as run:
            run.add_process(shell.pid, "shell of cpe1")
        assert not runstate.alive(identity)
    assert sleeper.poll() is None
