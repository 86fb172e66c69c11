# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 demo|shares|run|stop|clean|report|schema`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docsis_cli import completion
from docsis_cli import live as live_page
from docsis_cli.live import LiveOption, LivePortOption
from docsis_cli.options import (
    DEFAULT_TOPOLOGY,
    QUEUE_MANAGER,
    TOPOLOGY,
    CommandOption,
    CommandsOption,
    JobsOption,
    Kept,
    MetricsPortOption,
    NoteOption,
    Often,
    OutputOption,
    OutputOrLogsOption,
    PcapMibOption,
    PcapOption,
    RepeatOption,
    SeedOption,
    SeedsOption,
    StageOption,
    Target,
    TargetOption,
    TierOption,
    TopologyOption,
    TrafficOption,
    VirtualOption,
    is_virtual,
    load,
    maker,
    management,
    named_or_file,
    own_commands,
)
from docsis_cli.options import stage as stage_of
from docsis_cli.refusals import check_folder, refuse
from docsis_control.queue_managers.names import Preset
from docsis_testbed.captures import DEFAULT_MIB
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS, TOPOLOGIES
from docsis_testbed.terminal import terminal

if TYPE_CHECKING:
    from docsis_experiments.experiment.loader import Loaded
    from docsis_testbed.own_commands import OwnCommand

_CONSOLE = terminal()
_TWO_TIERS = TOPOLOGIES / "two-tiers.yaml"
_NO_PAGE = "it is the port of the page that --live serves; give --live, too"


class Ways(StrEnum):
    """Directions of the channel, as on the command line."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"


def demo(
    context: typer.Context,
    topology: TopologyOption = DEFAULT_TOPOLOGY,
    tier: TierOption = None,
    target: TargetOption = Target.EMBEDDED,
    aqm: Annotated[
        list[Preset] | None,
        typer.Option(
            "--aqm",
            metavar="PRESET",
            help=f"Play only this queue manager, one of {', '.join(Preset)}; repeatable.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            min=2,
            max=600,
            help="Measure each run for this many seconds. The default is 24.",
        ),
    ] = None,
    metrics_port: MetricsPortOption = None,
    live: LiveOption = False,
    live_port: LivePortOption = live_page.DEFAULT_PORT,
    virtual: VirtualOption = False,
    seed: SeedOption = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = None,
    repeat: RepeatOption = None,
    output: OutputOption = None,
    note: NoteOption = "",
    pcap: PcapOption = None,
    pcap_mib: PcapMibOption = DEFAULT_MIB,
    traffic: TrafficOption = None,
    command: CommandOption = None,
    commands: CommandsOption = None,
) -> None:
    """Play queue managers under load, and write a report.

    One run follows the other. In each, a game and four TCP uploads share the topology's first
    modem. Unless --aqm is given, there are three: drop-tail-250ms, buffer-control-50ms and
    docsis-pie. The exit status is 3 if time jumped or the measuring went wrong.
    """
    often = Often(seed=seed, seeds=seeds, jobs=jobs, repeat=repeat)
    if not live:
        refuse(context, "live_port", because=_NO_PAGE)
    if live and virtual:
        raise TestbedError(
            "--live has no place here: virtual time is over in seconds and has no registers that "
            "others could read; leave --virtual out"
        )
    kept = Kept(output, note)
    play = _player(
        target,
        often,
        virtual=virtual,
        kept=kept,
        metrics_port=metrics_port,
        pcap=pcap or (),
        pcap_mib=pcap_mib,
        commands=own_commands(command, commands),
    )
    chosen = load(topology, tier)
    from docsis_control.config.errors import ConfigError
    from docsis_experiments.experiment.demo import demo as experiment

    try:
        loaded = _beside(experiment(chosen, aqm or (), seconds), traffic)
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    if not live:
        play(loaded, ())
        return
    # A queue manager that somebody switched would spoil the measurement.
    with live_page.page(_CONSOLE, live_port, only_show=True):
        play(loaded, ())


def shares(
    topology: Annotated[
        Path,
        typer.Option(
            "--topology",
            metavar=TOPOLOGY,
            help="Topology: a file, or a name that docsis-p4 list shows. The default is "
            f"{_TWO_TIERS.stem}.",
            show_default=False,
            autocompletion=completion.topologies,
        ),
    ] = _TWO_TIERS,
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
            help="Measure each direction for this many seconds. The default is 10.",
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
    output: OutputOption = None,
    note: NoteOption = "",
) -> None:
    """Load every service flow, and compare with configured shares.

    All service flows are loaded at once. The exit status is 1 when one does not get its share.
    """
    often = Often(seed=seed, seeds=seeds, jobs=jobs, repeat=repeat)
    play = _player(target, often, virtual=virtual, kept=Kept(output, note))
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
        typer.Argument(
            help="Scenario: a file (YAML), or a name that docsis-p4 list experiments shows.",
            autocompletion=completion.scenarios,
        ),
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
            autocompletion=completion.queue_managers,
        ),
    ] = Preset.DOCSIS_PIE.value,
    downstream_aqm: Annotated[
        str | None,
        typer.Option(
            "--downstream-aqm",
            metavar=QUEUE_MANAGER,
            help="Queue manager of the downstream service flows. By default it is as configured.",
            autocompletion=completion.queue_managers,
        ),
    ] = None,
    metrics_port: MetricsPortOption = None,
    live: LiveOption = False,
    live_port: LivePortOption = live_page.DEFAULT_PORT,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart/--no-restart",
            help="Start the controller or a switch again when it dies, or only say that it died.",
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
    pcap: PcapOption = None,
    pcap_mib: PcapMibOption = DEFAULT_MIB,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FOLDER",
            help="With a scenario: trace the switches' packets into RUN/DEVICE.txt in this folder.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            min=1,
            max=3600,
            help="With a scenario: measure each run for this many seconds.",
        ),
    ] = None,
    traffic: TrafficOption = None,
    command: CommandOption = None,
    commands: CommandsOption = None,
    output: OutputOrLogsOption = None,
    note: NoteOption = "",
) -> None:
    """Play a scenario, or start the system for you to use.

    The report of a scenario has measured values beside published ones. The exit status is 0 if
    nothing is contradicted, 1 if something is, and 3 if there is no verdict, as after one run
    beside published values. Without a scenario you get Mininet's command line, and leaving it ends
    the system.
    """
    if scenario is not None:
        said = ("topology", "tier", "aqm", "downstream_aqm", "metrics_port")
        refuse(context, *said, because="the scenario says it")
        refuse(context, "restart", because="a death fails a scenario")
        refuse(
            context,
            *("live", "live_port"),
            because="what somebody switched would be measured; start docsis-p4 live --only-show "
            "beside it",
        )
        refuse(context, "logs", because="they are in the scenario's results")
        often = Often(seed=seed, seeds=seeds, jobs=jobs, repeat=repeat)
        in_virtual_time = is_virtual(stage, virtual)
        if seeds is not None:
            refuse(context, "pcap", "trace", because="of many seeds nothing but outcomes is kept")
        if repeat is not None:
            refuse(context, "pcap", "trace", because="each repetition would write the same files")
        play = _player(
            target,
            often,
            virtual=in_virtual_time,
            kept=Kept(output, note),
            pcap=pcap or (),
            pcap_mib=pcap_mib,
            trace=trace,
            commands=own_commands(command, commands),
        )
        _run_scenario(scenario, play, only or [], seconds, traffic)
        return
    refuse(context, "only", because="there is no scenario")
    if not live:
        refuse(context, "live_port", because=_NO_PAGE)
    because = "Mininet's command line waits for you, and virtual time does not; give a scenario"
    refuse(context, "virtual", "stage", "seed", "seeds", "jobs", because=because)
    refuse(context, "repeat", "trace", "seconds", "traffic", because="there is no scenario")
    if output is not None:
        refuse(context, "logs", because="--output keeps the logs, too; leave one of the two out")
    elif logs is None:
        refuse(context, "note", because="nothing is kept of this run; give --output or --logs, too")
        refuse(context, "pcap", because="captures need a folder; give --output or --logs, too")
    kept = Kept(output, note).checked()
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
        logs=logs if output is None else output,
        note=kept.note,
        pcap=pcap or (),
        pcap_mib=pcap_mib,
        commands=own_commands(command, commands),
        beside=partial(live_page.beside_run, console=_CONSOLE, port=live_port if live else None),
    )


def _run_scenario(
    file: Path,
    play: Callable[[Loaded, Sequence[str]], Path],
    only: list[str],
    seconds: float | None,
    traffic: Path | None,
) -> None:
    from docsis_control.config.errors import ConfigError
    from docsis_experiments.experiment.altered import measured_for
    from docsis_experiments.experiment.loader import load as load_scenario

    try:
        as_asked = load_scenario(
            named_or_file(file, "scenarios"),
            change=lambda one: one if seconds is None else measured_for(one, seconds),
        )
        loaded = _beside(as_asked, traffic)
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    play(loaded, only)


def _beside(loaded: Loaded, traffic: Path | None) -> Loaded:
    """Returns the experiment with the traffic of a file, if there is one, beside its own."""
    if traffic is None:
        return loaded
    from docsis_experiments.experiment.extra_traffic import with_traffic

    return with_traffic(loaded, traffic)


def _player(
    target: Target,
    often: Often,
    *,
    virtual: bool,
    kept: Kept,
    metrics_port: int | None = None,
    pcap: Sequence[str] = (),
    pcap_mib: int = DEFAULT_MIB,
    trace: Path | None = None,
    commands: Sequence[OwnCommand] = (),
) -> Callable[[Loaded, Sequence[str]], Path]:
    """Returns the function that plays an experiment, once or many times, as the options say.

    It takes the experiment and the labels of the runs to play; without labels it plays all.

    Raises:
        TestbedError: The options contradict each other, or the results cannot go where they say;
            nothing heavy has been loaded by then.
    """
    kept = kept.checked()
    check_folder("--trace", trace)
    many = maker(target, often, virtual=virtual, metrics_port=metrics_port)
    if many is not None:
        if pcap:
            raise TestbedError(
                "--pcap has no place beside --seeds or --repeat: captures are of a run that is "
                "made once; leave one of the two out"
            )
        if commands:
            raise TestbedError(
                "--command has no place beside --seeds or --repeat: commands are of a run that is "
                "made once; leave one of the two out"
            )
        made_by, numbers = many

        def repeatedly(loaded: Loaded, only: Sequence[str]) -> Path:
            from docsis_experiments.repetition import job

            return job.run(
                loaded,
                maker=made_by,
                numbers=numbers,
                only=only,
                console=_CONSOLE,
                output=kept.output,
                note=kept.note,
            )

        return repeatedly
    from docsis_experiments.stages.views import Views

    views = Views(tuple(pcap), pcap_mib, trace, kept.output or RESULTS)
    played = stage_of(
        target,
        virtual=virtual,
        seed=often.seed,
        metrics_port=metrics_port,
        views=views,
        commands=commands,
    )

    def once(loaded: Loaded, only: Sequence[str]) -> Path:
        from docsis_experiments.repetition.once import run as run_once

        return run_once(
            loaded,
            stage=played,
            only=only,
            console=_CONSOLE,
            output=kept.output,
            note=kept.note,
        )

    return once


def stop() -> None:
    """End the run that is under way, and touch nothing else."""
    from docsis_testbed import runstate

    ended = runstate.stop()
    for what in ended:
        _CONSOLE.print(f"ended {what}", highlight=False)
    if not ended:
        _CONSOLE.print("nothing of ours runs")


def clean() -> None:
    """End the run that is under way, and remove /run/docsis-p4.

    Results stay.
    """
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
    from docsis_experiments.experiment import extra_traffic
    from docsis_experiments.experiment import schema as scenarios
    from docsis_experiments.populations import schema as populations
    from docsis_experiments.reports import document
    from docsis_experiments.runs.files import write_atomically
    from docsis_experiments.sweeps import schema as sweeps
    from docsis_testbed import command_files

    schemas = {
        **config.json_schemas(),
        **modem_config.json_schemas(),
        "queue-manager": queue_managers.json_schema(),
        "figures": document.schema("figures"),
        "scenario": scenarios.json_schema(),
        "traffic": extra_traffic.json_schema(),
        "commands": command_files.json_schema(),
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
    for name, content in schemas.items():
        path = folder / f"{name}.schema.json"
        write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())
        typer.echo(path)


def controller(context: typer.Context) -> None:
    """Run the controller alone, for switches that run already."""
    from docsis_control.app import main

    raise typer.Exit(main(context.args))
