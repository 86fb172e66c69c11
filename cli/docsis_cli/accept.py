# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 accept`: tests of virtual time beside Mininet, or beside what was recorded there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docsis_cli.refusals import refuse
from docsis_testbed.terminal import terminal

if TYPE_CHECKING:
    from docsis_experiments.stages.stage import Stage

app = typer.Typer(no_args_is_help=True, help="Test virtual time against Mininet and docsis-ns3.")


@app.command("closed-loop")
def closed_loop(
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario",
            metavar="NAME",
            help="Play only this scenario or tier of the demo; repeatable.",
        ),
    ] = None,
    mininet_runs: Annotated[
        int,
        typer.Option(
            "--mininet-runs",
            min=0,
            max=1000,
            help="Make this many valid runs of each in Mininet.",
        ),
    ] = 10,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds", min=0, max=10_000, help="Make this many runs of each in virtual time."
        ),
    ] = 30,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FOLDER",
            help="Folder that keeps runs. The default is results/acceptance/closed-loop.",
        ),
    ] = None,
) -> None:
    """Play whole experiments on both stages, and test equivalence.

    The stages are Mininet and virtual time; figures have to be equivalent within margins.
    It resumes where it was interrupted. The exit status is 1 where something is not equivalent, and
    3 where there are too few runs to tell.
    """
    from docsis_experiments.acceptance import cases, closed_loop
    from docsis_experiments.acceptance.collect import Stages, Wanted
    from docsis_experiments.stages.virtual.stage import VirtualStage

    def mininet() -> Stage:
        from docsis_experiments.stages.mininet.stage import MininetStage

        return MininetStage("embedded")

    closed_loop.run(
        cases.chosen(scenario or []),
        stages=Stages(mininet, VirtualStage),
        wanted=Wanted(mininet_runs, seeds),
        console=terminal(),
        results=results or closed_loop.FOLDER,
    )


@app.command("replay")
def replay(
    context: typer.Context,
    recording: Annotated[
        list[Path] | None,
        typer.Option(
            "--recording",
            metavar="FILE",
            help="Replay this recording of `docsis-switch --record` and run nothing, without "
            "root; repeatable.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=1.0, max=600.0, help="Length of the uploads, seconds."),
    ] = 10.0,
    tier: Annotated[
        str | None,
        typer.Option("--tier", help="Service tier, from topologies/tiers as in the demo."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FOLDER",
            help="Folder for recordings and their verdict. The default is "
            "results/acceptance/replay.",
        ),
    ] = None,
) -> None:
    """Replay a recorded Mininet run, and compare all outputs.

    It is recorded first unless --recording names recordings. The exit status is 1 where anything
    differs, to the nanosecond and the byte.
    """
    from docsis_experiments.acceptance import replay

    console = terminal()
    if recording:
        because = "--recording replays files and writes nothing"
        refuse(context, "seconds", "tier", "results", because=because)
        replay.replay(recording, console=console)
    else:
        replay.run(
            replay.topology(tier),
            seconds=seconds,
            console=console,
            results=results or replay.FOLDER,
        )


@app.command("referee")
def referee(
    recorded: Annotated[
        Path | None,
        typer.Option(
            "--referee",
            metavar="FILE",
            help="File with the referee's measurements. The default is docsis-ns3's.",
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option("--seeds", min=0, max=10_000, help="Make this many runs in virtual time."),
    ] = 20,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FOLDER",
            help="Folder that keeps runs. The default is results/acceptance/referee.",
        ),
    ] = None,
) -> None:
    """Compare medians with another simulator's.

    They have to agree within 15%. Runs are kept, and not made again. The exit status is 1 where a
    median does not agree, and 3 where there are too few runs.
    """
    from docsis_experiments.acceptance import cases
    from docsis_experiments.acceptance.referee import data, job, rule
    from docsis_experiments.stages.virtual.stage import VirtualStage

    [case] = cases.chosen([rule.CASE])
    job.run(
        case,
        recorded or data.RECORDED,
        virtual=VirtualStage,
        seeds=seeds,
        console=terminal(),
        results=results or job.FOLDER,
    )
