# SPDX-License-Identifier: Apache-2.0
"""What a run has on the machine, written down so that it can be removed exactly.

A process is known by its id and its start time, an interface by its name and
its index. Both ids are reused by the kernel, so neither half alone is proof
that something is ours. Nothing is ever found by the pattern of its name.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RUN_STATE

GRACE_SECONDS = 5.0
"""How long a process may take to end after SIGTERM before it gets SIGKILL."""


@dataclass(frozen=True)
class ProcessId:
    """A process that is ours.

    Attributes:
        pid: Its id.
        started: Its start time in clock ticks since boot (proc(5), field 22).
        what: What it is, for messages.
        end_signal: What it ends on: SIGTERM, or SIGHUP for interactive shells.
    """

    pid: int
    started: int
    what: str
    end_signal: int = signal.SIGTERM


@dataclass(frozen=True)
class InterfaceId:
    """A network interface of the namespace in which the testbed was started."""

    name: str
    index: int


@dataclass
class State:
    """Everything that a run has created and not yet removed."""

    owner: ProcessId
    command: str
    processes: list[ProcessId] = field(default_factory=list)
    interfaces: list[InterfaceId] = field(default_factory=list)


def start_time(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; None when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name, in parentheses, may hold spaces and parentheses.
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] == "Z" else int(fields[19])


def identify(pid: int, what: str, end_signal: int = signal.SIGTERM) -> ProcessId | None:
    """The identity of a live process; None when it has ended."""
    started = start_time(pid)
    return None if started is None else ProcessId(pid, started, what, int(end_signal))


def alive(process: ProcessId) -> bool:
    """Whether exactly this process, and not a later one of the same id, is running."""
    return start_time(process.pid) == process.started


def interface_index(name: str) -> int | None:
    """Index of an interface in this namespace; None when there is none."""
    try:
        return socket.if_nametoindex(name)
    except OSError:
        return None


class RunState:
    """The state file of one run: rewritten whole at every change."""

    def __init__(self, path: Path, state: State) -> None:
        self.path = path
        self._state = state
        self._write()

    def add_process(self, pid: int, what: str, end_signal: int = signal.SIGTERM) -> None:
        """Record a process that we started (one that has ended already is left out)."""
        process = identify(pid, what, end_signal)
        if process is not None:
            self._state.processes.append(process)
            self._write()

    def forget_process(self, pid: int) -> None:
        """A process that we started has been waited for."""
        self._state.processes = [p for p in self._state.processes if p.pid != pid]
        self._write()

    def add_interface(self, name: str) -> None:
        """Record an interface that we made."""
        index = interface_index(name)
        if index is not None:
            self._state.interfaces.append(InterfaceId(name, index))
            self._write()

    def clear(self) -> list[str]:
        """End the recorded processes and delete the recorded interfaces.

        Returns:
            What was removed, in words.
        """
        removed = remove(self._state)
        self._state.processes.clear()
        self._state.interfaces.clear()
        self._write()
        return removed

    def remove_everything(self) -> list[str]:
        """`clear`, and delete the file itself."""
        removed = self.clear()
        self.path.unlink(missing_ok=True)
        return removed

    def _write(self) -> None:
        scratch = self.path.with_suffix(".tmp")
        # Without deep copies: it is written again for everything that is made.
        scratch.write_text(json.dumps(vars(self._state), default=vars))
        scratch.replace(self.path)


_NO_PROCESS: Final = (errno.ESRCH, errno.EINVAL, errno.ENOENT)
"""Nothing has that id, or a thread does, which is EINVAL before Linux 6.15 and ENOENT since."""


def end_processes(processes: list[ProcessId], grace: float = GRACE_SECONDS) -> list[str]:
    """The process's end signal, and SIGKILL for those that are still there after `grace` seconds.

    Children of ours are left to be waited for by whoever started them.

    Returns:
        What was ended, in words.
    """
    ended = []
    with ExitStack() as stack:
        handles: list[int] = []
        for process in processes:
            # A pidfd keeps meaning the same process; its identity is checked once it is open.
            try:
                handle = os.pidfd_open(process.pid)
            except OSError as error:
                if error.errno in _NO_PROCESS:
                    continue
                raise
            stack.callback(os.close, handle)
            if alive(process):
                _signal(handle, process.end_signal)
                handles.append(handle)
                ended.append(f"process {process.pid} ({process.what})")
        for handle in _wait(handles, grace):
            _signal(handle, signal.SIGKILL)
        _wait(handles, grace)
    return ended


def _signal(handle: int, number: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, number)


def _wait(handles: list[int], seconds: float) -> list[int]:
    """Wait until the processes have ended; those that have not are returned."""
    poller = select.poll()
    left = set(handles)
    for handle in handles:
        poller.register(handle, select.POLLIN)
    deadline = time.monotonic() + seconds
    while left and (remaining := deadline - time.monotonic()) > 0:
        for handle, _ in poller.poll(remaining * 1000):
            poller.unregister(handle)
            left.discard(handle)
    return sorted(left)


def namespace_members(process: ProcessId) -> list[ProcessId]:
    """Processes in the network namespace of a recorded one, where that is not this process's own.

    A namespace that we made has only what was started in it, by whomever: daemons, for example,
    that a user started in a host. It is looked at only while the recorded process lives, because
    the kernel uses namespaces' numbers again.
    """
    own, theirs = _namespace("self"), _namespace(str(process.pid))
    if theirs is None or theirs == own or not alive(process):
        return []
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    members = [
        identify(pid, f"process in the namespace of {process.what}")
        for pid in pids
        if pid != process.pid and _namespace(str(pid)) == theirs
    ]
    return [member for member in members if member is not None]


def _namespace(pid: str) -> int | None:
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


def remove(state: State) -> list[str]:
    """End what a state records and still exists; see `RunState.remove_everything`."""
    recorded = {process.pid for process in state.processes}
    strays = {
        member.pid: member
        for process in state.processes
        for member in namespace_members(process)
        if member.pid not in recorded
    }
    # Later processes may talk to earlier ones, so they end first.
    removed = end_processes([*strays.values(), *reversed(state.processes)])
    for interface in state.interfaces:
        if interface_index(interface.name) != interface.index:
            continue  # gone with its peer's namespace, or not ours
        result = subprocess.run(
            ["ip", "link", "delete", "dev", interface.name],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode == 0:
            removed.append(f"interface {interface.name}")
        elif interface_index(interface.name) == interface.index:
            raise TestbedError(
                f"interface {interface.name} cannot be deleted ({result.stderr.strip()}); "
                f"run `ip link delete dev {interface.name}` yourself"
            )
    return removed


def load(path: Path) -> State:
    """Read a state file.

    Raises:
        TestbedError: it is not one.
    """
    try:
        data = json.loads(path.read_text())
        return State(
            owner=ProcessId(**data["owner"]),
            command=data["command"],
            processes=[ProcessId(**p) for p in data["processes"]],
            interfaces=[InterfaceId(**i) for i in data["interfaces"]],
        )
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise TestbedError(
            f"{path}: not a state file of ours ({error}); look at it and delete it"
        ) from None


@contextmanager
def recorded_run(command: str, folder: Path = RUN_STATE) -> Iterator[RunState]:
    """The machine for one run of ours at a time; everything recorded is gone afterwards.

    Args:
        command: What the user started, for messages.
        folder: Where state files and the lock are.

    Raises:
        TestbedError: another run of ours is there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder, command):
        sweep(folder)
        owner = identify(os.getpid(), command)
        assert owner is not None, "we are running"
        run = RunState(folder / f"{os.getpid()}.json", State(owner, command))
        with terminated_like_interrupted():
            try:
                yield run
            finally:
                with interrupts_ignored():
                    run.remove_everything()


@contextmanager
def _locked(folder: Path, command: str) -> Iterator[None]:
    with (folder / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            other = lock.read().strip() or "another docsis-p4"
            raise TestbedError(
                f"{other} is running already; end it, or run `make stop` first"
            ) from None
        _say_owner(lock, f"docsis-p4 {command} (process {os.getpid()})")
        try:
            yield
        finally:
            _say_owner(lock, "")


def _say_owner(lock: IO[str], text: str) -> None:
    lock.seek(0)
    lock.truncate()
    lock.write(text)
    lock.flush()


def _raise_exit(number: int, _frame: object) -> None:
    # Not KeyboardInterrupt: Mininet's command line takes that as Ctrl-C and goes on.
    raise SystemExit(128 + number)


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM and SIGHUP clean up as Ctrl-C does."""
    with _handlers({signal.SIGTERM: _raise_exit, signal.SIGHUP: _raise_exit}):
        yield


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """A second Ctrl-C must not cut the clean-up short."""
    ignore = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), signal.SIG_IGN)
    with _handlers(ignore):
        yield


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """An interrupt waits for the end of the block: nothing is made without being recorded."""
    noted: list[int] = []
    note = {
        s: lambda number, _frame: noted.append(number)
        for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    with _handlers(note):
        yield
    if signal.SIGINT in noted:
        raise KeyboardInterrupt
    if noted:
        raise SystemExit(128 + noted[0])


_Handler = Callable[[int, object], None] | signal.Handlers


@contextmanager
def _handlers(handlers: Mapping[signal.Signals, _Handler]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def sweep(folder: Path = RUN_STATE) -> list[str]:
    """Remove what runs left whose owner is gone.

    Returns:
        What was removed, in words.
    """
    removed: list[str] = []
    for path in _state_files(folder):
        state = load(path)
        if not alive(state.owner):
            removed += remove(state)
            path.unlink(missing_ok=True)
    return removed


def stop(folder: Path = RUN_STATE, grace: float = 60.0) -> list[str]:
    """End every run of ours: its owner cleans up itself, else we do.

    Args:
        folder: Where state files are.
        grace: Seconds that an owner may take to clean up.

    Returns:
        What was ended, in words; empty when nothing of ours was there.
    """
    ended: list[str] = []
    for path in _state_files(folder):
        state = load(path)
        ended += end_processes([state.owner], grace)
        ended += remove(state)
        path.unlink(missing_ok=True)
    return ended


def _state_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json")) if folder.is_dir() else []


def remove_folder(folder: Path = RUN_STATE) -> None:
    """Remove the folder of the state files, once no run is recorded in it."""
    from docsis_control.local_socket import remove_dead

    if folder.is_dir() and not _state_files(folder):
        remove_dead(folder)
        (folder / "lock").unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()
