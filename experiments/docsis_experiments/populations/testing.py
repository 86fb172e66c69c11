# SPDX-License-Identifier: Apache-2.0
"""A test as a unit of work: a subscriber with a modem, idle and then under uploads. Pure.

What the measurement of 003 did (section 9): requests alone, uploads that ramp up, and then requests
in turn beside them. Equal tests are equal units, whichever arm asks, and are played once.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any, Final

from docsis_control.config.models import ServiceTier
from docsis_control.config.units import format_duration
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.canonical import canonical
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.experiment.resolve import resolved
from docsis_experiments.populations.drawing import Subscriber, modem_of, subscriber
from docsis_experiments.populations.models import Arm, Modem, Population
from docsis_experiments.runs.unit import Unit

REQUESTS: Final = "requests"
"""The group that asks."""

UPLOADS: Final = "uploads"
"""The group that loads the upstream."""

_NAME: Final = "population"
"""The name of every scenario: what is told apart by a name would be played twice."""

_SERVER: Final = "server"


@dataclass(frozen=True)
class PlannedTest:
    """A test of an arm.

    Attributes:
        arm: What is compared.
        who: The subscriber, who is the same in all arms.
        modem: What the subscriber has in this one.
        unit: What is played.
    """

    arm: Arm
    who: Subscriber
    modem: Modem
    unit: Unit

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.arm.label}, test {self.who.number}"


def planned_test(population: Population, arm: Arm, seed: int, number: int) -> PlannedTest:
    """A test.

    Args:
        population: The subscribers that are tested, and how.
        arm: One of its arms.
        seed: Seed of the population.
        number: Number of the test, from 1 up.
    """
    who = subscriber(population, seed, number)
    modem = modem_of(population, arm, who)
    return PlannedTest(arm, who, modem, _unit(population, who, modem))


def _unit(population: Population, who: Subscriber, modem: Modem) -> Unit:
    played = _scenario(population.model_copy(update=_SAME), modem)
    near = _near(who.tier, population.upstream_channels)
    return Unit(played, _distant(near, who.path_ns), (), who.seed)


_SAME: Final[dict[str, Any]] = {"name": "", "title": "", "source": None, "tests": 1, "arms": ()}
"""Values that change nothing of a single test."""


@functools.lru_cache(maxsize=256)
def _scenario(population: Population, modem: Modem) -> str:
    """As `Unit` has it: the same for all subscribers."""
    topology = topology_of(population.tiers[0].tier, population, 0)
    scenario = scenario_of(population, modem)
    loaded = Loaded(resolved(scenario, topology), topology)
    [run] = loaded.scenario.all_runs
    return Unit.of(loaded, run, 0).scenario


def scenario_of(population: Population, modem: Modem) -> Scenario:
    """A test as an experiment with one run.

    Raises:
        ValueError: What the population says does not go together.
    """
    uploads = population.uploads
    return Scenario.model_validate(
        {
            "name": _NAME,
            "title": _NAME,
            "topology": "topology.yaml",
            "direction": "upstream",
            **{
                key: format_duration(getattr(population, key))
                for key in ("idle", "ramp_up", "measured")
            },
            "runs": [
                {
                    "label": modem.name,
                    "manager": modem.manager,
                    **({} if modem.buffer is None else {"buffer": str(modem.buffer)}),
                }
            ],
            "traffic": [
                {
                    "name": REQUESTS,
                    "kind": "request-response",
                    "timeout": format_duration(population.timeout),
                    "start": "0 s",
                },
                {
                    "name": UPLOADS,
                    "kind": "transfer",
                    "count": uploads.streams,
                    "congestion_control": uploads.congestion_control,
                    "start_spread": format_duration(uploads.start_spread),
                },
            ],
        }
    )


@functools.lru_cache(maxsize=256)
def _near(tier: ServiceTier, channels: tuple[Any, ...]) -> str:
    topology = _topology(tier, channels, 0)
    return canonical(topology.model_dump(mode="json", exclude_none=True))


def _distant(near: str, path_ns: int) -> str:
    """A topology as text with another distance: validated once for all distances."""
    data = json.loads(near)
    data["servers"][0]["round_trip_time"] = format_duration(path_ns)
    return canonical(data)


def topology_of(tier: ServiceTier, population: Population, path_ns: int) -> Topology:
    """One home of a tier, and a server so far away.

    Raises:
        ValueError: The tier does not go with the channel.
    """
    return _topology(tier, population.upstream_channels, path_ns)


def _topology(tier: ServiceTier, channels: tuple[Any, ...], path_ns: int) -> Topology:
    return Topology.model_validate(
        {
            "name": _NAME,
            "tier": tier,
            **({"upstream_channels": channels} if channels else {}),
            "cable_modem": {"name": "cm1", "device_id": 1},
            "cmts": {"name": "cmts1", "device_id": 2},
            "modems": [
                {
                    "name": "modem",
                    "hosts": [{"name": "home", "ip": "10.0.0.11/24", "mac": "02:00:00:00:01:01"}],
                }
            ],
            "servers": [
                {
                    "name": _SERVER,
                    "ip": "10.0.0.101/24",
                    "mac": "02:00:00:00:02:01",
                    "round_trip_time": format_duration(path_ns),
                }
            ],
        }
    )
