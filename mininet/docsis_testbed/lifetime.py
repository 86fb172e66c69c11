# SPDX-License-Identifier: Apache-2.0
"""A run's PID namespace, from the run's side: what is started in it ends with the run.

`keeper` has the other side, and tells how they end. Processes that are started are children of the
run's own process, which knows them by the ids of its own namespace and waits for them as usual.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from docsis_testbed import keeper
from docsis_testbed.errors import TestbedError
from docsis_testbed.interrupts import interrupts_deferred
from docsis_testbed.namespaces import CLONE_NEWPID, made_with

GRACE_SECONDS: Final = 5.0
"""How long processes may take to end after their signal before they get SIGKILL."""

_START_SECONDS: Final = 30.0
_END_SECONDS: Final = 15.0


class Lifetime:
    """A PID namespace with what a run starts.

    Args:
        folder: The run's, for the keeper's socket.
        lock: Descriptor of the run's lock, which the keeper holds, too.

    Raises:
        TestbedError: the kernel makes no such namespace.
    """

    def __init__(self, folder: Path, lock: int) -> None:
        self._lifeline, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._keeper = subprocess.Popen(
                [sys.executable, "-m", keeper.__name__, str(folder), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), lock),
                cwd="/",
                # Ctrl-C in the terminal is for the run.
                start_new_session=True,
            )
        self._namespace = -1
        try:
            self._namespace = self._wait_until_ready()
        except BaseException:
            self._lifeline.close()
            self._keeper.wait()
            raise
        self._starting = threading.Lock()
        self._started: list[tuple[subprocess.Popen[Any], int]] = []
        # One question at a time; nothing is the answer of a keeper that has ended.
        self._asking = threading.Lock()
        self._unanswered = 0
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._ending = False
        self._broken = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _wait_until_ready(self) -> int:
        self._lifeline.settimeout(_START_SECONDS)
        try:
            message, descriptors, _, _ = socket.recv_fds(self._lifeline, keeper.LONGEST, 1)
        except TimeoutError:
            self._keeper.kill()
            message, descriptors = b"", []
        self._lifeline.settimeout(None)
        if message == keeper.READY and descriptors:
            return descriptors[0]
        reason = message.removeprefix(keeper.FAILED).decode(errors="replace")
        raise TestbedError(
            f"no PID namespace for this run ({reason or 'its keeper ended'}); "
            "run as root on a kernel with CONFIG_PID_NS, outside of a restricted container"
        )

    @property
    def broken(self) -> bool:
        """Whether keeper or namespace ended without being asked to, and all processes with it."""
        return self._broken

    def spawn(
        self, command: Sequence[str], *, end_signal: int = signal.SIGTERM, **options: Any
    ) -> subprocess.Popen[Any]:
        """Start a program in the namespace; `options` are Popen's.

        Args:
            command: The program and its arguments, without a shell.
            end_signal: Signal on which it ends: SIGTERM, or SIGHUP for interactive shells.
            options: Options of subprocess.Popen.

        Raises:
            OSError: it cannot be started.
            TestbedError: the run is over.
        """
        # A process that nobody waits for would keep the namespace from ending.
        with interrupts_deferred():
            try:
                process: subprocess.Popen[Any] = made_with(
                    self._namespace, CLONE_NEWPID, lambda: subprocess.Popen(command, **options)
                )
            except OSError as error:
                if self._broken or self._keeper.poll() is not None:
                    raise TestbedError(f"{command[0]} was not started: the run is over") from error
                raise
            with self._starting:
                # Those that have ended and been waited for would be kept as long as the run lasts.
                running = [one for one in self._started if one[0].returncode is None]
                self._started = [*running, (process, end_signal)]
        return process

    def mount_proc(self, pid: int) -> None:
        """Give a process of the namespace, in a mount namespace of its own, the right /proc.

        Raises:
            TestbedError: the kernel refuses.
        """
        answer = self._ask(keeper.PROC + str(pid).encode())
        if answer != keeper.MOUNTED:
            reason = answer.removeprefix(keeper.FAILED).decode(errors="replace")
            raise TestbedError(
                f"no /proc for the processes of this run ({reason or 'the run is over'}); "
                "run outside of a restricted container"
            )

    def clear(self, grace: float = GRACE_SECONDS) -> None:
        """End everything that runs in the namespace, by SIGKILL after `grace` seconds."""
        started = [(process, number) for process, number in self._started if process.poll() is None]
        # Later processes may talk to earlier ones, so they end first.
        for process, number in reversed(started):
            process.send_signal(number)
        deadline = time.monotonic() + grace
        for process, _ in started:
            try:
                process.wait(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._started.clear()
        # They may have left something in the background: a daemon that a user started in a host.
        self._ask(keeper.CLEAR)

    def close(self) -> None:
        """End the namespace with all that is in it."""
        self._ending = True
        self._tell(keeper.END)
        for process, _ in self._started:
            process.wait()
        try:
            self._keeper.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            # Everything that it holds ends with it.
            self._keeper.kill()
            self._keeper.wait()
        self._listener.join(timeout=_END_SECONDS)
        self._lifeline.close()
        os.close(self._namespace)

    def _ask(self, what: bytes) -> bytes:
        with self._asking:
            if self._broken or not self._tell(what):
                return b""
            self._unanswered += 1
            try:
                # An earlier question may have been interrupted: its answer comes first.
                while answer := self._answers.get(timeout=_END_SECONDS):
                    self._unanswered -= 1
                    if not self._unanswered:
                        break
            except queue.Empty:
                # A late answer would be taken for that to the next question.
                self._broken = True
                return b""
            return answer

    def _tell(self, message: bytes) -> bool:
        try:
            return self._lifeline.send(message) == len(message)
        except OSError:
            return False

    def _listen(self) -> None:
        while True:
            try:
                message = self._lifeline.recv(keeper.LONGEST)
            except OSError:
                message = b""
            if message == keeper.STOP:
                os.kill(os.getpid(), signal.SIGTERM)
            elif message:
                self._answers.put(message)
            else:
                if not self._ending:
                    self._broken = True
                    os.kill(os.getpid(), signal.SIGTERM)
                self._answers.put(b"")
                return
