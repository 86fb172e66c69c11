# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 sweep`."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from docsis_cli.options import named_or_file
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_experiments.runs.pool import Played
    from docsis_experiments.runs.unit import Unit
    from docsis_experiments.sweeps.job import Player

_CONSOLE = Console()


def sweep(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="SWEEP.yaml", help="Sweep file, or the name of one that docsis-p4 list shows."
        ),
    ],
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", help="Processes here; as many as processors unless given."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler", metavar="tls://HOST:PORT", help="Of a Dask cluster that plays the runs."
        ),
    ] = None,
    tls_ca: Annotated[
        Path | None, typer.Option("--tls-ca", metavar="FILE", help="Of the cluster, PEM.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Our certificate, PEM.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Its private key, PEM.")
    ] = None,
) -> None:
    """An experiment under many conditions, in virtual time: managers, rates, buffers, seeds."""
    play = _player(jobs, scheduler, tls_ca, tls_cert, tls_key)
    from docsis_control.config.errors import ConfigError
    from docsis_experiments.sweeps import job, loader

    try:
        loaded = loader.load(named_or_file(file, "sweeps"))
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    job.run(loaded, play=play, console=_CONSOLE)


def _player(
    jobs: int | None,
    scheduler: str | None,
    ca: Path | None,
    certificate: Path | None,
    key: Path | None,
) -> Player:
    """Where the runs are played.

    Raises:
        TestbedError: The options contradict each other, or a file cannot be used.
    """
    if scheduler is None:
        for option, given in (("--tls-ca", ca), ("--tls-cert", certificate), ("--tls-key", key)):
            if given is not None:
                raise TestbedError(f"{option} has no place here: only --scheduler needs it")
        from docsis_experiments.runs import pool, workers

        processes = workers.check_jobs(os.cpu_count() or 1 if jobs is None else jobs)
        return lambda units: pool.play_all(units, processes)
    if jobs is not None:
        raise TestbedError(
            "--jobs has no place beside --scheduler: the cluster plays as many runs at a time as "
            "its workers have threads"
        )
    from docsis_experiments.sweeps import cluster
    from docsis_experiments.sweeps.tls import Access

    access = Access.of(scheduler, ca, certificate, key)

    def play(units: Sequence[Unit]) -> Generator[Played, None, None]:
        return cluster.play_all(
            units,
            access,
            lambda words: _CONSOLE.print(words, style="yellow", soft_wrap=True, highlight=False),
        )

    return play
