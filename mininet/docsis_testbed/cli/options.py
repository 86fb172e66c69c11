# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docsis_control.queue_managers.names import Preset
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

if TYPE_CHECKING:
    from docsis_control.queue_managers.models import QueueManagement
    from docsis_control.topology.models import Topology


class Target(StrEnum):
    """Switch targets."""

    EMBEDDED = "embedded"
    BMV2 = "bmv2"


DEMONSTRATED = (Preset.DROP_TAIL_250MS, Preset.BUFFER_CONTROL_50MS, Preset.DOCSIS_PIE)
"""What the demo compares unless told otherwise."""

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
