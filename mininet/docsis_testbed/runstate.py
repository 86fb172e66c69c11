# SPDX-License-Identifier: Apache-2.0
"""A run of ours on this machine: one at a time, ended whole, and ended by others without a list.

The kernel owns its processes' lifetime (see `lifetime`). The lock says whether there is a run, to
whoever sees the folder, in whatever network or PID namespace. Nothing is ever found by the pattern
of its name, or by an id alone.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from docsis_testbed import keeper, real_time_settings
from docsis_testbed.errors import TestbedError
from docsis_testbed.interrupts import (
    interrupts_deferred,
    interrupts_ignored,
    terminated_like_interrupted,
)
from docsis_testbed.lifetime import Lifetime
from docsis_testbed.namespaces import network_namespace
from docsis_testbed.paths import RUN_STATE
from docsis_testbed.runfiles import (
    LOCK,
    SOCKET,
    FolderId,
    InterfaceId,
    State,
    clear_files,
    interface_index,
    put_back_settings,
    remove_interface,
    remove_interfaces,
)

STOP_SECONDS: Final = 60.0
"""How long a run may take to clean up after it was asked to."""

_REMOVED: Final = "{} was just removed, as `make clean` does; start again"
_KILLED_SECONDS: Final = 20.0
_ANSWER_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.02


class RunState:
    """The state of a run on the machine.

    Args:
        folder: Folder of its record.
        command: Command that the user started, for messages.
        lock: Descriptor of the lock.

    Raises:
        TestbedError: it can have no namespace of its own.
    """

    def __init__(self, folder: Path, command: str, lock: int) -> None:
        self._folder = folder
        self._state = State(command, network_namespace())
        self._state.write(folder)
        try:
            self._lifetime = Lifetime(folder, lock)
        except BaseException:
            clear_files(folder)
            raise

    @property
    def broken(self) -> bool:
        """Whether the run's processes were killed from outside, all of them at once."""
        return self._lifetime.broken

    def spawn(
        self, command: Sequence[str], *, end_signal: int = signal.SIGTERM, **options: Any
    ) -> subprocess.Popen[Any]:
        """Start a program that ends with the run; see `Lifetime.spawn`."""
        return self._lifetime.spawn(command, end_signal=end_signal, **options)

    def spawn_logged(
        self, command: Sequence[str], log: Path, *, append: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start a program in a session of its own, without input; it ends with the run.

        Args:
            command: The program and its arguments, without a shell.
            log: File for its output and its errors.
            append: Keep what is there.
        """
        with log.open("ab" if append else "wb") as output:
            return self.spawn(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def mount_proc(self, pid: int) -> None:
        """Give a process with mounts of its own the run's /proc; see `Lifetime.mount_proc`."""
        self._lifetime.mount_proc(pid)

    def add_interface(self, name: str) -> None:
        """Record an interface that we made."""
        index = interface_index(name)
        if index is not None:
            self._state.interfaces.append(InterfaceId(name, index))
            self._state.write(self._folder)

    def remove_interfaces(self, names: Collection[str]) -> None:
        """Delete interfaces that are recorded under these names, and forget them.

        Raises:
            TestbedError: One cannot be deleted; it stays recorded.
        """
        for interface in [one for one in self._state.interfaces if one.name in names]:
            remove_interface(interface)
            self._state.interfaces.remove(interface)
        self._state.write(self._folder)

    def scratch_folder(self) -> Path:
        """Make the run's folder for what is not kept, which goes with the run, however that ends.

        Raises:
            TestbedError: There is no place for it.
        """
        assert self._state.scratch is None, "there is one for a run"
        with interrupts_deferred():
            try:
                folder = Path(tempfile.mkdtemp(prefix="docsis-p4-"))
            except OSError as error:
                raise TestbedError(
                    f"no scratch folder can be made ({error}); make room, or set TMPDIR to a "
                    "folder that can be written to"
                ) from None
            self._state.scratch = FolderId.of(folder)
            self._state.write(self._folder)
        return folder

    def change_real_time_settings(self) -> None:
        """Let programs under SCHED_RR have what a run needs; see `real_time_settings`."""
        settings = real_time_settings.settings()
        before = real_time_settings.unfit(settings)
        if before:
            # Recorded first, for whoever finds the run killed.
            self._state.real_time = before
            self._state.write(self._folder)
            real_time_settings.change(settings, before)

    def clear(self) -> None:
        """End the run's processes, delete its interfaces, put settings back; it may go on."""
        self._lifetime.clear()
        put_back_settings(self._state)
        self._state.real_time.clear()
        remove_interfaces(self._state)
        self._state.interfaces.clear()
        self._state.write(self._folder)

    def close(self) -> None:
        """End everything."""
        try:
            self.clear()
        finally:
            self._lifetime.close()
            clear_files(self._folder)


@contextmanager
def recorded_run(command: str, folder: Path = RUN_STATE) -> Iterator[RunState]:
    """The machine for one run of ours at a time; nothing of it is there afterwards.

    Args:
        command: Command that the user started, for messages.
        folder: Folder of the record and the lock.

    Raises:
        TestbedError: another run of ours is there, or this one was killed from outside.
    """
    with _locked(folder, command) as lock:
        clear_files(folder)
        with terminated_like_interrupted():
            run = RunState(folder, command, lock)
            try:
                yield run
            except SystemExit:
                if run.broken:
                    raise TestbedError(
                        f"docsis-p4 {command}: somebody killed the keeper of its processes, "
                        "so all of them ended; start it again"
                    ) from None
                raise
            finally:
                with interrupts_ignored():
                    run.close()


@contextmanager
def _locked(folder: Path, command: str) -> Iterator[int]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TestbedError(f"{folder}: cannot be made ({error.strerror}); run as root") from None
    lock = _open_lock(folder)
    if lock is None:
        raise TestbedError(_REMOVED.format(folder))
    with lock:
        if not _try_lock(lock):
            other = _owner(lock) or "another docsis-p4"
            raise TestbedError(f"{other} is running already; end it, or run `make stop` first")
        if not _is_current(lock, folder):
            raise TestbedError(_REMOVED.format(folder))
        _say_owner(lock, f"docsis-p4 {command} (process {os.getpid()})")
        try:
            yield lock.fileno()
        finally:
            _say_owner(lock, "")


def _open_lock(folder: Path) -> IO[str] | None:
    """The lock's file; None where there is no folder, also because `clean` removed it just now."""
    try:
        return (folder / LOCK).open("a+") if folder.is_dir() else None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TestbedError(
            f"{folder / LOCK}: {error.strerror}; run this as the user who runs the testbed: root"
        ) from None


def _try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_current(lock: IO[str], folder: Path) -> bool:
    """Whether a lock that we have is still the folder's.

    `clean` may have removed it since it was opened, and another run may have made a new one.
    """
    try:
        return os.path.samestat(os.fstat(lock.fileno()), (folder / LOCK).stat())
    except FileNotFoundError:
        return False


def _owner(lock: IO[str]) -> str:
    lock.seek(0)
    return lock.read().strip()


def _say_owner(lock: IO[str], text: str) -> None:
    lock.seek(0)
    lock.truncate()
    lock.write(text)
    lock.flush()


def stop(folder: Path = RUN_STATE, grace: float = STOP_SECONDS) -> list[str]:
    """End the run of ours, which cleans up itself, and remove what a killed one has left.

    Args:
        folder: Folder in which runs are recorded.
        grace: Seconds that a run may take to clean up; then it is killed.

    Returns:
        What was ended, in words; empty when nothing of ours was there, or it ended by itself.

    Raises:
        TestbedError: it does not end.
    """
    ended: list[str] = []
    deadline = time.monotonic() + grace
    killed = False
    while (lock := _open_lock(folder)) is not None:
        with lock:
            while not _try_lock(lock):
                owner = _owner(lock) or "a run of docsis-p4"
                if not ended and _ask(folder, keeper.STOP):
                    ended.append(owner)
                if time.monotonic() > deadline:
                    if killed or not _ask(folder, keeper.KILL):
                        raise TestbedError(f"{owner} does not end; end it with `kill -9`")
                    killed = True
                    deadline = time.monotonic() + _KILLED_SECONDS
                time.sleep(_POLL_SECONDS)
            if _is_current(lock, folder):
                return ended + clear_files(folder)
    return ended


def _ask(folder: Path, what: bytes) -> bool:
    """Whether the keeper of a run has heard it: not while a run begins or ends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(_ANSWER_SECONDS)
        try:
            client.connect(str(folder / SOCKET))
            client.send(what)
            return client.recv(keeper.LONGEST) == keeper.ASKED
        except OSError:
            return False


def remove_folder(folder: Path = RUN_STATE) -> None:
    """Remove the folder of the records, unless a run has it."""
    from docsis_control.local_socket import remove_dead

    lock = _open_lock(folder)
    if lock is None:
        return
    with lock:
        if _try_lock(lock) and _is_current(lock, folder):
            remove_dead(folder)
            (folder / LOCK).unlink(missing_ok=True)
            with suppress(OSError):
                folder.rmdir()
