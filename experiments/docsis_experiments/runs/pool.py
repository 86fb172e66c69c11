# SPDX-License-Identifier: Apache-2.0
"""Plays units in several processes, and yields what came of each as it comes.

What goes between the processes is text and Parquet, which is validated on either side.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from docsis_experiments.runs import files, workers
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.runs.play import play
from docsis_experiments.runs.sources import CHANGED
from docsis_experiments.runs.unit import Unit, key
from docsis_experiments.runs.workers import Ended, Job
from docsis_testbed.errors import TestbedError

_FUNCTION: Final = f"{__name__}:answer"

_DONE: Final = b"+"
_FAILED: Final = b"-"


@dataclass(frozen=True)
class Played:
    """The result of playing a unit.

    Attributes:
        unit: What was played.
        outcome: None where it failed.
        failure: Why, in a sentence; "" where it did not.
        processor_seconds: The time that it took, where that is known.
    """

    unit: Unit
    outcome: Outcome | None
    failure: str = ""
    processor_seconds: float | None = None


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
    with closing(workers.do_all((job(unit) for unit in units), jobs)) as each:
        for ended in each:
            yield played(ended)


def job(unit: Unit) -> Job[Unit]:
    """A unit for another process."""
    return Job(unit, words(unit), _FUNCTION, unit.as_json().encode())


def played(ended: Ended[Unit]) -> Played:
    """Reads the result of a unit in another process; its answer is validated."""
    if ended.content is None:
        return Played(ended.what, None, f"{ended.words}: {ended.failure}")
    return replace(_outcome(ended.what, ended.content), processor_seconds=ended.processor_seconds)


def words(unit: Unit) -> str:
    """A unit for people."""
    return f"{unit.label}, seed {unit.seed}"


def understood(unit: Unit, answer: bytes) -> Played:
    """Reads a cluster worker's answer about a unit (`answered`); it is validated."""
    if not answer.startswith(_DONE):
        return Played(unit, None, f"{words(unit)}: {answer[1:].decode(errors='replace')}")
    return _outcome(unit, answer[1:])


def _outcome(unit: Unit, content: bytes) -> Played:
    name = words(unit)
    try:
        [outcome] = files.decode(content, name)
    except (files.Damaged, ValueError) as error:
        return Played(unit, None, f"{name}: its process answered what is no outcome ({error})")
    if outcome.key != key(unit):
        return Played(
            unit,
            None,
            f"{name}: {CHANGED}",
        )
    return Played(unit, outcome)


def answer(text: bytes, scratch: Path | None = None) -> bytes:
    """Plays a unit that is given as text: its outcome as Parquet.

    Raises:
        TestbedError: It is none, or cannot be played.
    """
    return files.encode([play(Unit.from_json(text), scratch)])


def answered(text: bytes, scratch: Path | None = None) -> bytes:
    """The same for a cluster: what a worker sends back, whatever came of it."""
    try:
        return _DONE + answer(text, scratch)
    except TestbedError as error:
        return _FAILED + str(error).encode()
    except Exception as error:  # a defect fails its unit; others go on, and are kept
        return _FAILED + f"failed with {type(error).__name__}: {error}".encode()
