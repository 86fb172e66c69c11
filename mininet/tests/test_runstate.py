# SPDX-License-Identifier: Apache-2.0
"""A run that ends in any way leaves nothing, and nobody else's processes are touched."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil
import pytest

from docsis_control.local_socket import default_folder
from docsis_testbed import interrupts, keeper, real_time_settings, runfiles, runstate
from docsis_testbed.errors import TestbedError
from docsis_testbed.lifetime import Lifetime
from docsis_testbed.namespaces import CLONE_NEWPID, made_with, network_namespace
from docsis_testbed.paths import RUN_STATE
from docsis_testbed.real_time_settings import Setting, share, turn

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]

_NUMBERS = itertools.count()

OWNER = """
import json, os, sys, time
from pathlib import Path
from docsis_testbed import netlink, runstate

folder, name, then = sys.argv[1:]
with runstate.recorded_run("demo", Path(folder)) as run:
    # One with children, one that has left its session, and one in namespaces of its own.
    run.spawn(["sh", "-c", "sleep 600 & setsid sleep 600 & exec sleep 600"])
    run.spawn(["unshare", "--net", "--mount", "sleep", "600"])
    if name:
        ends = [name + "a", name + "b"]
        netlink.add_veth(tuple(ends))
        for end in ends:
            run.add_interface(end)
    (run.scratch_folder() / "logs").mkdir()
    print("up", flush=True)
    if then == "raise":
        sys.stdin.readline()
        raise RuntimeError("something went wrong")
    if then == "leave":
        sys.stdin.readline()
    else:
        time.sleep(600)
"""


@dataclass(frozen=True)
class Run:
    """A run of another process.

    Attributes:
        owner: The process that owns it.
        keeper: The process id of its keeper.
        init: First process of its PID namespace.
        members: All that is in the namespace.
        interfaces: Interfaces that it has made in the caller's network namespace.
        folder: Folder of its record.
        scratch: Its folder for what is not kept.
    """

    owner: subprocess.Popen[str]
    keeper: int
    init: int
    members: dict[int, float]
    interfaces: tuple[str, str]
    folder: Path
    scratch: Path

    def left(self) -> list[str]:
        """Lists the remains of the run."""
        left = [f"process {pid}" for pid, at in self.members.items() if lives(pid, at)]
        left += [name for name in self.interfaces if runfiles.interface_index(name) is not None]
        left += [p.name for p in self.folder.iterdir() if p.name != runfiles.LOCK]
        left += [str(self.scratch)] if self.scratch.exists() else []
        with (self.folder / runfiles.LOCK).open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                left.append("the lock")
        return left

    def wait_until_gone(self) -> None:
        """Until nothing is left."""
        deadline = time.monotonic() + 30
        while left := self.left():
            assert time.monotonic() < deadline, left
            time.sleep(0.02)


def lives(pid: int, created: float) -> bool:
    """Whether exactly that process is there and has not ended."""
    try:
        process = psutil.Process(pid)
        return process.create_time() == created and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def pid_namespace(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return None


def members(init: int) -> dict[int, float]:
    """Processes of a PID namespace, and when they began."""
    namespace = pid_namespace(init)
    return {
        process.pid: process.create_time()
        for process in psutil.process_iter()
        if pid_namespace(process.pid) == namespace
    }


@contextmanager
def run_of_another(
    folder: Path, then: str = "sleep", *, interfaces: bool = True, prefix: tuple[str, ...] = ()
) -> Iterator[Run]:
    """A run of a process of its own that is under way."""
    name = f"life{os.getpid()}-{next(_NUMBERS)}" if interfaces else ""
    with subprocess.Popen(
        # A shell starts what runs in its background, CI perhaps, with SIGINT ignored.
        [*prefix, *("env", "--default-signal=INT"),
         *(sys.executable, "-c", OWNER, str(folder), name, then)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as owner:  # fmt: skip
        try:
            assert owner.stdout is not None
            assert owner.stderr is not None
            assert owner.stdout.readline() == "up\n", owner.stderr.read()
            children = psutil.Process(owner.pid).children()
            (keeper,) = [c for c in children if "docsis_testbed.keeper" in c.cmdline()]
            (init,) = keeper.children()
            inside = members(init.pid)
            # init, the shell with its two children, and the one with namespaces of its own.
            deadline = time.monotonic() + 10
            while len(inside) < 5:
                assert time.monotonic() < deadline, inside
                inside = members(init.pid)
            names = (f"{name}a", f"{name}b") if interfaces else ("none-a", "none-b")
            state = runfiles.load(folder)
            assert state is not None
            assert state.scratch is not None
            scratch = Path(state.scratch.path)
            assert scratch.is_dir()
            yield Run(owner, keeper.pid, init.pid, inside, names, folder, scratch)
        finally:
            if owner.poll() is None:
                owner.kill()
                owner.wait()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[str]]:
    """A stranger."""
    with subprocess.Popen(SLEEPER, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
        process.kill()


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[str]]:
    """A stranger in a network namespace of its own."""
    with subprocess.Popen(
        ["unshare", "--net", *SLEEPER], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
        process.kill()


def kill_owner(run: Run) -> None:
    run.owner.kill()


def kill_keeper(run: Run) -> None:
    os.kill(run.keeper, signal.SIGKILL)


def kill_init(run: Run) -> None:
    os.kill(run.init, signal.SIGKILL)


def kill_owner_and_keeper(run: Run) -> None:
    # Neither may see the other's end.
    os.kill(run.keeper, signal.SIGSTOP)
    run.owner.kill()
    os.kill(run.keeper, signal.SIGKILL)


def kill_owner_and_init(run: Run) -> None:
    run.owner.send_signal(signal.SIGSTOP)
    os.kill(run.init, signal.SIGKILL)
    run.owner.kill()


def interrupt(run: Run) -> None:
    run.owner.send_signal(signal.SIGINT)


def terminate(run: Run) -> None:
    run.owner.terminate()


def hang_up(run: Run) -> None:
    run.owner.send_signal(signal.SIGHUP)


@pytest.mark.root
@pytest.mark.parametrize(
    "end",
    [
        kill_owner,
        kill_keeper,
        kill_init,
        kill_owner_and_keeper,
        kill_owner_and_init,
        interrupt,
        terminate,
        hang_up,
    ],
)
def test_a_run_that_is_ended_leaves_nothing(
    end: Callable[[Run], None],
    tmp_path: Path,
    sleeper: subprocess.Popen[str],
    stranger: subprocess.Popen[str],
) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    with run_of_another(tmp_path) as run:
        end(run)
        run.owner.wait(timeout=30)
        run.wait_until_gone()
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert sleeper.poll() is None
    assert stranger.poll() is None


@pytest.mark.root
@pytest.mark.parametrize("then", ["leave", "raise"])
def test_a_run_that_ends_leaves_nothing(then: str, tmp_path: Path) -> None:
    with run_of_another(tmp_path, then) as run:
        assert run.owner.stdin is not None
        assert run.owner.stderr is not None
        run.owner.stdin.close()
        assert run.owner.wait(timeout=30) == (0 if then == "leave" else 1)
        assert ("RuntimeError: something went wrong" in run.owner.stderr.read()) == (
            then == "raise"
        )
        # At once, and not some time later.
        assert run.left() == []


@pytest.mark.root
def test_of_a_run_killed_with_all_its_keepers_the_next_removes_what_is_left(
    tmp_path: Path,
) -> None:
    with run_of_another(tmp_path) as run:
        os.kill(run.keeper, signal.SIGSTOP)
        run.owner.send_signal(signal.SIGSTOP)
        for pid in (run.init, run.owner.pid, run.keeper):
            os.kill(pid, signal.SIGKILL)
        run.owner.wait(timeout=30)
        deadline = time.monotonic() + 30
        while alive := [pid for pid, at in run.members.items() if lives(pid, at)]:
            assert time.monotonic() < deadline, alive
            time.sleep(0.02)
        # Its peer goes with the first.
        left = [f"interface {run.interfaces[0]}", f"folder {run.scratch}"]
        assert runstate.stop(tmp_path) == left
        assert run.left() == []


@pytest.mark.root
def test_a_run_whose_keeper_was_killed_says_so(tmp_path: Path) -> None:
    with run_of_another(tmp_path) as run:
        kill_keeper(run)
        assert run.owner.wait(timeout=30) == 1
        assert run.owner.stderr is not None
        assert "somebody killed the keeper of its processes" in run.owner.stderr.read()


STOP = "import sys; from pathlib import Path; from docsis_testbed import runstate\n"
STOP += "print(*runstate.stop(Path(sys.argv[1])), sep='\\n')"


@pytest.mark.root
@pytest.mark.parametrize(
    "elsewhere",
    [
        (),
        ("unshare", "--net"),
        ("unshare", "--pid", "--fork", "--mount-proc"),
        ("unshare", "--net", "--pid", "--fork", "--mount-proc"),
    ],
)
def test_stop_from_another_namespace_ends_the_run_and_no_stranger(
    elsewhere: tuple[str, ...],
    tmp_path: Path,
    sleeper: subprocess.Popen[str],
    stranger: subprocess.Popen[str],
) -> None:
    with run_of_another(tmp_path) as run:
        stopped = subprocess.run(
            [*elsewhere, sys.executable, "-c", STOP, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (stopped.returncode, stopped.stderr) == (0, "")
        assert stopped.stdout == f"docsis-p4 demo (process {run.owner.pid})\n"
        # As after SIGTERM: it cleaned up itself.
        assert run.owner.wait(timeout=60) == 128 + signal.SIGTERM
        assert run.left() == []
    assert sleeper.poll() is None
    assert stranger.poll() is None


@pytest.mark.root
def test_a_run_in_another_network_namespace_is_stopped_and_no_stranger(
    tmp_path: Path, sleeper: subprocess.Popen[str], stranger: subprocess.Popen[str]
) -> None:
    with run_of_another(tmp_path, interfaces=False, prefix=("unshare", "--net")) as run:
        assert runstate.stop(tmp_path) == [f"docsis-p4 demo (process {run.owner.pid})"]
        assert run.left() == []
    assert sleeper.poll() is None
    assert stranger.poll() is None


@pytest.mark.root
def test_a_run_that_does_not_end_is_killed(tmp_path: Path) -> None:
    with run_of_another(tmp_path) as run:
        run.owner.send_signal(signal.SIGSTOP)
        assert runstate.stop(tmp_path, grace=0.1) == [f"docsis-p4 demo (process {run.owner.pid})"]
        assert run.owner.wait(timeout=60) == -signal.SIGKILL
        run.wait_until_gone()


@pytest.mark.root
def test_stop_beside_a_run_that_ends_by_itself(tmp_path: Path) -> None:
    with run_of_another(tmp_path, "leave") as run:
        assert run.owner.stdin is not None
        run.owner.stdin.close()
        # Either it was asked before, or it has ended; both are fine, and nothing else is.
        assert runstate.stop(tmp_path) in ([], [f"docsis-p4 demo (process {run.owner.pid})"])
        assert run.left() == []
        assert run.owner.wait(timeout=60) in (0, 128 + signal.SIGTERM)


def test_stop_while_a_run_ends_waits_for_it(tmp_path: Path) -> None:
    """A run that ends has the lock, and its keeper no longer answers."""
    holding = (tmp_path / runfiles.LOCK).open("w")
    fcntl.flock(holding, fcntl.LOCK_EX)
    holding.write("docsis-p4 demo (process 1)")
    holding.flush()
    timer = threading.Timer(0.2, holding.close)
    timer.start()
    try:
        assert runstate.stop(tmp_path) == []
        assert holding.closed
    finally:
        timer.join()


def test_a_run_that_can_have_no_namespace_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        pytest.raises(TestbedError, match="no PID namespace for this run .*run as root"),
        runstate.recorded_run("demo", tmp_path),
    ):
        pytest.fail("must not start")
    assert [path.name for path in tmp_path.iterdir()] == [runfiles.LOCK]
    assert runstate.stop(tmp_path) == []


def test_stop_where_nothing_ran(tmp_path: Path) -> None:
    assert runstate.stop(tmp_path) == []
    assert runstate.stop(tmp_path / "none") == []


def test_another_users_lock_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    for command in (runstate.stop, runstate.remove_folder):
        with pytest.raises(TestbedError, match="lock: Permission denied; run this as the user"):
            command(tmp_path)


def test_a_lock_that_nobody_gives_up_is_told(tmp_path: Path) -> None:
    with (tmp_path / runfiles.LOCK).open("w") as holding:
        fcntl.flock(holding, fcntl.LOCK_EX)
        holding.write("docsis-p4 demo (process 1)")
        holding.flush()
        with pytest.raises(TestbedError, match=r"docsis-p4 demo \(process 1\) does not end"):
            runstate.stop(tmp_path, grace=0.1)


@pytest.mark.root
def test_everything_started_is_ended_and_more_can_be(
    tmp_path: Path, sleeper: subprocess.Popen[str]
) -> None:
    with runstate.recorded_run("demo", tmp_path) as run:
        for _ in range(2):
            first = run.spawn(SLEEPER, stdout=subprocess.PIPE, text=True)
            assert first.stdout is not None
            assert first.stdout.readline() == "up\n"
            # This is a program that a user leaves in the background of a host.
            daemon = run.spawn(["sh", "-c", "setsid sleep 600 >&- 2>&- & echo up"],
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
            assert daemon.stdout is not None
            assert daemon.stdout.readline() == "up\n"
            assert daemon.wait(timeout=60) == 0
            namespace = pid_namespace(first.pid)
            run.clear()
            assert first.returncode == -signal.SIGTERM
            left = [p for p in psutil.pids() if pid_namespace(p) == namespace]
            # Only the first process of the namespace.
            assert len(left) == 1
    assert [p for p in psutil.pids() if pid_namespace(p) == namespace] == []
    assert sleeper.poll() is None


@pytest.mark.root
def test_interrupted_run_is_cleaned_up_too(tmp_path: Path) -> None:
    started = []

    def run_until_terminated() -> None:
        with runstate.recorded_run("demo", tmp_path) as run:
            started.append(run.spawn(["sleep", "600"]))
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit, match="143"):
        run_until_terminated()
    assert started[0].returncode == -signal.SIGTERM


@pytest.mark.root
def test_a_program_that_is_started_while_an_interrupt_comes_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    class Interrupted(subprocess.Popen[bytes]):
        """A program in whose start, in a thread of its own, SIGTERM reaches the main thread."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            super().__init__(*arguments, **options)
            started.append(self)

    def run_until_terminated() -> None:
        with runstate.recorded_run("demo", tmp_path) as run:
            monkeypatch.setattr(subprocess, "Popen", Interrupted)
            run.spawn(["sleep", "600"])
            pytest.fail("the interrupt was lost")

    with pytest.raises(SystemExit, match="143"):
        run_until_terminated()
    # It was waited for; the namespace cannot end before.
    assert [process.returncode for process in started] == [-signal.SIGTERM]
    assert [path.name for path in tmp_path.iterdir()] == [runfiles.LOCK]


@pytest.mark.root
def test_init_clears_no_longer_than_its_keeper_lives(tmp_path: Path) -> None:
    """A process that is killed and that nobody waits for stays in the namespace."""
    with (tmp_path / runfiles.LOCK).open("w") as lock:
        lifetime = Lifetime(tmp_path, lock.fileno())
        # Otherwise the keeper's end is told to this process.
        lifetime._ending = True
        process = made_with(
            lifetime._namespace, CLONE_NEWPID, lambda: subprocess.Popen(["sleep", "600"])
        )
        try:
            lifetime._tell(keeper.CLEAR)
            deadline = time.monotonic() + 30
            while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            lifetime._keeper.kill()
            # It does what the keeper can no longer do.
            while (tmp_path / runfiles.SOCKET).exists():
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            process.kill()
            process.wait()
            lifetime.close()


@pytest.mark.root
def test_a_keeper_whose_run_has_ended_meanwhile_ends_without_a_word(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.close()
    with theirs:
        ended = subprocess.run(
            [sys.executable, "-m", keeper.__name__, str(tmp_path), str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.root
def test_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('up', flush=True); time.sleep(600)"
    )
    with (tmp_path / runfiles.LOCK).open("w") as lock:
        lifetime = Lifetime(tmp_path, lock.fileno())
        process = lifetime.spawn([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        lifetime.clear(grace=0.2)
        assert process.returncode == -signal.SIGKILL
        lifetime.close()


class _Interrupted(queue.SimpleQueue[bytes]):
    """Answers of which the first is not waited for, as with Ctrl-C."""

    def __init__(self) -> None:
        super().__init__()
        self._waits = False

    def get(self, block: bool = True, timeout: float | None = None) -> bytes:
        """The next answer."""
        if not self._waits:
            self._waits = True
            raise KeyboardInterrupt
        return super().get(block, timeout)


@pytest.mark.root
def test_an_answer_that_nobody_waited_for_is_not_that_of_the_next_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / runfiles.LOCK).open("w") as lock:
        lifetime = Lifetime(tmp_path, lock.fileno())
        monkeypatch.setattr(lifetime, "_answers", _Interrupted())
        # The answer to this is that it has no mounts of its own.
        with pytest.raises(KeyboardInterrupt):
            lifetime.mount_proc(lifetime.spawn(["sleep", "600"]).pid)
        node = lifetime.spawn(
            ["unshare", "--mount", "sh", "-c", "echo up; exec sleep 600"], stdout=subprocess.PIPE
        )
        assert node.stdout is not None
        assert node.stdout.readline() == b"up\n"
        lifetime.mount_proc(node.pid)
        lifetime.clear(grace=0.2)
        lifetime.close()


@pytest.mark.root
def test_programs_that_have_ended_are_not_kept(tmp_path: Path) -> None:
    with (tmp_path / runfiles.LOCK).open("w") as lock:
        lifetime = Lifetime(tmp_path, lock.fileno())
        for _ in range(10):
            assert lifetime.spawn(["true"]).wait(timeout=20) == 0
        assert len(lifetime._started) == 1
        lifetime.close()


@pytest.mark.root
def test_the_processes_of_a_run_see_no_others(tmp_path: Path) -> None:
    """A signal to a process of the machine, by its id there, does not reach it from a run."""
    with runstate.recorded_run("demo", tmp_path) as run:
        reach = run.spawn(["kill", "-0", str(os.getpid())], stderr=subprocess.DEVNULL)
        assert reach.wait(timeout=60) == 1


@pytest.mark.root
def test_a_node_has_the_processes_of_the_run_in_its_proc(tmp_path: Path) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    with runstate.recorded_run("demo", tmp_path) as run:
        script = "echo up; read go; ps -e -o pid="
        node = run.spawn(
            ["unshare", "--mount", "--propagation", "shared", "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert node.stdout is not None
        assert node.stdout.readline() == b"up\n"
        run.mount_proc(node.pid)
        output, _ = node.communicate(b"go\n", timeout=20)
        # The first process, the shell, and ps.
        assert [int(pid) for pid in output.split()] == [1, 2, 3]
        # One that has the caller's mounts would change everybody's /proc.
        other = run.spawn(["sleep", "600"])
        with pytest.raises(TestbedError, match="it would be everybody's /proc"):
            run.mount_proc(other.pid)
    assert Path("/proc/self/mountinfo").read_text() == mounts


def test_controllers_of_root_are_found_where_runs_are_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_folder() == RUN_STATE


def test_interface_with_another_index_is_left_alone() -> None:
    state = runfiles.State("demo", network_namespace(), [runfiles.InterfaceId("lo", 999_999)])
    assert runfiles.remove_interfaces(state) == []
    assert runfiles.interface_index("lo") is not None


def by_nothing(place: Path, other: Path) -> None:
    del place, other


def by_a_link(place: Path, other: Path) -> None:
    place.symlink_to(other)


def by_another(place: Path, other: Path) -> None:
    other.rename(place)


@pytest.mark.parametrize("replaced", [by_nothing, by_a_link, by_another])
def test_what_stands_in_the_place_of_a_scratch_folder_stays(
    replaced: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    scratch, other = tmp_path / "docsis-p4-x", tmp_path / "other"
    for folder in (scratch, other):
        folder.mkdir()
        (folder / folder.name).touch()
    state = runfiles.State("demo", network_namespace(), scratch=runfiles.FolderId.of(scratch))
    scratch.rename(tmp_path / "elsewhere")
    replaced(scratch, other)
    assert runfiles.remove_scratch(state) == []
    # Both have what was in them.
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2


def test_interface_of_another_namespace_is_told(tmp_path: Path) -> None:
    """An index means nothing there, and a name may be somebody else's."""
    index = runfiles.interface_index("lo")
    assert index is not None
    runfiles.State("demo", (4, 1), [runfiles.InterfaceId("lo", index)]).write(tmp_path)
    with pytest.raises(TestbedError, match=r"left interfaces \(lo\) in the network namespace"):
        runstate.stop(tmp_path)
    assert (tmp_path / runfiles.STATE).exists()


@pytest.mark.root
def test_second_run_is_refused_by_name(tmp_path: Path) -> None:
    with (
        runstate.recorded_run("demo", tmp_path),
        pytest.raises(TestbedError, match=rf"docsis-p4 demo \(process {os.getpid()}\)"),
        runstate.recorded_run("run", tmp_path),
    ):
        pytest.fail("must not start")


@pytest.mark.parametrize("content", ["{}", "no JSON", '{"command": "x", "network_namespace": 5}'])
def test_foreign_state_file_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / runfiles.STATE).write_text(content)
    with pytest.raises(TestbedError, match=r"run\.json: not a state file"):
        runstate.stop(tmp_path)


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    state = runfiles.State(
        "demo",
        network_namespace(),
        [runfiles.InterfaceId("cm1-eth1", 7)],
        {"/a": 950_000},
        runfiles.FolderId.of(tmp_path),
    )
    state.write(tmp_path)
    assert runfiles.load(tmp_path) == state
    assert json.loads((tmp_path / runfiles.STATE).read_text())["command"] == "demo"


class Machine:
    """A machine whose SCHED_RR has 95% of a second, by two settings, and turns of 100 ms."""

    def __init__(self, folder: Path) -> None:
        self.kernel, self.group = folder / "kernel", folder / "group"
        self.mounts = folder / "mountinfo"
        for name, place in (("sched_rt", self.kernel), ("cpu.rt", self.group)):
            place.mkdir(parents=True)
            (place / f"{name}_runtime_us").write_text("950000\n")
            (place / f"{name}_period_us").write_text("1000000\n")
        (self.kernel / "sched_rr_timeslice_ms").write_text("100\n")
        self.mounts.write_text(
            "24 30 0:22 / /proc rw,nosuid - proc proc rw\n"
            "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
            f"32 31 0:29 / {self.group} rw,relatime shared:9 - cgroup cgroup rw,cpu\n"
            "34 31 0:31 /some/container /sys/fs/cgroup/other rw - cgroup cgroup rw,cpu\n"
        )

    def settings(self) -> Sequence[Setting]:
        return real_time_settings.settings(self.kernel, self.mounts)

    def set(self, value: int) -> None:
        for setting in self.settings():
            assert setting.put(value)

    @property
    def values(self) -> list[str]:
        return [setting.file.read_text().strip() for setting in self.settings()]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Stands for this one."""
    machine = Machine(tmp_path / "machine")
    settings = machine.settings()
    monkeypatch.setattr(real_time_settings, "settings", lambda: settings)
    monkeypatch.setattr(machine, "settings", lambda: settings)
    return machine


@pytest.mark.root
def test_a_run_puts_back_how_much_real_time_there_is(tmp_path: Path, machine: Machine) -> None:
    with runstate.recorded_run("demo", tmp_path) as run:
        for _ in range(2):
            run.change_real_time_settings()
            assert machine.values == ["4", "990000", "990000"]
            run.clear()
            assert machine.values == ["100", "950000", "950000"]
        run.change_real_time_settings()
    assert machine.values == ["100", "950000", "950000"]


def killed(folder: Path, machine: Machine) -> None:
    """Leaves the remains of a killed run: its record, and the settings as it needed them."""
    before = real_time_settings.unfit(machine.settings())
    runfiles.State("demo", network_namespace(), real_time=before).write(folder)
    (folder / runfiles.LOCK).touch()
    real_time_settings.change(machine.settings(), before)
    assert machine.values == ["4", "990000", "990000"]


def test_stop_puts_back_what_a_killed_run_has_changed(tmp_path: Path, machine: Machine) -> None:
    killed(tmp_path, machine)
    # The group's first: it may not have more than the kernel gives.
    assert runstate.stop(tmp_path) == [
        f"{machine.group}/cpu.rt_runtime_us (it is 950000 again)",
        f"{machine.kernel}/sched_rt_runtime_us (it is 950000 again)",
        f"{machine.kernel}/sched_rr_timeslice_ms (it is 100 again)",
    ]
    assert machine.values == ["100", "950000", "950000"]


@pytest.mark.parametrize("since", [-1, 980_000])
def test_what_somebody_else_has_set_meanwhile_stays(
    tmp_path: Path, machine: Machine, since: int
) -> None:
    killed(tmp_path, machine)
    machine.set(since)
    assert runstate.stop(tmp_path) == []
    assert machine.values == [str(since)] * 3


def test_a_record_names_no_other_file(tmp_path: Path, machine: Machine) -> None:
    other = tmp_path / "other"
    other.write_text("990000")
    assert real_time_settings.put_back(machine.settings(), {str(other): 1}) == []
    assert other.read_text() == "990000"


@pytest.mark.parametrize(
    ("runtime", "period", "is_raised"),
    [
        ("950000", "1000000", True),
        ("95000", "100000", True),
        ("990000", "1000000", False),
        ("1000000", "1000000", False),
        ("-1", "1000000", False),
        ("", "1000000", False),
    ],
)
def test_real_time_is_raised_to_99_percent_where_it_is_less(
    tmp_path: Path, runtime: str, period: str, is_raised: bool
) -> None:
    setting, whole = share(tmp_path / "runtime", tmp_path / "period"), tmp_path / "period"
    # A kernel without the setting.
    assert real_time_settings.unfit([setting]) == {}
    setting.file.write_text(runtime)
    whole.write_text(period)
    before = real_time_settings.unfit([setting])
    assert before == ({str(setting.file): int(runtime)} if is_raised else {})
    real_time_settings.change([setting], before)
    raised = str(int(period) * 99 // 100)
    assert setting.file.read_text().strip() == (raised if is_raised else runtime)


@pytest.mark.parametrize(("there", "needed"), [("100", "4"), ("5", "4"), ("4", "4"), ("1", "1")])
def test_turns_of_real_time_are_cut_to_4_ms_where_they_are_longer(
    tmp_path: Path, there: str, needed: str
) -> None:
    setting = turn(tmp_path / "turn")
    assert real_time_settings.unfit([setting]) == {}
    setting.file.write_text(there)
    real_time_settings.change([setting], real_time_settings.unfit([setting]))
    assert setting.file.read_text().strip() == needed


@pytest.mark.root
def test_the_folder_is_removed_unless_a_run_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    with runstate.recorded_run("demo", folder):
        runstate.remove_folder(folder)
        assert folder.is_dir()
    runstate.remove_folder(folder)
    assert not folder.exists()


@pytest.fixture
def replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose lock is replaced by another run's between its opening and its locking."""
    folder = tmp_path / "runs"
    folder.mkdir()
    really = runstate._try_lock
    with ExitStack() as stack:

        def replace_once(lock: IO[str]) -> bool:
            monkeypatch.setattr(runstate, "_try_lock", really)
            (folder / runfiles.LOCK).unlink()
            other = stack.enter_context((folder / runfiles.LOCK).open("w"))
            fcntl.flock(other, fcntl.LOCK_EX)
            other.write("docsis-p4 demo (process 1)")
            other.flush()
            runfiles.State("demo", network_namespace()).write(folder)
            return really(lock)

        monkeypatch.setattr(runstate, "_try_lock", replace_once)
        yield folder
        assert (folder / runfiles.STATE).exists(), "the other run's record is gone"
        assert (folder / runfiles.LOCK).exists(), "the other run's lock is gone"


def test_a_run_does_not_stand_beside_one_with_a_newer_lock(replaced: Path) -> None:
    with (
        pytest.raises(TestbedError, match="runs was just removed, as `make clean` does; start ag"),
        runstate.recorded_run("run", replaced),
    ):
        pytest.fail("must not start")


def test_stop_waits_for_the_run_with_the_newer_lock(replaced: Path) -> None:
    with pytest.raises(TestbedError, match=r"docsis-p4 demo \(process 1\) does not end"):
        runstate.stop(replaced, grace=0.1)


def test_the_folder_is_not_removed_under_a_run_with_a_newer_lock(replaced: Path) -> None:
    runstate.remove_folder(replaced)


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_interrupt_waits_until_what_is_made_is_recorded(
    number: signal.Signals, kind: type[BaseException]
) -> None:
    steps = []

    def make() -> None:
        with interrupts.raising_when_terminated(), interrupts.interrupts_deferred():
            os.kill(os.getpid(), number)
            steps.append("recorded")
        steps.append("not reached")

    with pytest.raises(kind):
        make()
    assert steps == ["recorded"]
