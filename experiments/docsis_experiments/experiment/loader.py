# SPDX-License-Identifier: Apache-2.0
"""Reads scenarios, and the topology that a scenario names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import KeyedError
from docsis_control.config.yaml_file import Document, plain, read, validate
from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.experiment.resolve import resolved

RECORDED: Final = "scenario"
"""Stem of the file in a run's record, which has any scenario."""


@dataclass(frozen=True)
class Loaded:
    """A scenario with its topology.

    Attributes:
        scenario: As the file says, with nothing left to the topology.
        topology: With its tier in place.
    """

    scenario: Scenario
    topology: Topology


def load(
    file: Path,
    topology: Topology | None = None,
    change: Callable[[Scenario], Scenario] = lambda scenario: scenario,
) -> Loaded:
    """Read a scenario.

    Args:
        file: The scenario's.
        topology: In the place of the one that the file names.
        change: What is other than the file says, before anything is left to the topology.

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
    return with_topology(
        document, scenario, _named(document, scenario) if topology is None else topology, change
    )


def _named(document: Document, scenario: Scenario) -> Topology:
    """Reads the topology that a scenario names."""
    file = document.file.parent / scenario.topology
    if not file.is_file():
        raise ConfigError([document.problem(("topology",), f"{file}: there is no such file")])
    return load_topology(file, scenario.tier)


def with_topology(
    document: Document,
    scenario: Scenario,
    topology: Topology,
    change: Callable[[Scenario], Scenario] = lambda scenario: scenario,
) -> Loaded:
    """Puts a scenario and its topology together.

    Args:
        document: What the scenario was read from, for errors.
        scenario: As it says.
        topology: What to build.
        change: What is other than it says, before anything is left to the topology.

    Raises:
        ConfigError: They do not fit together; with the document, the line and the key.
    """
    try:
        return Loaded(resolved(change(scenario), topology), topology)
    except KeyedError as error:
        location = tuple(int(part) if part.isdigit() else part for part in error.key.split("."))
        raise ConfigError([document.problem(location, str(error))]) from None
