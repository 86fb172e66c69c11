# SPDX-License-Identifier: Apache-2.0
"""The cases that are played on both stages: scenarios, the demo's on both tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from rich.console import Console

from docsis_control.config.errors import ConfigError
from docsis_control.topology.loader import load_topology
from docsis_experiments.acceptance import values
from docsis_experiments.experiment.demo import demo
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.stages.stage import Stage
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES


class Case(Protocol):
    """One experiment with drop tail and with DOCSIS-PIE."""

    @property
    def name(self) -> str:
        """The case's name."""

    @property
    def managers(self) -> tuple[str, ...]:
        """Names of its queue managers, in the order in which they run."""

    @property
    def inputs(self) -> Mapping[str, Any]:
        """All that says what is played, for JSON."""

    def admit(self, stage: Stage) -> None:
        """Refuses what the stage cannot play, before anything is made.

        Raises:
            TestbedError: What cannot be played, why, and what to do.
        """

    def play(self, stage: Stage, console: Console, results: Path) -> None:
        """Plays it once, as its command does; its folder is made in `results`.

        Raises:
            TestbedError: As the command's job says.
        """

    def values(self, folder: Path, manager: str) -> values.Values:
        """Reads the values of a run with one queue manager."""


@dataclass(frozen=True)
class ScenarioCase:
    """Two runs of a scenario: `docsis-p4 run SCENARIO.yaml --only ... --only ...`.

    Attributes:
        loaded: The scenario and its topology.
        managers: Labels of the runs.
        variant: What the case is called, where its scenario is played on several tiers.
    """

    loaded: Loaded
    managers: tuple[str, ...]
    variant: str = ""

    @property
    def name(self) -> str:
        """See `Case`."""
        return self.variant or self.loaded.scenario.name

    @property
    def inputs(self) -> Mapping[str, Any]:
        """See `Case`."""
        return {
            "topology": self.loaded.topology.model_dump(mode="json"),
            "scenario": self.loaded.scenario.model_dump(mode="json"),
            "queue_managers": list(self.managers),
        }

    def admit(self, stage: Stage) -> None:
        """See `Case`."""
        from docsis_experiments.experiment.chosen import chosen_runs

        runs = chosen_runs(self.loaded.scenario, self.managers)
        managements = [one.managed.management for one in runs]
        stage.admit(self.loaded.topology, managements, self.loaded.scenario)

    def play(self, stage: Stage, console: Console, results: Path) -> None:
        """See `Case`."""
        from docsis_experiments.repetition import once

        once.run(self.loaded, stage=stage, only=self.managers, console=console, results=results)

    def values(self, folder: Path, manager: str) -> values.Values:
        """See `Case`."""
        traffic = self.loaded.scenario.traffic
        return values.of_scenario(
            folder,
            manager,
            # A call, or what stands for one where the rate has no room for a call.
            probe=next(group.name for group in traffic if group.kind in ("voip", "cbr")),
            transfers=tuple(group.name for group in traffic if group.kind == "transfer"),
        )


_TIERS: Final[Mapping[str, str]] = {
    "residential-cable-20": "cable-20",
    "residential-cable-2018": "cable-2018",
}
"""Tier of the demo by the case's name."""

_DEMO_MANAGERS: Final = ("drop-tail-250ms", "docsis-pie")

_SCENARIOS: Final[Mapping[str, tuple[str, str]]] = {
    "voip-latency": ("drop-tail-250ms", "docsis-pie"),
    "voip-latency-files": ("drop-tail-250ms", "docsis-pie"),
    "fifty-flows": ("drop-tail-250ms", "docsis-pie"),
    "rf-congestion": ("drop-tail-250ms", "docsis-pie"),
    # 250 ms would be two frames of 100 kbit/s.
    "low-rate": ("drop-tail", "docsis-pie"),
}
"""Labels of runs by the scenario's name."""

NAMES: Final = (*_TIERS, *_SCENARIOS)
"""The names of all registered cases."""


def chosen(names: Sequence[str]) -> list[Case]:
    """The registered cases of these names, in the registered order; all where none is named.

    Raises:
        TestbedError: There is no such case, or its files cannot be used.
    """
    for name in names:
        if name not in NAMES:
            raise TestbedError(f'--scenario: there is no "{name}"; there are {", ".join(NAMES)}')
    try:
        return [_case(name) for name in NAMES if not names or name in names]
    except ConfigError as error:
        raise TestbedError(str(error)) from None


def _case(name: str) -> Case:
    if name in _TIERS:
        topology = load_topology(TOPOLOGIES / "residential.yaml", _TIERS[name])
        return ScenarioCase(demo(topology), _DEMO_MANAGERS, variant=name)
    return ScenarioCase(load(TOPOLOGIES / "scenarios" / f"{name}.yaml"), _SCENARIOS[name])
