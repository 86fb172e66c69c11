# SPDX-License-Identifier: Apache-2.0
"""Files that an operator writes: they are planned as if they were played, or refused.

Each case returns whether its input was used; it is refused otherwise.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from docsis_control.config.errors import ConfigError
from docsis_control.topology.loader import load_topology
from docsis_experiments.experiment import loader as experiments
from docsis_experiments.experiment.document import write_scenario
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.populations import loader as populations
from docsis_experiments.populations.testing import planned_test
from docsis_experiments.runs.unit import Unit, key
from docsis_experiments.sweeps import loader as sweeps
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES
from fuzz_cases.refusals import check_sentence

SCENARIOS: Final = "scenarios"
SWEEPS: Final = "sweeps"
POPULATIONS: Final = "populations"
NETWORKS: Final = "scenarios/networks"

_FIRST_POINTS: Final = 3
"""Points of a sweep that are planned."""


@functools.cache
def _folder() -> Path:
    """The shipped topologies, of which one file is the fuzzer's; gone when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="docsis-p4-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copytree(TOPOLOGIES, folder / "topologies")
    return folder / "topologies"


def _file(folder: str, stem: str, data: bytes) -> Path:
    path = _folder() / folder / f"{stem}.yaml"
    path.write_bytes(data)
    return path


def each(folder: str) -> Callable[[], Iterator[bytes]]:
    """Gives the shipped files of a folder."""

    def seeds() -> Iterator[bytes]:
        for path in sorted((TOPOLOGIES / folder).glob("*.yaml")):
            yield path.read_bytes()

    return seeds


def experiment(data: bytes) -> bool:
    """An experiment: read, planned, named by its key, and written into a record and read again."""
    file = _file(SCENARIOS, experiments.RECORDED, data)
    try:
        loaded = experiments.load(file)
        plan_for(loaded.scenario, loaded.topology)
    except (ConfigError, TestbedError) as error:
        check_sentence(error)
        return False
    for run in loaded.scenario.runs[:1]:
        _check_unit(Unit.of(loaded, run, 1))
    again = _folder() / SCENARIOS / "again" / "scenario.yaml"
    again.parent.mkdir(exist_ok=True)
    write_scenario(loaded.scenario, again)
    assert experiments.load(again, loaded.topology).scenario.runs == loaded.scenario.runs
    return True


def sweep(data: bytes) -> bool:
    """A sweep: read, expanded, and its first points named by their keys."""
    file = _file(SWEEPS, sweeps.RECORDED, data)
    try:
        loaded = sweeps.load(file)
    except (ConfigError, TestbedError) as error:
        check_sentence(error)
        return False
    assert loaded.runs <= loaded.sweep.limit
    for point in loaded.points[:_FIRST_POINTS]:
        condition = point.condition
        _check_unit(Unit.of(Loaded(condition.scenario, condition.topology), condition.run, 1))
    return True


def population(data: bytes) -> bool:
    """A population: read, and the first test of each arm planned."""
    file = _file(POPULATIONS, populations.RECORDED, data)
    try:
        found = populations.load(file)
    except (ConfigError, TestbedError) as error:
        check_sentence(error)
        return False
    for arm in found.arms:
        _check_unit(planned_test(found, arm, 1, 1).unit)
    return True


def topology(data: bytes) -> bool:
    """A topology, with the tiers and modems' configurations that it names."""
    file = _file(NETWORKS, "home", data)
    try:
        load_topology(file)
    except (ConfigError, TestbedError) as error:
        check_sentence(error)
        return False
    return True


def _check_unit(unit: Unit) -> None:
    """What is handed to another process arrives as it is."""
    again = Unit.from_json(unit.as_json())
    assert again == unit
    assert key(again) == key(unit)
    assert again.loaded.scenario.runs
