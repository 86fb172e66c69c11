# SPDX-License-Identifier: Apache-2.0
"""Reads scenarios, and the topology that a scenario names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_control.config.errors import ConfigError
from docsis_control.config.yaml_file import plain, read, validate
from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.models import Scenario

RECORDED: Final = "scenario"
"""Stem of the file in a run's record, which has any scenario."""


@dataclass(frozen=True)
class Loaded:
    """A scenario with its topology.

    Attributes:
        scenario: As the file says.
        topology: With its tier in place.
    """

    scenario: Scenario
    topology: Topology


def load(file: Path) -> Loaded:
    """Read a scenario.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    document = read(file)
    scenario = validate(document, Scenario, plain(document.root))
    if file.stem not in (scenario.name, RECORDED):
        raise ConfigError(
            [
                document.problem(
                    ("name",), f'"{scenario.name}" must be the file\'s name, "{file.stem}"'
                )
            ]
        )
    topology_file = file.parent / scenario.topology
    if not topology_file.is_file():
        raise ConfigError(
            [document.problem(("topology",), f"{topology_file}: there is no such file")]
        )
    topology = load_topology(topology_file, scenario.tier)
    hosts = [host.name for host in topology.hosts]
    servers = [server.name for server in topology.servers]
    for index, group in enumerate(scenario.traffic):
        for key, known in (("hosts", hosts), ("servers", servers)):
            for place, name in enumerate(getattr(group, key)):
                if name not in known:
                    raise ConfigError(
                        [
                            document.problem(
                                ("traffic", index, key, place),
                                f'{scenario.topology} has no "{name}"; it has {", ".join(known)}',
                            )
                        ]
                    )
    return Loaded(scenario, topology)
