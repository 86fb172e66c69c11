# SPDX-License-Identifier: Apache-2.0
"""Jobs in several processes, and what came of each as it comes.

A process of its own for each job, because two thirds of a run are Python's own work, and because
a process that is killed takes no other with it. What goes between them is bytes, which are
validated on either side.
"""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Generic, TypeVar

from docsis_testbed.errors import TestbedError

MOST_JOBS: Final = 256

MOST_TRIES: Final = 3
"""How often a job is tried whose process ends before it does."""

MOST_SECONDS: Final = 3600.0
"""Time for a job where each has a processor; where several share one, each has as much more. Then
its process is ended, and the job has failed: it would take as long again."""

MOST_ORDER: Final = 8 << 20
"""Bytes that a process gets of a job."""

_MOST_ANSWER: Final = 64 << 20
"""Bytes that it answers."""

_DONE: Final = b"+"
_FAILED: Final = b"-"

T = TypeVar("T")


@dataclass(frozen=True)
class Job(Generic[T]):
    """Something that another process does.

    Attributes:
        what: The work that is asked for, as whoever asks knows it.
        words: The same for people.
        function: "module:name" of what does it: gets `content` and a folder for what it needs
            meanwhile, and gives the answer's content.
        content: For it.
    """

    what: T
    words: str
    function: str
    content: bytes


@dataclass(frozen=True)
class Ended(Generic[T]):
    """The result of a job.

    Attributes:
        what: As the job has it.
        words: As the job has them.
        content: Content of the answer; None where it failed.
        failure: Why, as the end of a sentence; "" where it did not.
        processor_seconds: The time that it took; None where it failed.
    """

    what: T
    words: str
    content: bytes | None
    failure: str = ""
    processor_seconds: float | None = None


def processors() -> int:
    """The number of processors that this process may use, which may be fewer than there are."""
    return len(os.sched_getaffinity(0))


def check_jobs(jobs: int) -> int:
    """The number of processes, if it is one.

    Raises:
        TestbedError: It is out of range.
    """
    if not 1 <= jobs <= MOST_JOBS:
        raise TestbedError(f"--jobs {jobs}: must be a number from 1 to {MOST_JOBS}")
    return jobs


def do_all(jobs: Iterable[Job[T]], processes: int) -> Generator[Ended[T], None, None]:
    """Does jobs; close the iterator to end all processes at once.

    Args:
        jobs: What is done, in this order as far as possible.
        processes: How many at a time.

    Yields:
        What came of each, in the order in which they end.

    Raises:
        TestbedError: The number of processes is out of range, or none can be started.
    """
    check_jobs(processes)
    seconds = MOST_SECONDS * max(1.0, processes / processors())
    # One after the other: what another process gets of a job is not there for all at once.
    coming = (_Task(job) for job in jobs)
    with TemporaryDirectory(prefix="docsis-p4-pool-") as scratch:
        workers: list[_Worker[T]] = []
        try:
            for task in itertools.islice(coming, processes):
                workers.append(_Worker(Path(scratch), seconds))
                workers[-1].start(task)
            while busy := [worker for worker in workers if worker.task is not None]:
                wait([place for worker in busy for place in worker.places], timeout=1.0)
                for worker in busy:
                    ended = worker.poll()
                    if ended is None:
                        continue
                    task, done = ended
                    if done is not None:
                        yield done
                        following = next(coming, None)
                    else:
                        following = task  # once more
                    if following is not None:
                        worker.start(following)
        finally:
            # Nothing that is half done is of any use, and their folders are removed below.
            for worker in workers:
                worker.end()


@dataclass
class _Task(Generic[T]):
    job: Job[T]
    tries: int = 0


class _Worker(Generic[T]):
    """A process that does one job after the other; another takes its place when it dies."""

    def __init__(self, scratch: Path, seconds: float) -> None:
        self._scratch = scratch
        self._seconds = seconds
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None
        self._until = 0.0
        self.task: _Task[T] | None = None

    @property
    def places(self) -> list[Connection | int]:
        """The objects that become ready when something has happened."""
        if self._process is None or self._connection is None:
            return []
        return [self._connection, self._process.sentinel]

    def start(self, task: _Task[T]) -> None:
        """Has a job done."""
        task.tries += 1
        self.task = task
        self._until = time.monotonic() + self._seconds
        try:
            if self._process is None:
                self._spawn()
            assert self._connection is not None
            self._connection.send_bytes(task.job.function.encode() + b"\n" + task.job.content)
        except OSError:
            self.end()  # it died while it had nothing to do: `poll` tells

    def poll(self) -> tuple[_Task[T], Ended[T] | None] | None:
        """The task that has ended, and what came of it: None where it is to be done again.

        None where none has ended.
        """
        assert self.task is not None
        task = self.task
        answer = self._answer()
        alive = self._process is not None and self._process.is_alive()
        late = alive and time.monotonic() >= self._until
        if answer is None and alive and not late:
            return None
        self.task = None
        if answer is not None:
            return task, _understood(task.job, answer)
        self.end()
        if late:
            why = f"its process took more than {self._seconds:.0f} s"
        elif task.tries < MOST_TRIES:
            return task, None
        else:
            why = f"its process was killed, {task.tries} times"
        return task, Ended(task.job.what, task.job.words, None, why)

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


def _understood(job: Job[T], answer: bytes) -> Ended[T]:
    mark, rest = answer[:1], answer[1:]
    if mark != _DONE:
        return Ended(job.what, job.words, None, rest.decode(errors="replace"))
    seconds, parted, content = rest.partition(b"\n")
    try:
        took = float(seconds) if parted else float("nan")
    except ValueError:
        took = float("nan")
    if not 0 <= took < float("inf"):
        return Ended(
            job.what, job.words, None, "its process answered what nobody asked for; run this again"
        )
    return Ended(job.what, job.words, content, "", took)


def _work(connection: Connection, scratch: str) -> None:
    """A worker's life: until there is nobody to answer."""
    # Ctrl-C reaches all processes of a terminal; the first of them ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            order = connection.recv_bytes(MOST_ORDER)
            connection.send_bytes(_answered(order, Path(scratch)))
    except (EOFError, OSError):
        return


def _answered(order: bytes, scratch: Path) -> bytes:
    """Does a job: what a worker sends back, whatever came of it."""
    name, _, content = order.partition(b"\n")
    try:
        module, _, function = name.decode().partition(":")
        done: Callable[[bytes, Path], bytes] = getattr(importlib.import_module(module), function)
        # What the first job of a process has to import is not the job's.
        begun = _processor_seconds()
        answer = done(content, scratch)
    except TestbedError as error:
        return _FAILED + str(error).encode()
    except Exception as error:  # a defect fails its job; others go on, and are kept
        return _FAILED + f"failed with {type(error).__name__}: {error}".encode()
    return _DONE + f"{_processor_seconds() - begun:.6f}\n".encode() + answer


def _processor_seconds() -> float:
    """Processor time of this process and of those that it has started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
