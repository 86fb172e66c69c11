# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 reproduce`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docsis_cli.options import StageName
from docsis_cli.playing import (
    PlayedAtATimeOption,
    SchedulerOption,
    TlsCaOption,
    TlsCertOption,
    TlsKeyOption,
    Where,
    on_cluster,
)
from docsis_cli.refusals import refuse
from docsis_testbed.errors import TestbedError
from docsis_testbed.terminal import terminal

if TYPE_CHECKING:
    from docsis_experiments.reproduction.making import Player

_CONSOLE = terminal()


class _Level(StrEnum):
    """The same as `reproduction.row.Level`, which takes long to import; a test compares the two."""

    SMOKE = "smoke"
    STUDY = "study"
    FULL = "full"


def reproduce(
    context: typer.Context,
    rows: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER|ROW",
            help='Papers or rows, as "001" or "001-F5a". The default is the whole catalogue.',
        ),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            "--level",
            metavar="smoke|study|full",
            help="smoke runs everything and judges nothing, study gives provisional verdicts from "
            "3 to 5 seeds (300 for the field study), full gives verdicts. The default is smoke.",
        ),
    ] = None,
    stage: Annotated[
        StageName,
        typer.Option(
            "--stage", help="Where to play. Only rows that the catalogue marks µ play in mininet."
        ),
    ] = StageName.VIRTUAL,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only estimate the core-seconds of each row.")
    ] = False,
    kept: Annotated[
        bool, typer.Option("--kept", help="Only write the page of the kept results.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", metavar="NUMBER", help="Number of seeds of a study, 3 to 5."),
    ] = None,
    readings: Annotated[
        int | None,
        typer.Option(
            "--readings",
            metavar="NUMBER",
            help="Play this many readings of what the paper says in each row; full plays all.",
        ),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            "--since", metavar="RESULTS.json", help="Show what changed since these results."
        ),
    ] = None,
    publish: Annotated[
        Path | None,
        typer.Option(
            "--publish",
            metavar="FOLDER",
            help="Also add the page and results.json to this folder, beside its rows; "
            "docs/results has the last study.",
        ),
    ] = None,
    note: Annotated[
        str,
        typer.Option(
            "--note", metavar="TEXT", help="Say what was repaired; a row's history shows it."
        ),
    ] = "",
    jobs: PlayedAtATimeOption = None,
    scheduler: SchedulerOption = None,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
) -> None:
    """Repeat the published results of five papers, and judge them.

    The rules by which they are judged were registered before any run that counts.
    """
    where = Where(jobs, scheduler, tls_ca, tls_cert, tls_key)
    where.check()
    chosen = _level(level)
    _check(context, stage, where, chosen, estimate=estimate, kept=kept)
    processes = where.processes()
    from docsis_experiments.reproduction import job
    from docsis_experiments.reproduction.request import Request
    from docsis_experiments.reproduction.row import Level

    request = Request(
        names=tuple(rows or ()),
        level=None if chosen is None else Level(chosen.value),
        stage="virtual" if stage is StageName.VIRTUAL else "mininet",
        seeds=seeds,
        readings=readings,
        since=since,
        publish=publish,
        note=note,
    )
    request.check()
    if stage is StageName.VIRTUAL and not kept:
        from docsis_experiments.stages.virtual.module import check_built

        check_built()
    if estimate:
        job.estimate(request, jobs=processes, console=_CONSOLE, bench=job.shipped())
        return
    player = None if kept else _player(stage, where, processes)
    job.run(request, player=player, jobs=processes, console=_CONSOLE, bench=job.shipped())


def _level(name: str | None) -> _Level | None:
    if name is None:
        return None
    try:
        return _Level(name)
    except ValueError:
        raise TestbedError(
            f"--level {name}: there is no such level; there are {', '.join(_Level)}"
        ) from None


def _check(
    context: typer.Context,
    stage: StageName,
    where: Where,
    level: _Level | None,
    *,
    estimate: bool,
    kept: bool,
) -> None:
    """Refuses options that contradict each other, and those that would have no effect.

    Raises:
        TestbedError: An option has no place; the message says why.
    """
    if estimate and kept:
        raise TestbedError("--kept has no place beside --estimate, which makes nothing either")
    if estimate:
        nothing = ("publish", "note", "since", "scheduler")
        refuse(context, *nothing, because="--estimate makes nothing; leave one of the two out")
    if kept:
        because = "--kept runs nothing; leave one of the two out"
        refuse(context, "scheduler", "jobs", because=because)
    if stage is StageName.VIRTUAL:
        if level in (None, _Level.SMOKE):
            because = "at --level smoke no outcome is kept; give --level study or full"
            refuse(context, "note", because=because)
        return
    refuse(context, "readings", because="a row has one reading in Mininet; leave it out")
    for option, given in (("--jobs", where.jobs), ("--scheduler", where.scheduler)):
        if given is not None:
            raise TestbedError(
                f"{option} has no place in Mininet: a machine has one run at a time; leave it out"
            )
    if estimate:
        raise TestbedError(
            "--estimate has no place in Mininet, where a run takes as long as it is; leave it out"
        )


def _player(stage: StageName, where: Where, processes: int) -> Player:
    """Makes the player.

    Raises:
        TestbedError: There is no scheduler to be had.
    """
    if stage is StageName.MININET:
        from docsis_experiments.reproduction.mininet_runs import InMininet
        from docsis_experiments.stages.mininet.stage import MininetStage

        return InMininet(MininetStage("embedded", None))
    from docsis_experiments.reproduction.making import Cluster, Processes

    here = Processes(processes)
    access = where.access()
    if access is None:
        return here
    # The cluster is asked last, after draws and computations have been made here for hours.
    access.check()
    return Cluster(on_cluster(access, _CONSOLE), here)
