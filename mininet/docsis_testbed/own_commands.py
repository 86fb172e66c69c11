# SPDX-License-Identifier: Apache-2.0
"""Commands of the user's own in hosts and servers of a testbed, whose output is kept.

A command is a list of words. No shell reads it, unless the user names one as the program.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from docsis_testbed.endings import how
from docsis_testbed.errors import TestbedError
from docsis_testbed.readable import readable

if TYPE_CHECKING:
    from docsis_control.topology.models import Topology
    from docsis_testbed.testbed import Testbed

FOLDER: Final = "commands"
"""Folder of a run that has what commands print."""

MOST_COMMANDS: Final = 32
MOST_WORDS: Final = 256
MOST_CHARACTERS: Final = 8_192
"""Most characters of one command."""

MOST_OUTPUT: Final = 16 << 20
"""Bytes of a command's output that are kept."""

_CHUNK: Final = 1 << 16
_END_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.02


@dataclass(frozen=True)
class OwnCommand:
    """A command in a host or server.

    Attributes:
        host: Its name.
        words: The program and its arguments. A word that is the name of a host or server stands for
            its IPv4 address.
        start_s: How long after the system is ready it starts, seconds.
    """

    host: str
    words: tuple[str, ...]
    start_s: float = 0.0

    @property
    def told(self) -> str:
        """Its name in messages."""
        return readable(f"{self.host}: {shlex.join(self.words)}")


@dataclass(frozen=True)
class Done:
    """The outcome of a command.

    Attributes:
        command: The command.
        log: File with its output, up to MOST_OUTPUT bytes.
        ended: How it ended, in words.
        cut: Whether it printed more than was kept.
    """

    command: OwnCommand
    log: Path
    ended: str
    cut: bool

    def within(self, folder: Path) -> Done:
        """Returns the same with its log as it is called within a folder above it."""
        return replace(self, log=self.log.absolute().relative_to(folder.absolute()))

    @property
    def words(self) -> str:
        """Its end in words, and whether something of its output is missing."""
        return f"{self.ended}{f'; the log has {MOST_OUTPUT >> 20} MiB of it' if self.cut else ''}"


def from_argument(text: str) -> OwnCommand:
    """Reads "HOST=PROGRAM ARGUMENT ...", with quotes as a shell has them.

    Raises:
        TestbedError: It is not of this form.
    """
    host, equals, command = text.partition("=")
    if not equals or not host.strip():
        raise TestbedError(
            f"--command {text[:80]}: name the host first, as in --command 'cpe1=ping server1'"
        )
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise TestbedError(
            f"--command {text[:80]}: the words cannot be told apart ({error}); close every quote"
        ) from None
    return OwnCommand(host.strip(), tuple(words))


def check(commands: Sequence[OwnCommand], topology: Topology, option: str = "--command") -> None:
    """Refuses commands that cannot be started.

    Args:
        commands: All of them.
        topology: Has the hosts and servers.
        option: Option that the commands come from, for messages.

    Raises:
        TestbedError: There are too many, a host is not there, or a program is not.
    """
    if len(commands) > MOST_COMMANDS:
        raise TestbedError(
            f"{option}: there are {len(commands)} commands, and there may be {MOST_COMMANDS}"
        )
    known = [node.name for node in topology.nodes]
    for one in commands:
        place = f"{option} {one.host}"
        if one.host not in known:
            raise TestbedError(
                f"{place}: topology {topology.name} has no host or server of that name; it has "
                f"{', '.join(known)}"
            )
        if not one.words or not one.words[0]:
            raise TestbedError(f"{place}: there is no program to start")
        if len(one.words) > MOST_WORDS or sum(map(len, one.words)) > MOST_CHARACTERS:
            raise TestbedError(
                f"{place}: the command is too long; it may have {MOST_WORDS} words and "
                f"{MOST_CHARACTERS:,} characters, and a script of yours as many as it likes"
            )
        if any("\0" in word for word in one.words):
            raise TestbedError(f"{place}: a word has a null character, which no program can take")
        if shutil.which(one.words[0]) is None:
            raise TestbedError(
                f'{place}: there is no program "{one.words[0]}" on PATH; install it, or give its '
                "path"
            )


@contextmanager
def commands_running(
    testbed: Testbed, commands: Sequence[OwnCommand], folder: Path
) -> Iterator[list[Done]]:
    """Runs commands within the block; those that have not ended by then are ended.

    Args:
        testbed: The testbed, which has been started.
        commands: Commands that `check` accepts.
        folder: Gets NUMBER-HOST.log for each; made where there are any.

    Yields:
        An empty list, which has the outcome of each once the block has ended.

    Raises:
        TestbedError: The folder cannot be made, or a log in it.
    """
    done: list[Done] = []
    if not commands:
        yield done
        return
    addresses = {node.name: str(node.ip.ip) for node in testbed.topology.nodes}
    over = threading.Event()
    runners = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, command in enumerate(commands, start=1):
            log = folder / f"{number}-{command.host}.log"
            log.touch()
            runners.append(_Runner(testbed, command, addresses, log, over))
    except OSError as error:
        raise TestbedError(f"{folder}: cannot be written ({error.strerror})") from None
    for runner in runners:
        runner.thread.start()
    try:
        yield done
    finally:
        over.set()
        settled = time.monotonic() + _END_SECONDS
        for runner in runners:
            runner.ask_to_end(settled)
        ended = time.monotonic() + _END_SECONDS
        for runner in runners:
            runner.kill_late(ended)
        read = time.monotonic() + _END_SECONDS
        for runner in runners:
            runner.thread.join(_until(read))
        done += [runner.done() for runner in runners]


class _Runner:
    """One command, with a thread that starts it and keeps what it prints."""

    def __init__(
        self,
        testbed: Testbed,
        command: OwnCommand,
        addresses: Mapping[str, str],
        log: Path,
        over: threading.Event,
    ) -> None:
        self._testbed = testbed
        self._command = command
        self._words = [addresses.get(word, word) for word in command.words]
        self._log = log
        self._over = over
        self._settled = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._failed = ""
        self._cut = False
        self._unwritten = ""
        self._asked = False
        # A program that the command left behind may hold the pipe open until the run is over.
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            process = self._started()
        finally:
            self._settled.set()
        if process is not None and process.stdout is not None:
            # It is not waited for here: its id stays its own until it has got its signals.
            self._keep(process.stdout)

    def _started(self) -> subprocess.Popen[bytes] | None:
        if self._over.wait(self._command.start_s):
            return None
        try:
            self._process = self._testbed.node(self._command.host).popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except (OSError, TestbedError) as error:
            self._failed = f"was not started: {error}"
        return self._process

    def _keep(self, printed: IO[bytes]) -> None:
        room = MOST_OUTPUT
        with self._log.open("wb", buffering=0) as output:
            while data := os.read(printed.fileno(), _CHUNK):
                # Output beyond the bound is read, too: a command never waits for room in its pipe.
                kept, room = data[:room], max(0, room - len(data))
                self._cut = self._cut or (len(kept) < len(data) and not self._unwritten)
                try:
                    output.write(kept)
                except OSError as error:
                    self._unwritten, room = error.strerror or str(error), 0

    def ask_to_end(self, deadline: float) -> None:
        """Sends SIGTERM to the command, and to all that it has started and may have left behind."""
        # A command that is being started right now is there a moment later.
        self._settled.wait(_until(deadline))
        process = self._process
        if process is not None:
            self._asked = not _has_ended(process)
            # A command that has ended is waited for later: until then its id is nobody else's.
            _signal(process, signal.SIGTERM)

    def kill_late(self, deadline: float) -> None:
        """Waits until the command and what it has started have ended; then they get SIGKILL."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        while not _has_ended(process) or _left_something(process):
            if not _until(deadline):
                _signal(process, signal.SIGKILL)
                break
            time.sleep(_LOOK_SECONDS)
        process.wait()

    def done(self) -> Done:
        """Returns its outcome."""
        if self._failed:
            ended = self._failed
        elif self._process is None:
            ended = "was not started: the run was over before"
        elif self._asked:
            ended = "was ended with the run"
        else:
            ended = how(self._process.returncode)
        if self._unwritten:
            ended = f"{ended}; its log ends early ({self._unwritten})"
        return Done(self._command, self._log, ended, self._cut)


def _until(deadline: float) -> float:
    """Seconds from now to a time of time.monotonic(); 0 when it has passed."""
    return max(0.0, deadline - time.monotonic())


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Tells whether a command has ended, without waiting for it: its id stays its own."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _left_something(process: subprocess.Popen[bytes]) -> bool:
    """Tells whether a process runs in the group of a command that has ended."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The program's name may have whatever a name may, brackets too.
            state, _, group, *_ = file.read_text(errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(group) == process.pid and state not in ("Z", "X"):
            return True
    return False


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signals a command and what it has started: mnexec makes it the head of a group."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        process.send_signal(number)
