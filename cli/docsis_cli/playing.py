# SPDX-License-Identifier: Apache-2.0
"""Options that say where runs in virtual time are played: processes here, or a cluster."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from rich.console import Console

    from docsis_experiments.runs.collecting import Player
    from docsis_experiments.runs.pool import Played
    from docsis_experiments.runs.unit import Unit
    from docsis_experiments.sweeps.tls import Access

PlayedAtATimeOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        help="Play in this many processes. The default is one for each processor that this command "
        "may use.",
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="tls://HOST:PORT",
        help="Let the Dask cluster of this scheduler play the runs.",
    ),
]
TlsCaOption = Annotated[
    Path | None,
    typer.Option("--tls-ca", metavar="FILE", help="Certificate of the cluster's authority (PEM)."),
]
TlsCertOption = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Our own certificate (PEM).")
]
TlsKeyOption = Annotated[
    Path | None,
    typer.Option("--tls-key", metavar="FILE", help="Private key of our certificate (PEM)."),
]


@dataclass(frozen=True)
class Where:
    """The options that choose between this machine's processors and a cluster."""

    jobs: int | None
    scheduler: str | None
    ca: Path | None
    certificate: Path | None
    key: Path | None

    def check(self) -> None:
        """Refuses options that contradict each other.

        Raises:
            TestbedError: An option has no place here; the message says why.
        """
        if self.scheduler is None:
            for option, given in (
                ("--tls-ca", self.ca),
                ("--tls-cert", self.certificate),
                ("--tls-key", self.key),
            ):
                if given is not None:
                    raise TestbedError(f"{option} has no place here: only --scheduler needs it")
        elif self.jobs is not None:
            raise TestbedError(
                "--jobs has no place beside --scheduler: the cluster plays as many runs at a time "
                "as its workers have threads"
            )

    def processes(self) -> int:
        """Returns how many processes to play in: one for each processor unless `--jobs` says.

        Raises:
            TestbedError: The number is out of range.
        """
        from docsis_experiments.runs import workers

        if self.jobs is None:
            return min(workers.processors(), workers.MOST_JOBS)
        return workers.check_jobs(self.jobs)

    def access(self) -> Access | None:
        """Returns the access to the cluster, or None where no cluster is named.

        Raises:
            TestbedError: A file cannot be used.
        """
        if self.scheduler is None:
            return None
        from docsis_experiments.sweeps.tls import Access

        return Access.of(self.scheduler, self.ca, self.certificate, self.key)


def player(where: Where, console: Console) -> Player:
    """Makes the player that plays units in virtual time: on this machine, or on a cluster.

    Args:
        where: The options' values.
        console: Is told of a cluster's workers.

    Raises:
        TestbedError: The options contradict each other, or a file cannot be used.
    """
    where.check()
    access = where.access()
    if access is None:
        from docsis_experiments.runs import pool

        processes = where.processes()
        return lambda units: pool.play_all(units, processes)
    return on_cluster(access, console)


def on_cluster(access: Access, console: Console) -> Player:
    """Makes the player that plays units on a cluster.

    Args:
        access: Access to its scheduler.
        console: Is told of workers that are refused.
    """
    from docsis_experiments.sweeps import cluster

    def play(units: Sequence[Unit]) -> Generator[Played, None, None]:
        return cluster.play_all(
            units,
            access,
            lambda words: console.print(words, style="yellow", soft_wrap=True, highlight=False),
        )

    return play
