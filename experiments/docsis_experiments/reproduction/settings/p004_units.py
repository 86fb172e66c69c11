# SPDX-License-Identifier: Apache-2.0
"""The runs of 004's rows as units of work. Equal settings are equal units, whichever row asks."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from docsis_control.modem_config.provisioned import Direction
from docsis_control.queue_managers.names import Preset
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.experiment.resolve import resolved
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.reproduction.row import Asked, Level
from docsis_experiments.reproduction.row import Run as RunOf
from docsis_experiments.reproduction.settings.p004_levels import times
from docsis_experiments.reproduction.settings.p004_network import PACKET, PAPERS, Channel, network
from docsis_experiments.reproduction.settings.p004_readings import Reading
from docsis_experiments.reproduction.settings.p004_traffic import (
    ALONE_GROUP,
    DOWNLOADS,
    RESPONSES,
    START_SPREAD,
    Groups,
    tcp,
    users,
)
from docsis_experiments.runs.unit import Unit

OF_CHANNELS: Final = (
    "collision-rate",
    "collided-opportunities",
    "downstream-utilisation",
    "downstream-variation",
)
"""Metrics that are of the channels, whichever group they are asked of."""


def quantity(metric: str, of: str = RESPONSES) -> Quantity:
    """A metric of a group."""
    return Quantity.model_validate({"metric": metric, "of": [of]})


QUANTITIES: Final = (
    *map(quantity, OF_CHANNELS),
    quantity("response-time"),
    quantity("compressed-acks", DOWNLOADS),
)
"""Measured of every run with users."""


@dataclass(frozen=True)
class Setting:
    """One point of a figure: modems on a channel, and who uses them.

    Attributes:
        modems: How many.
        channel: What they are on.
        alone: One TCP on an idle network, in this direction, instead of all users.
        receive_window: The window of all hosts; it does not limit unless given.
    """

    modems: int
    channel: Channel = PAPERS
    alone: Direction | None = None
    receive_window: str | None = None

    @property
    def label(self) -> str:
        """The run's label."""
        return f"{self.modems} modems {self.channel.map_ms} ms"

    @property
    def work(self) -> str:
        """Tells the setting from all others of its row."""
        parts = [self.label, *([self.alone] if self.alone else [])]
        for one in fields(Channel):
            value = getattr(self.channel, one.name)
            if one.name != "map_ms" and value != getattr(PAPERS, one.name):
                parts.append(f"{one.name.replace('_', ' ')} {value}")
        parts += [f"window {self.receive_window}"] if self.receive_window else []
        return ", ".join(parts)

    def loaded(self, level: Level, which: Reading) -> Loaded:
        """As an experiment with one run."""
        at = times(level)
        groups: Groups = (ALONE_GROUP,)
        if not self.alone:
            groups = users(self.modems, min(START_SPREAD, at.ramp_up))
        data: dict[str, Any] = {
            "name": "p004",
            "title": self.label,
            "topology": "topology.yaml",
            "direction": self.alone or "downstream",
            "ramp_up": f"{at.ramp_up} s",
            "measured": f"{at.measured} s",
            "runs": [
                {
                    "label": self.label,
                    "manager": Preset.DROP_TAIL.value,
                    "buffer": f"{self.channel.packets * PACKET} B",
                }
            ],
            "traffic": list(groups),
            "tcp": tcp(which),
        }
        if self.receive_window:
            data["tcp"] = data["tcp"] | {"receive_window": self.receive_window}
        topology = network(self.modems, self.channel)
        return Loaded(resolved(Scenario.model_validate(data), topology), topology)


@functools.cache
def unit_of(setting: Setting, level: Level, which: Reading) -> Unit:
    """A setting without a seed, with all quantities that any row wants of it.

    Most rows are made of the same points, and a unit of 500 modems takes a while to be written.
    """
    found = setting.loaded(level, which)
    [run] = found.scenario.all_runs
    wanted = () if setting.alone else QUANTITIES
    return replace(Unit.of(found, run, 0), quantities=tuple(sorted(one.key for one in wanted)))


def runs(settings: Iterable[Setting], asked: Asked, which: Reading) -> Iterator[RunOf]:
    """Each setting under each seed, seed by seed: what is compared is made together.

    Collisions of slots are of the same runs as those of requests.
    """
    played = which if which is Reading.ACK_PER_SEGMENT else Reading.FIRST
    units = {setting.work: unit_of(setting, asked.level, played) for setting in settings}
    for seed in asked.seeds:
        for work, unit in units.items():
            yield RunOf(work, replace(unit, seed=seed))
