# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 sweep`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from docsis_cli.options import named_or_file
from docsis_cli.playing import (
    PlayedAtATimeOption,
    SchedulerOption,
    TlsCaOption,
    TlsCertOption,
    TlsKeyOption,
    Where,
)
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
    jobs: PlayedAtATimeOption = None,
    scheduler: SchedulerOption = None,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
) -> None:
    """Play an experiment under many conditions in virtual time: managers, rates, buffers."""
    play = _player(Where(jobs, scheduler, tls_ca, tls_cert, tls_key))
    from docsis_control.config.errors import ConfigError
    from docsis_experiments.sweeps import job, loader

    try:
        loaded = loader.load(named_or_file(file, "sweeps"))
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    job.run(loaded, play=play, console=_CONSOLE)


def _player(where: Where) -> Player:
    """Returns where the runs are played.

    Raises:
        TestbedError: The options contradict each other, or a file cannot be used.
    """
    where.check()
    access = where.access()
    if access is None:
        from docsis_experiments.runs import pool

        processes = where.processes()
        return lambda units: pool.play_all(units, processes)
    from docsis_experiments.sweeps import cluster

    def play(units: Sequence[Unit]) -> Generator[Played, None, None]:
        return cluster.play_all(
            units,
            access,
            lambda words: _CONSOLE.print(words, style="yellow", soft_wrap=True, highlight=False),
        )

    return play
