# SPDX-License-Identifier: Apache-2.0
"""One run of one experiment from one seed, as plain text that any process can play."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from docsis_control.topology.models import Topology
from docsis_experiments.experiment.canonical import canonical
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.judging.expectations import Ratio
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.runs import programs, sources
from docsis_experiments.stages.virtual.module import LARGEST_SEED
from docsis_testbed.errors import TestbedError

MOST_BYTES: Final = 4 << 20
"""The largest unit as text."""

MOST_QUANTITIES: Final = 1000

_WORDS: Final = {"title": "", "source": {"paper": ""}, "scale": ""}
"""In place of what is said of a scenario and changes nothing of its runs."""


@dataclass(frozen=True)
class Unit:
    """A unit of work: everything that a run depends on but the code.

    Bands, titles and the other runs of the experiment are not in it, so that a change of theirs
    needs no run again.

    Attributes:
        scenario: Canonical JSON: with one run, without expectations.
        topology: Canonical JSON, with its tier in place.
        quantities: What is measured beside the usual statistics, each as `Quantity.key`; in order.
        seed: Seed of all that is random, 0 to 2^64-1.
    """

    scenario: str
    topology: str
    quantities: tuple[str, ...]
    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= LARGEST_SEED:
            raise ValueError(f"a seed is a number from 0 to 2^64-1, not {self.seed}")
        if len(self.quantities) > MOST_QUANTITIES:
            raise ValueError(f"more than {MOST_QUANTITIES} quantities")

    @staticmethod
    def of(loaded: Loaded, run: Run, seed: int) -> Unit:
        """A run of a scenario.

        Args:
            loaded: The scenario and its topology.
            run: One of its runs.
            seed: Seed of all that is random.
        """
        scenario = loaded.scenario
        alone = {
            **_as_json(scenario),
            **_WORDS,
            "topology": "topology.yaml",
            "runs": [_as_json(run)],
        }
        for key in ("grid", "expectations", "tier"):
            alone.pop(key, None)
        named = quantities_of(scenario)
        return Unit(
            canonical(alone), canonical(_as_json(loaded.topology)), tuple(sorted(named)), seed
        )

    @property
    def label(self) -> str:
        """The run's label."""
        label: str = json.loads(self.scenario)["runs"][0]["label"]
        return label

    @property
    def has_videos(self) -> bool:
        """Whether some of its traffic is an adaptive video, which a browser plays in Mininet."""
        traffic: list[dict[str, Any]] = json.loads(self.scenario)["traffic"]
        return any(group["kind"] == "adaptive-video" for group in traffic)

    @functools.cached_property
    def loaded(self) -> Loaded:
        """The scenario, which has one run, and its topology.

        Raises:
            TestbedError: They are not what this version has.
        """
        try:
            return Loaded(
                Scenario.model_validate(json.loads(self.scenario)),
                Topology.model_validate(json.loads(self.topology)),
            )
        except (ValidationError, ValueError) as error:
            raise TestbedError(f"a unit of work cannot be used: {error}") from None

    @functools.cached_property
    def measured(self) -> dict[str, Quantity]:
        """The quantities by their keys.

        Raises:
            TestbedError: They are not what this version has.
        """
        try:
            return {key: Quantity.model_validate(json.loads(key)) for key in self.quantities}
        except (ValidationError, ValueError) as error:
            raise TestbedError(f"a unit of work cannot be used: {error}") from None

    def as_data(self) -> dict[str, object]:
        """The unit for JSON."""
        return {
            "scenario": self.scenario,
            "topology": self.topology,
            "quantities": list(self.quantities),
            "seed": self.seed,
        }

    def as_json(self) -> str:
        """The unit as text, for another process."""
        return canonical(self.as_data())

    @staticmethod
    def from_json(text: str | bytes) -> Unit:
        """The unit that `as_json` wrote.

        Raises:
            TestbedError: It is none.
        """
        if len(text) > MOST_BYTES:
            raise TestbedError(f"a unit of work is longer than {MOST_BYTES} bytes")
        try:
            data = json.loads(text)
            scenario, topology, quantities, seed = (
                data[key] for key in ("scenario", "topology", "quantities", "seed")
            )
            words = (scenario, topology, *quantities)
            if not all(isinstance(word, str) for word in words) or type(seed) is not int:
                raise TypeError("texts and a number are expected")
            return Unit(scenario, topology, tuple(quantities), seed)
        except (ValueError, KeyError, TypeError) as error:
            raise TestbedError(f"a unit of work cannot be used: {error!r}") from None


def units(loaded: Loaded, runs: Iterable[Run], seeds: Iterable[int]) -> list[Unit]:
    """All runs from the first seed, then all from the next: what is compared is made together."""
    chosen = list(runs)
    return [Unit.of(loaded, run, seed) for seed in seeds for run in chosen]


def key(unit: Unit, stage: sources.StageName = "virtual") -> str:
    """The key of the unit's outcome: a hash of the unit and of what makes its result.

    Args:
        unit: What is played; in Mininet the seed is which repetition it is.
        stage: Where.

    Raises:
        TestbedError: The code cannot be read.
    """
    inputs = unit.as_data()
    # Asking the browser takes a tenth of a second, and few runs have one.
    if stage == "mininet" and unit.has_videos:
        inputs |= programs.of_videos()
    return sources.digest(inputs, stage)


def quantities_of(scenario: Scenario) -> dict[str, Quantity]:
    """The quantities that the expectations name, by `Quantity.key`."""
    named = [expectation.quantity for expectation in scenario.expectations]
    named += [one.over for one in scenario.expectations if isinstance(one, Ratio)]
    return {quantity.key: quantity for quantity in named}


def _as_json(model: Scenario | Topology | Run) -> dict[str, object]:
    content: dict[str, object] = model.model_dump(mode="json", exclude_none=True)
    return content
