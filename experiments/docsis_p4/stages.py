# SPDX-License-Identifier: Apache-2.0
"""Runs a network in virtual time, or in Mininet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import current_process
from typing import TYPE_CHECKING, Literal, Protocol

from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from docsis_experiments.experiment.loader import Loaded


class Stage(Protocol):
    """Plays an experiment."""

    def play(self, loaded: Loaded, console: Console, results: Path) -> Path:
        """Plays all runs of an experiment.

        Args:
            loaded: The experiment and its topology.
            console: Gets progress and tables.
            results: Folder that gets the result's folder.

        Returns:
            The result's folder.

        Raises:
            TestbedError: Something is missing or did not work; nothing is left running.
            NoVerdict: Time was not right; the results are written.
        """


@dataclass(frozen=True)
class Virtual:
    """Virtual time: modelled hosts, the real pipeline, no root; equal seeds give equal bits.

    Attributes:
        seed: Seed of one run of each queue manager, from 0 to 2^64-1; the default is 1.
        seeds: Number of seeds to play instead, from 1 up, which gives intervals.
        jobs: Number of runs to play at a time with `seeds`, each in a process of its own.
    """

    seed: int | None = None
    seeds: int | None = None
    jobs: int = 1

    def __post_init__(self) -> None:
        _check_whole(seed=self.seed, seeds=self.seeds, jobs=self.jobs)
        if self.seed is not None and self.seeds is not None:
            raise TestbedError(
                "seed has no place beside seeds, which are those from 1 up; leave one of the two "
                "out"
            )
        if self.jobs != 1 and self.seeds is None:
            raise TestbedError(
                "jobs has no place here: it is how many runs are played at a time; give seeds, too"
            )

    def play(self, loaded: Loaded, console: Console, results: Path) -> Path:
        """See `Stage`."""
        from docsis_experiments.stages.virtual.stage import DEFAULT_SEED, VirtualStage

        if self.seeds is None:
            from docsis_experiments.repetition import once

            with _told_as_arguments():
                stage = VirtualStage(DEFAULT_SEED if self.seed is None else self.seed)
            return once.run(loaded, stage=stage, console=console, results=results)
        from docsis_experiments.repetition import job
        from docsis_experiments.repetition.virtual import Seeds
        from docsis_experiments.runs.store import Store

        # A process that is started so sets this while it imports the program that started it.
        if getattr(current_process(), "_inheriting", False):
            raise TestbedError(
                "seeds are played in processes that import your program; put what runs it behind "
                'if __name__ == "__main__":'
            )
        with _told_as_arguments():
            numbers = Seeds.numbers(self.seeds)
            maker = Seeds(self.jobs, Store(results / "kept"))
        return job.run(loaded, maker=maker, numbers=numbers, console=console, results=results)


@dataclass(frozen=True)
class Mininet:
    """Mininet: real hosts with the kernel's TCP, in real time, as root; one run at a time.

    Attributes:
        repeat: Number of times to make each run, which gives intervals; the default is once.
        target: The switch that runs the pipeline: the project's own, or BMv2.
    """

    repeat: int | None = None
    target: Literal["embedded", "bmv2"] = "embedded"

    def __post_init__(self) -> None:
        _check_whole(repeat=self.repeat)

    def play(self, loaded: Loaded, console: Console, results: Path) -> Path:
        """See `Stage`."""
        from docsis_experiments.stages.mininet.stage import MininetStage

        stage = MininetStage(self.target)
        if self.repeat is None:
            from docsis_experiments.repetition import once

            return once.run(loaded, stage=stage, console=console, results=results)
        from docsis_experiments.repetition import job
        from docsis_experiments.repetition.real_time import Repetitions
        from docsis_experiments.runs.store import Store

        with _told_as_arguments():
            numbers = Repetitions.numbers(self.repeat)
            maker = Repetitions(stage, Store(results / "kept"))
        return job.run(loaded, maker=maker, numbers=numbers, console=console, results=results)


def _check_whole(**arguments: int | None) -> None:
    """Refuses arguments that are no whole numbers.

    Raises:
        TestbedError: There is such an argument.
    """
    for name, value in arguments.items():
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise TestbedError(f"{name}: {value!r} is no whole number; give one")


@contextmanager
def _told_as_arguments() -> Iterator[None]:
    """Names arguments as a program gives them, where the command line would name its options."""
    try:
        yield
    except TestbedError as error:
        raise TestbedError(re.sub(r"(?<!\S)--(?=[a-z])", "", str(error))) from None
