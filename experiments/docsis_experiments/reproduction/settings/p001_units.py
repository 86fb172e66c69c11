# SPDX-License-Identifier: Apache-2.0
"""The runs of 001's rows as units of work. Equal settings are equal units, whichever row asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from docsis_control.queue_managers.management import QueueManagement
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.experiment.resolve import resolved
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.reproduction.row import Asked, Level
from docsis_experiments.reproduction.row import Run as RunOf
from docsis_experiments.reproduction.settings.p001_levels import IN_MININET, Times, times
from docsis_experiments.reproduction.settings.p001_managers import MANAGERS
from docsis_experiments.reproduction.settings.p001_network import Peak, network
from docsis_experiments.reproduction.settings.p001_quantities import of_all, quantities
from docsis_experiments.reproduction.settings.p001_readings import Reading
from docsis_experiments.reproduction.settings.p001_traffic import (
    GAME_GROUP,
    REAL_TCP,
    Groups,
    tcp,
    uploads,
)
from docsis_experiments.runs.unit import Unit

MEGABIT = 1_000_000


@dataclass(frozen=True)
class Setting:
    """One point of a figure: a queue manager with a buffer, under a traffic.

    Attributes:
        manager: What the rows call it.
        buffer: Milliseconds at the sustained rate, or a size with its unit.
        management: The management where the manager is none of `MANAGERS`.
        rate: bit/s, sustained.
        round_trip_ms: The round trip of all uploads and the game.
        peak: Above the sustained rate; none unless given.
        uploads: How many; each a group of its own where `apart`.
        apart: See `uploads`.
        beside: Groups of the traffic beside the uploads.
        channel: bit/s of the channel where that is less than the service flow's; none unless given.
        times: Instead of the level's.
        settling: Seconds behind the fall of the peak rate that are looked at; None where no row
            asks for it.
        receive_window: The window of all hosts; it does not limit unless given.
        mininet: It is played there, with the kernel's TCP and for its own time.
    """

    manager: str
    buffer: int | str
    management: QueueManagement | None = None
    rate: int = 5 * MEGABIT
    round_trip_ms: int = 50
    peak: Peak | None = None
    uploads: int = 10
    apart: bool = False
    beside: Groups = (GAME_GROUP,)
    channel: int | None = None
    times: Times | None = None
    settling: int | None = None
    receive_window: str | None = None
    mininet: bool = False

    @property
    def label(self) -> str:
        """The run's label: its queue manager and buffer."""
        buffer = f"{self.buffer} ms" if isinstance(self.buffer, int) else self.buffer
        return f"{self.manager} {buffer}"

    @property
    def work(self) -> str:
        """Tells the setting from all others of its row."""
        parts = [self.label, f"{self.rate} bps", f"{self.round_trip_ms} ms", f"{self.uploads} up"]
        parts += [f"channel {self.channel}"] if self.channel else []
        parts += [f"window {self.receive_window}"] if self.receive_window else []
        return ", ".join(parts + (["in Mininet"] if self.mininet else []))

    @property
    def topology(self) -> Topology:
        """The topology on which it is played."""
        return network(self.rate, self.round_trip_ms, self.peak)

    @property
    def groups(self) -> Groups:
        """All of the traffic; the game first, so that its ports are the same everywhere."""
        own = uploads(self.uploads, apart=self.apart) if self.uploads else ()
        return (*self.beside, *own)

    def loaded(self, level: Level, which: Reading) -> Loaded:
        """As an experiment with one run."""
        at = IN_MININET if self.mininet else self.times or times(level)
        buffer = f"{self.buffer} ms" if isinstance(self.buffer, int) else self.buffer
        data: dict[str, Any] = {
            "name": "p001",
            "title": self.label,
            "topology": "topology.yaml",
            "direction": "upstream",
            "ramp_up": f"{at.ramp_up} s",
            "measured": f"{at.measured} s",
            "runs": [
                {
                    "label": self.label,
                    "manager": self.management or MANAGERS[self.manager],
                    "buffer": buffer,
                }
            ],
            "traffic": list(self.groups),
            "tcp": REAL_TCP if self.mininet else tcp(which),
        }
        if self.receive_window:
            data["tcp"] = data["tcp"] | {"receive_window": self.receive_window}
        if self.channel:
            data["channel"] = {"sequence": [f"{self.channel} bps"], "step": f"{at.measured} s"}
        scenario = Scenario.model_validate(data)
        return Loaded(resolved(scenario, self.topology), self.topology)

    def unit(self, level: Level, which: Reading, seed: int) -> Unit:
        """The unit of one seed, with all quantities that any row wants of such a setting."""
        found = self.loaded(level, which)
        [run] = found.scenario.all_runs
        names = tuple(group.name for group in found.scenario.traffic)
        return replace(
            Unit.of(found, run, seed),
            quantities=tuple(sorted(one.key for one in self.quantities(names))),
        )

    def quantities(self, names: tuple[str, ...]) -> Iterable[Quantity]:
        """Beside the usual statistics.

        Args:
            names: Names of all groups.
        """
        yield from quantities(self.manager, names)
        if self.settling is not None:
            yield of_all("settling", names, bound=f"{self.settling} s")


def runs(settings: Iterable[Setting], asked: Asked, which: Reading) -> Iterator[RunOf]:
    """Each setting under each seed, seed by seed: what is compared is made together.

    Latency with other propagation (K6) is of the same runs as the first reading.
    """
    played = which if which is Reading.ACK_PER_SEGMENT else Reading.FIRST
    units = {setting.work: setting.unit(asked.level, played, 0) for setting in settings}
    for seed in asked.seeds:
        for work, unit in units.items():
            yield RunOf(work, replace(unit, seed=seed))
