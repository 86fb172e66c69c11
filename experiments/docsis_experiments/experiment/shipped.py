# SPDX-License-Identifier: Apache-2.0
"""Lists what can be named: queue managers, tiers, topologies, experiments, sweeps, populations.

Each has one line from its own file or from the code. A file that cannot be read is told, and hides
no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import ServiceTier
from docsis_control.config.units import format_duration, format_rate
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import TIERS, load_tier, load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.loader import load
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.populations.loader import load as load_population
from docsis_experiments.populations.models import Population
from docsis_experiments.sweeps.loader import LoadedSweep
from docsis_experiments.sweeps.loader import load as load_sweep

SCENARIOS: Final = "scenarios"
"""Folder of the experiments, beside the topologies."""

SWEEPS: Final = "sweeps"
"""Folder of the sweeps, beside the topologies."""


POPULATIONS: Final = "populations"
"""Folder of the populations, beside the topologies."""


class Sort(StrEnum):
    """The sorts of things that can be named."""

    QUEUE_MANAGERS = "queue-managers"
    TIERS = "tiers"
    TOPOLOGIES = "topologies"
    EXPERIMENTS = "experiments"
    SWEEPS = "sweeps"
    POPULATIONS = "populations"


@dataclass(frozen=True)
class Entry:
    """Something that can be named.

    Attributes:
        sort: What it is.
        name: How it is named.
        line: What it is, in one line; "" where its file is broken.
        file: Where it is described; None where it is in the code.
        problem: Why its file cannot be used, with file, line and key; "" where it can.
    """

    sort: Sort
    name: str
    line: str
    file: Path | None = None
    problem: str = ""


def entries(folder: Path, sorts: Sequence[Sort] = tuple(Sort)) -> list[Entry]:
    """Everything of these sorts, sort by sort.

    Args:
        folder: Has topologies, and service tiers and experiments in folders of their own.
        sorts: What is asked for.
    """
    return [entry for sort in sorts for entry in _ENTRIES[sort](folder)]


def _queue_managers(folder: Path) -> Iterator[Entry]:
    del folder  # they are in the code
    for preset in Preset:
        yield Entry(Sort.QUEUE_MANAGERS, preset.value, preset.label)


def _files(sort: Sort, folder: Path, line_of: Callable[[Path], str]) -> Iterator[Entry]:
    for file in sorted(folder.glob("*.yaml"), key=lambda file: file.stem):
        try:
            yield Entry(sort, file.stem, line_of(file), file)
        except ConfigError as error:
            yield Entry(sort, file.stem, "", file, str(error))


def _tiers(folder: Path) -> Iterator[Entry]:
    return _files(Sort.TIERS, folder / TIERS, lambda file: tier_line(load_tier(file)))


def _topologies(folder: Path) -> Iterator[Entry]:
    return _files(Sort.TOPOLOGIES, folder, lambda file: topology_line(load_topology(file)))


def _experiments(folder: Path) -> Iterator[Entry]:
    return _files(
        Sort.EXPERIMENTS, folder / SCENARIOS, lambda file: experiment_line(load(file).scenario)
    )


def _sweeps(folder: Path) -> Iterator[Entry]:
    return _files(Sort.SWEEPS, folder / SWEEPS, lambda file: sweep_line(load_sweep(file)))


def _populations(folder: Path) -> Iterator[Entry]:
    return _files(
        Sort.POPULATIONS,
        folder / POPULATIONS,
        lambda file: population_line(load_population(file)),
    )


def tier_line(tier: ServiceTier) -> str:
    """The line of a tier: its file's description, or else its rates."""
    if tier.description:
        return tier.description
    up, down = (
        format_rate(flow.maximum_sustained_traffic_rate)
        for flow in (tier.upstream, tier.downstream)
    )
    return f"{up} upstream, {down} downstream."


def topology_line(topology: Topology) -> str:
    """The line of a topology: its file's description, or else its parts."""
    if topology.description:
        return topology.description
    times = sorted({server.round_trip_time for server in topology.servers})
    return (
        f"{_counted(len(topology.modems), 'modem')}, {_counted(len(topology.hosts), 'host')}, "
        f"{_counted(len(topology.servers), 'server')}, {' and '.join(map(format_duration, times))}."
    )


def experiment_line(scenario: Scenario) -> str:
    """Its title, its runs and how long each of them is."""
    seconds = (scenario.idle + scenario.measured) / 1e9 + scenario.ramp_up_seconds
    return f"{scenario.title}; {_counted(len(scenario.all_runs), 'run')} of {seconds:g} s."


def sweep_line(loaded: LoadedSweep) -> str:
    """Its title and its runs."""
    return f"{loaded.sweep.title}; {_counted(loaded.runs, 'run')}."


def population_line(population: Population) -> str:
    """Its title, its tests and its arms."""
    tests = _counted(population.tests, "test")
    return f"{population.title}; {tests} of {_counted(len(population.arms), 'arm')}."


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


_ENTRIES: Final = {
    Sort.QUEUE_MANAGERS: _queue_managers,
    Sort.TIERS: _tiers,
    Sort.TOPOLOGIES: _topologies,
    Sort.EXPERIMENTS: _experiments,
    Sort.SWEEPS: _sweeps,
    Sort.POPULATIONS: _populations,
}
