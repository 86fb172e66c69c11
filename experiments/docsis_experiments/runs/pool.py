# SPDX-License-Identifier: Apache-2.0
"""Plays units in several processes, and yields what came of each as it comes.

A process of its own for each job, because two thirds of a run are Python's own work, and because
a process that is killed takes no other with it. What goes between them is text and Parquet, which
is validated on either side.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from docsis_experiments.runs import files
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.runs.play import play
from docsis_experiments.runs.unit import MOST_BYTES, Unit, key
from docsis_testbed.errors import TestbedError

MOST_JOBS: Final = 256

MOST_TRIES: Final = 3
"""Of a unit whose process ends before it does."""

MOST_SECONDS: Final = 3600.0
"""Of a unit; then its process is ended, as if it had been killed."""

_MOST_ANSWER: Final = 64 << 20
"""Bytes of an outcome as Parquet."""

_DONE: Final = b"+"
_FAILED: Final = b"-"


@dataclass(frozen=True)
class Played:
    """What came of a unit.

    Attributes:
        unit: What was played.
        outcome: None where it failed.
        failure: Why, in a sentence; "" where it did not.
    """

    unit: Unit
    outcome: Outcome | None
    failure: str = ""


def check_jobs(jobs: int) -> int:
    """The number of processes, if it is one.

    Raises:
        TestbedError: It is out of range.
    """
    if not 1 <= jobs <= MOST_JOBS:
        raise TestbedError(f"--jobs {jobs}: must be a number from 1 to {MOST_JOBS}")
    return jobs


def play_all(units: Iterable[Unit], jobs: int) -> Generator[Played, None, None]:
    """Plays units; close the iterator to end all processes at once.

    Args:
        units: What is played, in this order as far as possible.
        jobs: Processes.

    Yields:
        What came of each, in the order in which they end.

    Raises:
        TestbedError: The number of processes is out of range, or none can be started.
    """
    check_jobs(jobs)
    waiting = deque(_Task(unit) for unit in units)
    with TemporaryDirectory(prefix="docsis-p4-pool-") as scratch:
        workers = [_Worker(Path(scratch)) for _ in range(min(jobs, len(waiting)))]
        try:
            for worker in workers:
                worker.start(waiting.popleft())
            while busy := [worker for worker in workers if worker.task is not None]:
                wait([place for worker in busy for place in worker.places], timeout=1.0)
                for worker in busy:
                    ended = worker.poll()
                    if ended is None:
                        continue
                    task, played = ended
                    if played is not None:
                        yield played
                    else:
                        waiting.appendleft(task)
                    if waiting:
                        worker.start(waiting.popleft())
        finally:
            # Nothing that is half done is of any use, and their folders are removed below.
            for worker in workers:
                worker.end()


@dataclass
class _Task:
    unit: Unit
    tries: int = 0


class _Worker:
    """A process that plays one unit after the other; another takes its place when it dies."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None
        self._until = 0.0
        self.task: _Task | None = None

    @property
    def places(self) -> list[Connection | int]:
        """What becomes ready when something has happened."""
        if self._process is None or self._connection is None:
            return []
        return [self._connection, self._process.sentinel]

    def start(self, task: _Task) -> None:
        """Has a unit played."""
        task.tries += 1
        self.task = task
        self._until = time.monotonic() + MOST_SECONDS
        try:
            if self._process is None:
                self._spawn()
            assert self._connection is not None
            self._connection.send_bytes(task.unit.as_json().encode())
        except OSError:
            self.end()  # it died while it had nothing to do: `poll` tells

    def poll(self) -> tuple[_Task, Played | None] | None:
        """The task that has ended, and what came of it: None where it is to be played again.

        None where none has ended.
        """
        assert self.task is not None
        task = self.task
        answer = self._answer()
        if answer is None and self._alive():
            return None
        self.task = None
        if answer is not None:
            return task, understood(task.unit, answer)
        self.end()
        if task.tries < MOST_TRIES:
            return task, None
        return task, Played(
            task.unit,
            None,
            f"{task.unit.label}, seed {task.unit.seed}: its process was killed or took more than "
            f"{MOST_SECONDS:g} s, {task.tries} times",
        )

    def end(self) -> None:
        """Ends the process at once."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        self._process = self._connection = None

    def _spawn(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, str(self._scratch)), daemon=True)
        try:
            process.start()
        except OSError as error:
            ours.close()
            raise TestbedError(f"no process can be started ({error.strerror})") from None
        finally:
            theirs.close()
        self._process, self._connection = process, ours

    def _answer(self) -> bytes | None:
        try:
            if self._connection is not None and self._connection.poll():
                return self._connection.recv_bytes(_MOST_ANSWER)
        except (EOFError, OSError):
            self.end()
        return None

    def _alive(self) -> bool:
        alive = self._process is not None and self._process.is_alive()
        return alive and time.monotonic() < self._until


def understood(unit: Unit, answer: bytes) -> Played:
    """What a worker's answer says of a unit; it is validated."""
    name = f"{unit.label}, seed {unit.seed}"
    if not answer.startswith(_DONE):
        return Played(unit, None, f"{name}: {answer[1:].decode(errors='replace')}")
    try:
        [outcome] = files.decode(answer[1:], name)
    except (files.Damaged, ValueError) as error:
        return Played(unit, None, f"{name}: its process answered what is no outcome ({error})")
    if outcome.key != key(unit):
        return Played(
            unit,
            None,
            f"{name}: the code, the pipeline or the world was changed while runs went on; run this "
            "again, and what is there is not made again",
        )
    return Played(unit, outcome)


def _work(connection: Connection, scratch: str) -> None:
    """A worker's life: until there is nobody to answer."""
    # Ctrl-C reaches all processes of a terminal; the first of them ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            connection.send_bytes(answered(connection.recv_bytes(MOST_BYTES), Path(scratch)))
    except (EOFError, OSError):
        return


def answered(text: bytes, scratch: Path | None = None) -> bytes:
    """Plays a unit that is given as text: what a worker sends back, whatever came of it."""
    try:
        return _DONE + files.encode([play(Unit.from_json(text), scratch)])
    except TestbedError as error:
        return _FAILED + str(error).encode()
    except Exception as error:  # a defect fails its unit; others go on, and are kept
        return _FAILED + f"failed with {type(error).__name__}: {error}".encode()
