# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 population`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docsis_cli.completion import populations
from docsis_cli.options import StageName, is_virtual, named_or_file
from docsis_cli.playing import (
    PlayedAtATimeOption,
    SchedulerOption,
    TlsCaOption,
    TlsCertOption,
    TlsKeyOption,
    Where,
    player,
)
from docsis_testbed.errors import TestbedError
from docsis_testbed.terminal import terminal

if TYPE_CHECKING:
    from docsis_experiments.populations.job import Place

_CONSOLE = terminal()


def population(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="POPULATION.yaml",
            help="Population file, or the name of one that docsis-p4 list shows.",
            autocompletion=populations,
        ),
    ],
    stage: Annotated[
        StageName | None,
        typer.Option(
            "--stage",
            help="Stage to play on. The default is virtual; mininet plays one test at a time.",
        ),
    ] = None,
    virtual: Annotated[bool, typer.Option("--virtual", help="Short for --stage virtual.")] = False,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="NUMBER",
            min=0,
            help="Seed of the subscribers' draws.",
        ),
    ] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FOLDER",
            help="New or empty folder for the results. The default is results/TIME-NAME.",
        ),
    ] = None,
    jobs: PlayedAtATimeOption = None,
    scheduler: SchedulerOption = None,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
) -> None:
    """Test latency under load on thousands of random subscribers.

    Modems with different queue managers are compared on the same subscribers.
    """
    in_virtual_time = is_virtual(stage, virtual) or stage is None
    where = Where(jobs, scheduler, tls_ca, tls_cert, tls_key)
    place = _in_virtual_time(where) if in_virtual_time else _in_mininet(where)
    from docsis_control.config.errors import ConfigError
    from docsis_experiments.populations import job, loader
    from docsis_experiments.populations.drawing import LARGEST_SEED

    if seed > LARGEST_SEED:
        raise TestbedError(f"--seed {seed}: must be a number from 0 to {LARGEST_SEED}")
    try:
        loaded = loader.load(named_or_file(file, "populations"))
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    job.run(loaded, seed=seed, place=place, console=_CONSOLE, output=output)


def _in_virtual_time(where: Where) -> Place:
    play = player(where, _CONSOLE)
    from docsis_experiments.populations.job import Place
    from docsis_experiments.stages.virtual.stage import VirtualStage

    return Place("virtual", VirtualStage(), play)


def _in_mininet(where: Where) -> Place:
    where.check()
    for option, given in (("--jobs", where.jobs), ("--scheduler", where.scheduler)):
        if given is not None:
            raise TestbedError(
                f"{option} has no place in Mininet: a machine has one test at a time; leave it out"
            )
    from docsis_experiments.populations.job import Place
    from docsis_experiments.runs import in_mininet
    from docsis_experiments.stages.mininet.stage import MininetStage

    stage = MininetStage("embedded")
    return Place("mininet", stage, lambda units: in_mininet.play_all(units, stage, "population"))
