# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

if TYPE_CHECKING:
    from docsis_control.queue_managers.models import QueueManagement
    from docsis_control.topology.models import Topology
    from docsis_experiments.stages.stage import Stage


class Target(StrEnum):
    """Switch targets."""

    EMBEDDED = "embedded"
    BMV2 = "bmv2"


DEFAULT_TOPOLOGY = TOPOLOGIES / "residential.yaml"


def load(topology: Path, tier: str | None) -> Topology:
    """The topology that the options name.

    Raises:
        TestbedError: It cannot be used; file, line and key are in the message.
    """
    from docsis_control.config.errors import ConfigError
    from docsis_control.topology.loader import load_topology

    try:
        return load_topology(topology, tier)
    except ConfigError as error:
        raise TestbedError(str(error)) from None


def management(text: str, option: str) -> QueueManagement:
    """The queue manager that an option names, or describes in a file.

    Raises:
        TestbedError: It cannot be used; file, line and key are in the message.
    """
    from docsis_control.queue_managers.document import from_argument

    try:
        return from_argument(text)
    except ValueError as error:
        raise TestbedError(f"{option}: {error}") from None


def stage(
    target: Target, *, virtual: bool, seed: int | None, metrics_port: int | None = None
) -> Stage:
    """Where the options have the runs played.

    Raises:
        TestbedError: They contradict each other; or there is no virtual world to be had.
    """
    if not virtual:
        if seed is not None:
            raise TestbedError("--seed has no place here: only --virtual time has one")
        from docsis_experiments.stages.mininet.stage import MininetStage

        return MininetStage(target.value, metrics_port)
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
    from docsis_experiments.stages.virtual.stage import DEFAULT_SEED, VirtualStage

    return VirtualStage(DEFAULT_SEED if seed is None else seed)


TopologyOption = Annotated[Path, typer.Option("--topology", help="Topology file (YAML).")]
TierOption = Annotated[
    str | None, typer.Option("--tier", help="Service tier instead of the topology's.")
]
QUEUE_MANAGER = "PRESET|FILE.yaml"
"""How `management` is asked for."""
TargetOption = Annotated[Target, typer.Option("--target", help="Switch target.")]
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
        help="In a simulated world instead of Mininet: no root, no waiting, repeatable bit by bit.",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        help="With --virtual: of all that is random, 0 to 2^64-1; 1 unless given.",
    ),
]
