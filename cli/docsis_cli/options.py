# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from docsis_cli.completion import tiers, topologies
from docsis_testbed.captures import MOST_MIB
from docsis_testbed.errors import TestbedError
from docsis_testbed.looking import looked_at
from docsis_testbed.paths import TOPOLOGIES

if TYPE_CHECKING:
    from docsis_control.queue_managers.management import QueueManagement
    from docsis_control.topology.models import Topology
    from docsis_experiments.repetition.making import Maker
    from docsis_experiments.stages.stage import Stage
    from docsis_experiments.stages.views import Views
    from docsis_testbed.own_commands import OwnCommand


def named_or_file(argument: Path, sort: str) -> Path:
    """Returns the file, or the shipped one of that name that `docsis-p4 list` shows.

    Args:
        argument: The user's argument.
        sort: "topologies", or the folder of the shipped ones beside the topologies.

    Raises:
        TestbedError: It is a name, not a path, and there is neither a file nor a shipped one; or
            it cannot be looked at.
    """
    name, folder = str(argument), TOPOLOGIES / ("" if sort == TOPOLOGIES.name else sort)
    if len(argument.parts) > 1 or argument.suffix or looked_at(argument, Path.exists):
        return argument
    shipped = {file.stem: file for file in folder.glob("*.yaml")}
    if name not in shipped:
        near = get_close_matches(name, shipped, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; docsis-p4 list shows the names"
        raise TestbedError(
            f"{name}: there is no such file, and {sort} of the project have no such name{hint}"
        )
    return shipped[name]


class Target(StrEnum):
    """Switch targets."""

    EMBEDDED = "embedded"
    BMV2 = "bmv2"


class StageName(StrEnum):
    """The stage on which an experiment is played."""

    MININET = "mininet"
    VIRTUAL = "virtual"


DEFAULT_TOPOLOGY = TOPOLOGIES / "residential.yaml"


def load(topology: Path, tier: str | None) -> Topology:
    """Loads the topology that the options name.

    Raises:
        TestbedError: It cannot be used; file, line and key are in the message.
    """
    from docsis_control.config.errors import ConfigError
    from docsis_control.topology.loader import load_topology

    try:
        return load_topology(named_or_file(topology, TOPOLOGIES.name), tier)
    except ConfigError as error:
        raise TestbedError(str(error)) from None


def management(text: str, option: str) -> QueueManagement:
    """Returns the queue manager that an option names, or that the file it names describes.

    Raises:
        TestbedError: It cannot be used; file, line and key are in the message.
    """
    from docsis_control.queue_managers.document import from_argument

    try:
        return from_argument(text)
    except ValueError as error:
        raise TestbedError(f"{option}: {error}") from None


def stage(
    target: Target,
    *,
    virtual: bool,
    seed: int | None,
    metrics_port: int | None = None,
    views: Views | None = None,
    commands: Sequence[OwnCommand] = (),
) -> Stage:
    """Returns the stage on which the options have the runs played.

    Args:
        target: The switch to use.
        virtual: Whether time is virtual.
        seed: Seed of virtual time.
        metrics_port: Port of the controller's metrics, in real time.
        views: Files that runs write so that they can be seen packet by packet.
        commands: The user's own commands in hosts.

    Raises:
        TestbedError: The options contradict each other, or the virtual world is not built.
    """
    from docsis_experiments.stages.views import NO_VIEWS

    seen = NO_VIEWS if views is None else views
    if not virtual:
        if seed is not None:
            raise TestbedError("--seed has no place here: only --virtual time has one")
        from docsis_experiments.stages.mininet.stage import MininetStage

        return MininetStage(target.value, metrics_port, views=seen, commands=commands)
    if target is not Target.EMBEDDED:
        raise TestbedError(
            f"--target {target.value} has no place beside --virtual: {target.value} is a program "
            "that runs in real time; leave one of the two out"
        )
    if metrics_port is not None:
        raise TestbedError(
            "--metrics-port has no place beside --virtual: in virtual time nothing waits until "
            "somebody looks; leave one of the two out"
        )
    if commands:
        raise TestbedError(
            "--command has no place beside --virtual: the hosts of virtual time run no programs; "
            "leave one of the two out, or use --traffic"
        )
    from docsis_experiments.stages.virtual.stage import DEFAULT_SEED, VirtualStage

    return VirtualStage(DEFAULT_SEED if seed is None else seed, views=seen)


def is_virtual(where: StageName | None, virtual: bool) -> bool:
    """Tells whether time is virtual.

    Raises:
        TestbedError: The two options contradict each other.
    """
    if virtual and where is StageName.MININET:
        raise TestbedError(
            "--virtual has no place beside --stage mininet: it is short for --stage virtual; leave "
            "one of the two out"
        )
    return virtual or where is StageName.VIRTUAL


@dataclass(frozen=True)
class Often:
    """The options that say how often an experiment is played; one that is not given is None."""

    seed: int | None = None
    seeds: int | None = None
    jobs: int | None = None
    repeat: int | None = None

    def check(self, *, virtual: bool) -> None:
        """Refuses options that contradict each other.

        Raises:
            TestbedError: Two options exclude each other; the message says what to do.
        """
        if self.seeds is not None and not virtual:
            raise TestbedError(
                "--seeds has no place in Mininet: only virtual time has seeds; give --virtual, "
                "too, or --repeat instead"
            )
        if self.seeds is not None and self.seed is not None:
            raise TestbedError(
                "--seed has no place beside --seeds, which are those from 1 up; leave one of the "
                "two out"
            )
        if self.repeat is not None and virtual:
            raise TestbedError(
                "--repeat has no place in virtual time: equal seeds have equal results; give "
                "--seeds instead"
            )
        if self.jobs is not None and not virtual:
            raise TestbedError(
                "--jobs has no place in Mininet: a machine has one run at a time; leave it out"
            )
        if self.jobs is not None and self.seeds is None:
            raise TestbedError(
                "--jobs has no place here: it is how many runs are played at a time; give "
                "--seeds, too"
            )


def maker(
    target: Target, often: Often, *, virtual: bool, metrics_port: int | None = None
) -> tuple[Maker, range] | None:
    """Returns what plays an experiment many times, with the runs' numbers; None for one run.

    Raises:
        TestbedError: Options contradict each other, or are out of range.
    """
    often.check(virtual=virtual)
    if often.seeds is None and often.repeat is None:
        return None
    from docsis_experiments.runs.store import Store

    if often.seeds is not None:
        stage(target, virtual=True, seed=None, metrics_port=metrics_port)
        from docsis_experiments.repetition.virtual import Seeds

        return Seeds(1 if often.jobs is None else often.jobs, Store()), Seeds.numbers(often.seeds)
    assert often.repeat is not None
    from docsis_experiments.repetition.real_time import Repetitions

    numbers = Repetitions.numbers(often.repeat)
    played = stage(target, virtual=False, seed=None, metrics_port=metrics_port)
    return Repetitions(played, Store()), numbers


def own_commands(given: Sequence[str] | None, file: Path | None) -> list[OwnCommand]:
    """Returns the commands that the options name.

    Raises:
        TestbedError: One cannot be read.
    """
    from docsis_testbed.own_commands import from_argument

    found = [from_argument(text) for text in given or ()]
    if file is not None:
        from docsis_testbed.command_files import load_commands

        found += load_commands(file)
    return found


@dataclass(frozen=True)
class Kept:
    """Folder and note that the user gives a result.

    Attributes:
        output: The result's folder, or None for one of results/.
        note: The user's own text, or "".
    """

    output: Path | None = None
    note: str = ""

    def checked(self) -> Kept:
        """Returns the same with the note as it is kept.

        Raises:
            TestbedError: The folder cannot become a result's, or the note is too long.
        """
        from docsis_experiments.reports.folder import Destination
        from docsis_experiments.reports.note import note_from

        Destination(self.output).check()
        return Kept(self.output, note_from(self.note))


_OUTPUT: Final = "New or empty folder for the results. The default is results/TIME-NAME."
OutputOption = Annotated[Path | None, typer.Option("--output", metavar="FOLDER", help=_OUTPUT)]
OutputOrLogsOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FOLDER",
        help=f"{_OUTPUT} Without a scenario, keep the logs of controller and switches there; they "
        "are removed at the end otherwise.",
    ),
]
NoteOption = Annotated[
    str,
    typer.Option(
        "--note", metavar="TEXT", help="Keep this text with the results and show it in the report."
    ),
]
TrafficOption = Annotated[
    Path | None,
    typer.Option(
        "--traffic",
        metavar="FILE.yaml",
        help="Play the traffic of this file beside the experiment's own.",
    ),
]
CommandOption = Annotated[
    list[str] | None,
    typer.Option(
        "--command",
        metavar="HOST=COMMAND",
        help="In Mininet: run a program in a host or server, without a shell, and keep what it "
        "prints; repeatable.",
    ),
]
CommandsOption = Annotated[
    Path | None,
    typer.Option(
        "--commands", metavar="FILE.yaml", help="In Mininet: run the commands of this file."
    ),
]
PcapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pcap",
        metavar="WHAT",
        help="Capture frames: the name of a host, server, switch, interface of a switch or "
        "upstream channel, or all; repeatable.",
    ),
]
PcapMibOption = Annotated[
    int,
    typer.Option(
        "--pcap-mib",
        min=1,
        max=MOST_MIB,
        help="End the capture of a host, server or interface at this many MiB.",
    ),
]
TOPOLOGY = "NAME|FILE.yaml"
"""The metavariable of options and arguments that take a topology."""
TopologyOption = Annotated[
    Path,
    typer.Option(
        "--topology",
        metavar=TOPOLOGY,
        help="Topology: a file, or a name that docsis-p4 list shows. The default is "
        f"{DEFAULT_TOPOLOGY.stem}.",
        show_default=False,
        autocompletion=topologies,
    ),
]
TierOption = Annotated[
    str | None,
    typer.Option(
        "--tier",
        metavar="NAME",
        help="Use this service tier instead of the topology's.",
        autocompletion=tiers,
    ),
]
QUEUE_MANAGER = "PRESET|FILE.yaml"
"""The metavariable of options that take a queue management."""
TargetOption = Annotated[
    Target,
    typer.Option(
        "--target", help="Switch to run: embedded is the project's own, bmv2 has to be installed."
    ),
]
MetricsPortOption = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        min=1,
        max=65535,
        help="Serve the controller's Prometheus metrics at this port of 127.0.0.1.",
    ),
]
VirtualOption = Annotated[
    bool,
    typer.Option(
        "--virtual",
        help="Play in a simulated world instead of Mininet: no root, no waiting, and equal seeds "
        "give equal bits.",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        help="With --virtual: the seed of everything random, 0 to 2^64-1. The default is 1.",
    ),
]
StageOption = Annotated[
    StageName | None,
    typer.Option(
        "--stage",
        help="Stage to play the scenario on; --virtual is short for --stage virtual. The default "
        "is mininet.",
    ),
]
SeedsOption = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        metavar="NUMBER",
        help="In virtual time: play every run with this many seeds, for medians, intervals and "
        "verdicts.",
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", metavar="NUMBER", help="With --seeds: play this many at a time. The default is 1."
    ),
]
RepeatOption = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="NUMBER",
        help="In Mininet: make every run this many times, for medians, intervals and verdicts.",
    ),
]
