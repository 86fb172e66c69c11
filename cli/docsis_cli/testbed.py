# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 demo|shares|run|stop|clean|report|schema`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from docsis_cli import live as live_page
from docsis_cli.live import LiveOption, LivePortOption
from docsis_cli.options import (
    DEFAULT_TOPOLOGY,
    QUEUE_MANAGER,
    JobsOption,
    MetricsPortOption,
    Often,
    RepeatOption,
    SeedOption,
    SeedsOption,
    StageOption,
    Target,
    TargetOption,
    TierOption,
    TopologyOption,
    VirtualOption,
    is_virtual,
    load,
    maker,
    management,
    named_or_file,
)
from docsis_cli.options import stage as stage_of
from docsis_control.queue_managers.names import Preset
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

if TYPE_CHECKING:
    from docsis_experiments.experiment.loader import Loaded

_CONSOLE = Console()


class Ways(StrEnum):
    """Directions of the channel, as on the command line."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"


def demo(
    topology: TopologyOption = DEFAULT_TOPOLOGY,
    tier: TierOption = None,
    target: TargetOption = Target.EMBEDDED,
    aqm: Annotated[
        list[Preset] | None, typer.Option("--aqm", help="Play only this queue manager; repeatable.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=2, max=600, help="How long each run is measured."),
    ] = None,
    metrics_port: MetricsPortOption = None,
    live: LiveOption = False,
    live_port: LivePortOption = live_page.DEFAULT_PORT,
    virtual: VirtualOption = False,
    seed: SeedOption = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = None,
    repeat: RepeatOption = None,
) -> None:
    """Play queue managers under load, one after the other, and write a report."""
    often = Often(seed=seed, seeds=seeds, jobs=jobs, repeat=repeat)
    if live and virtual:
        raise TestbedError(
            "--live has no place here: virtual time is over in seconds and has no registers that "
            "others could read; leave --virtual out"
        )
    play = _player(target, often, virtual=virtual, metrics_port=metrics_port)
    chosen = load(topology, tier)
    from docsis_control.config.errors import ConfigError
    from docsis_experiments.experiment.demo import demo as experiment

    try:
        loaded = experiment(chosen, aqm or (), seconds)
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    if not live:
        play(loaded, ())
        return
    # A queue manager that somebody switched would spoil the measurement.
    with live_page.page(_CONSOLE, live_port, only_show=True):
        play(loaded, ())


def shares(
    topology: Annotated[Path, typer.Option("--topology", help="Topology file (YAML).")] = TOPOLOGIES
    / "two-tiers.yaml",
    tier: TierOption = None,
    target: TargetOption = Target.EMBEDDED,
    direction: Annotated[
        Ways, typer.Option("--direction", help="Which direction to load.")
    ] = Ways.BOTH,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            min=1,
            max=600,
            help="How long each direction is measured. The default is 10.",
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            min=0,
            metavar="PERCENT",
            help="The largest deviation that passes. The default is 2.",
        ),
    ] = None,
    frame_bytes: Annotated[
        int | None,
        typer.Option(
            "--frame-bytes",
            min=100,
            max=1518,
            help="Length of a frame to the end of its CRC. The default is 800.",
        ),
    ] = None,
    tcp: Annotated[
        bool, typer.Option("--tcp", help="Send TCP (CUBIC) wherever the classifiers allow it.")
    ] = False,
    virtual: VirtualOption = False,
    seed: SeedOption = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = None,
    repeat: RepeatOption = None,
) -> None:
    """Load every service flow at once, and fail when one does not get its configured share."""
    often = Often(seed=seed, seeds=seeds, jobs=jobs, repeat=repeat)
    play = _player(target, often, virtual=virtual)
    chosen = load(topology, tier)
    from docsis_control.config.errors import ConfigError
    from docsis_control.modem_config.provisioned import Direction
    from docsis_experiments.experiment.channel_shares import channel_shares

    both: tuple[Direction, Direction] = ("upstream", "downstream")
    try:
        loaded = channel_shares(
            chosen,
            directions=[way for way in both if direction in (Ways.BOTH, way)],
            measured_seconds=seconds,
            tolerance_percent=tolerance,
            tcp=tcp,
            frame_bytes=frame_bytes,
        )
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    play(loaded, ())


def run(
    context: typer.Context,
    scenario: Annotated[
        Path | None,
        typer.Argument(help="Scenario file (YAML), or the name of one that docsis-p4 list shows."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="RUN", help="With a scenario: play only this run; repeatable."
        ),
    ] = None,
    topology: TopologyOption = DEFAULT_TOPOLOGY,
    tier: TierOption = None,
    target: TargetOption = Target.EMBEDDED,
    aqm: Annotated[
        str,
        typer.Option(
            "--aqm",
            metavar=QUEUE_MANAGER,
            help="Queue manager of the upstream service flows: a file with its parameters, or one "
            f"of {', '.join(Preset)}.",
        ),
    ] = Preset.DOCSIS_PIE.value,
    downstream_aqm: Annotated[
        str | None,
        typer.Option(
            "--downstream-aqm",
            metavar=QUEUE_MANAGER,
            help="Queue manager of the downstream service flows; they keep their own otherwise.",
        ),
    ] = None,
    metrics_port: MetricsPortOption = None,
    live: LiveOption = False,
    live_port: LivePortOption = live_page.DEFAULT_PORT,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart/--no-restart",
            help="Say when the controller or a switch dies, and start it again or not.",
        ),
    ] = True,
    logs: Annotated[
        Path | None,
        typer.Option(
            "--logs",
            metavar="FOLDER",
            help="Keep the logs of controller and switches in this new or empty folder.",
        ),
    ] = None,
    stage: StageOption = None,
    virtual: VirtualOption = False,
    seed: SeedOption = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = None,
    repeat: RepeatOption = None,
    pcap: Annotated[
        Path | None,
        typer.Option(
            "--pcap",
            metavar="FOLDER",
            help="With a scenario: capture the upstream channels, into RUN/CHANNEL.pcap there.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FOLDER",
            help="With a scenario: trace the switches' packets, into RUN/DEVICE.txt there.",
        ),
    ] = None,
) -> None:
    """Play a scenario beside its published figures, or start the system for you to use."""
    if scenario is not None:
        said = ("topology", "tier", "aqm", "downstream_aqm", "metrics_port")
        _refuse(context, *said, because="the scenario says it")
        _refuse(context, "restart", because="a death fails a scenario")
        _refuse(
            context,
            *("live", "live_port"),
            because="what somebody switched would be measured; start docsis-p4 live --only-show "
            "beside it",
        )
        _refuse(context, "logs", because="they are in the scenario's results")
        often = Often(seed=seed, seeds=seeds, jobs=jobs, repeat=repeat)
        in_virtual_time = is_virtual(stage, virtual)
        if seeds is not None:
            _refuse(context, "pcap", "trace", because="of many seeds nothing but outcomes is kept")
        if repeat is not None:
            _refuse(context, "pcap", "trace", because="each repetition would write the same files")
        _run_scenario(scenario, target, often, in_virtual_time, only or [], pcap=pcap, trace=trace)
        return
    _refuse(context, "only", because="there is no scenario")
    because = "Mininet's command line waits for you, and virtual time does not; give a scenario"
    _refuse(context, "virtual", "stage", "seed", "seeds", "jobs", because=because)
    _refuse(context, "repeat", "pcap", "trace", because="there is no scenario")
    loaded = load(topology, tier)
    from docsis_testbed import interactive

    interactive.run(
        loaded,
        target=target.value,
        upstream=management(aqm, "--aqm"),
        downstream=management(downstream_aqm, "--downstream-aqm")
        if downstream_aqm is not None
        else None,
        console=_CONSOLE,
        metrics_port=metrics_port,
        restart=restart,
        logs=logs,
        beside=partial(live_page.beside_run, console=_CONSOLE, port=live_port if live else None),
    )


def _refuse(context: typer.Context, *names: str, because: str) -> None:
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise TestbedError(f"--{name.replace('_', '-')} has no place here: {because}")


def _run_scenario(
    file: Path,
    target: Target,
    often: Often,
    virtual: bool,
    only: list[str],
    *,
    pcap: Path | None,
    trace: Path | None,
) -> None:
    play = _player(target, often, virtual=virtual, pcap=pcap, trace=trace)
    from docsis_control.config.errors import ConfigError
    from docsis_experiments.experiment.loader import load as load_scenario

    try:
        loaded = load_scenario(named_or_file(file, "scenarios"))
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    play(loaded, only)


def _player(
    target: Target,
    often: Often,
    *,
    virtual: bool,
    metrics_port: int | None = None,
    pcap: Path | None = None,
    trace: Path | None = None,
) -> Callable[[Loaded, Sequence[str]], Path]:
    """Returns the function that plays an experiment, once or many times, as the options say.

    It takes the experiment and the labels of the runs to play; without labels it plays all.

    Raises:
        TestbedError: The options contradict each other; nothing heavy has been loaded by then.
    """
    many = maker(target, often, virtual=virtual, metrics_port=metrics_port)
    if many is not None:
        made_by, numbers = many

        def repeatedly(loaded: Loaded, only: Sequence[str]) -> Path:
            from docsis_experiments.repetition import job

            return job.run(loaded, maker=made_by, numbers=numbers, only=only, console=_CONSOLE)

        return repeatedly
    played = stage_of(
        target,
        virtual=virtual,
        seed=often.seed,
        metrics_port=metrics_port,
        pcap=pcap,
        trace=trace,
    )

    def once(loaded: Loaded, only: Sequence[str]) -> Path:
        from docsis_experiments.repetition.once import run as run_once

        return run_once(loaded, stage=played, only=only, console=_CONSOLE)

    return once


def stop() -> None:
    """End the run that is under way, and nothing that is not ours."""
    from docsis_testbed import runstate

    ended = runstate.stop()
    for what in ended:
        _CONSOLE.print(f"ended {what}", markup=False, highlight=False)
    if not ended:
        _CONSOLE.print("nothing of ours runs")


def clean() -> None:
    """End the run that is under way, and remove the record of runs."""
    from docsis_testbed import runstate
    from docsis_testbed.paths import RUN_STATE

    stop()
    runstate.remove_folder(RUN_STATE)


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a run under results/.")],
) -> None:
    """Write a run's report.html again from its files."""
    from docsis_experiments.reports import report as page

    _CONSOLE.print(f"Report: {page.write(folder)}", soft_wrap=True, highlight=False)


def schema(
    folder: Annotated[
        Path | None, typer.Argument(help="Write the schemas there instead of printing them.")
    ] = None,
) -> None:
    """Print the JSON Schemas of input files, results and the status."""
    import json

    from docsis_control.modem_config import schema as modem_config
    from docsis_control.queue_managers import document as queue_managers
    from docsis_control.status import model as status
    from docsis_control.topology import schema as config
    from docsis_experiments.acceptance import figures as closed_loop
    from docsis_experiments.acceptance.referee import data as referee
    from docsis_experiments.experiment import schema as scenarios
    from docsis_experiments.populations import schema as populations
    from docsis_experiments.reports import document
    from docsis_experiments.sweeps import schema as sweeps

    schemas = {
        **config.json_schemas(),
        **modem_config.json_schemas(),
        "queue-manager": queue_managers.json_schema(),
        "figures": document.schema("figures"),
        "scenario": scenarios.json_schema(),
        "sweep": sweeps.json_schema(),
        "sweep-summary": document.schema("sweep"),
        "population": populations.json_schema(),
        "population-summary": document.schema("population"),
        "comparison": document.schema("comparison"),
        "scenario-summary": document.schema("scenario"),
        "repeated-summary": document.schema("repeated"),
        "reproduction": document.schema("reproduction"),
        "closed-loop": closed_loop.schema(),
        "referee": referee.schema("referee"),
        "referee-results": referee.schema("results"),
        "status": status.json_schema(),
    }
    if folder is None:
        typer.echo(json.dumps(schemas, indent=2))
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in schemas.items():
        (folder / f"{name}.schema.json").write_text(json.dumps(content, indent=2) + "\n")
        typer.echo(folder / f"{name}.schema.json")


def controller(context: typer.Context) -> None:
    """Run the controller alone, for switches that run already."""
    from docsis_control.app import main

    raise typer.Exit(main(context.args))
