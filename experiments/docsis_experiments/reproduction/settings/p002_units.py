# SPDX-License-Identifier: Apache-2.0
"""The runs of 002's rows as units of work. Equal settings are equal units, whichever row asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from docsis_control.queue_managers.document import changed
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.experiment.resolve import resolved
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.reproduction.row import Asked, Level
from docsis_experiments.reproduction.row import Run as RunOf
from docsis_experiments.reproduction.settings.p002_apart import apart, sessions
from docsis_experiments.reproduction.settings.p002_levels import IN_MININET, Times, times
from docsis_experiments.reproduction.settings.p002_managers import (
    DRR_QUEUES,
    DRR_QUEUES_BESIDE_VIDEOS,
    management,
)
from docsis_experiments.reproduction.settings.p002_network import (
    BUFFER,
    CAPACITY,
    FRAME,
    PAYLOAD,
    Subscriber,
    network,
)
from docsis_experiments.reproduction.settings.p002_quantities import (
    of_competition,
    of_videos,
    quantities,
)
from docsis_experiments.reproduction.settings.p002_readings import Reading, played
from docsis_experiments.reproduction.settings.p002_traffic import (
    CALL,
    FIRST_ROUND_TRIP_US,
    REAL_TCP,
    TIER1_CAP,
    TIER2,
    TIER2_CAP,
    UDP,
    VIDEOS,
    Group,
    call,
    constant,
    download,
    ftp,
    player,
    round_trips_us,
    tcp,
    watched,
)
from docsis_experiments.runs.unit import Unit

_GOODPUT: Final = 38_900_000
"""bit/s of payload, in the reading that has it."""

ONE_VIDEO: Final = 6_000_000
"""bit/s of the channel of row NF."""


class Experiment(StrEnum):
    """The experiments: the traffic beside the downloads and the call."""

    ALONE = "exp1"
    """Nothing; no service rates."""
    TIERS = "exp3"
    """All capped, and for half of the time one more download with twice the cap."""
    OVERLOAD = "exp4"
    """For half of the time UDP at a constant rate."""
    VIDEOS = "exp2"
    """Five who watch adaptive videos."""
    ONE_VIDEO = "one video"
    """No call, and somebody who watches at 6 Mbps; the download comes and goes."""


@dataclass(frozen=True)
class Setting:
    """One point of a figure: a queue manager under so many downloads.

    Attributes:
        manager: What the rows call it.
        flows: Downloads: n.
        experiment: What is beside them.
        like: EXP3: the download, from 1, whose round trip the tier 2 flow has; 0: the middle one's.
        every_packet: Whether every packet is looked at.
        mininet: It is played there, with the kernel's TCP and for its own time.
    """

    manager: str
    flows: int
    experiment: Experiment = Experiment.ALONE
    like: int = 0
    every_packet: bool = False
    mininet: bool = False

    @property
    def label(self) -> str:
        """The run's label: its queue manager and the number of downloads."""
        return f"{self.manager} n{self.flows}"

    @property
    def work(self) -> str:
        """Tells the setting from all others of its row."""
        parts = [self.experiment.value, self.label]
        parts += [f"tier 2 like {self.like}"] if self.like else []
        return ", ".join(parts + (["in Mininet"] if self.mininet else []))

    @property
    def downloads(self) -> tuple[str, ...]:
        """Their groups."""
        return tuple(map(ftp, range(1, self.flows + 1)))

    @property
    def middle(self) -> int:
        """The download, from 1, of the median round trip."""
        return (self.flows + 1) // 2

    def subscribers(self, which: Reading) -> tuple[Subscriber, ...]:
        """All of the run; the downloads first, so that their addresses are the same everywhere."""
        tiered = self.experiment is Experiment.TIERS
        cap = TIER1_CAP if tiered else 0
        trips = round_trips_us(self.flows, which)
        found = [
            Subscriber(name, trip, cap) for name, trip in zip(self.downloads, trips, strict=True)
        ]
        if self.experiment is Experiment.ONE_VIDEO:
            return (*found, *self.viewers(which))
        # "Set all flow services rates to 6 Mbps": a call never has as much.
        found.append(Subscriber(CALL, FIRST_ROUND_TRIP_US, cap))
        if tiered:
            found.append(Subscriber(TIER2, trips[(self.like or self.middle) - 1], TIER2_CAP))
        if self.experiment is Experiment.OVERLOAD:
            found.append(Subscriber(UDP, FIRST_ROUND_TRIP_US))
        return (*found, *self.viewers(which))

    def viewers(self, which: Reading) -> tuple[Subscriber, ...]:
        """The viewers; their round trips are staggered as the downloads' are."""
        count = {Experiment.VIDEOS: VIDEOS, Experiment.ONE_VIDEO: 1}.get(self.experiment, 0)
        return tuple(
            Subscriber(player(number), trip)
            for number, trip in enumerate(round_trips_us(count, which), 1)
        )

    def topology(self, which: Reading) -> Topology:
        """The topology on which it is played."""
        payload = which is Reading.CAPACITY_389
        rate = _GOODPUT * FRAME // PAYLOAD if payload else CAPACITY
        if self.experiment is Experiment.ONE_VIDEO:
            rate = ONE_VIDEO
        return network(rate, self.subscribers(which))

    def groups(self, at: Times, which: Reading) -> Iterator[Group]:
        """All of the traffic."""
        viewers = self.viewers(which)
        comes_and_goes = at.competing if self.experiment is Experiment.ONE_VIDEO else None
        for one in self.subscribers(which):
            if one in viewers:
                continue
            match one.name:
                case "call":
                    yield call(one)
                case "tier2":
                    yield download(one, at.middle)
                case "udp":
                    yield constant(one, at.middle)
                case _:
                    yield download(one, comes_and_goes)
        if viewers:
            yield watched(viewers)

    def times(self, level: Level) -> Times:
        """The times of its runs."""
        return IN_MININET if self.mininet else times(level)

    def loaded(self, level: Level, which: Reading) -> Loaded:
        """As an experiment with one run."""
        plain = self._loaded(level, which, management(self.manager, which))
        if self.manager != "drr":
            return plain
        queues = self.queues
        divided = {"queues": queues, "multiplier": apart(sessions(plain), queues)}
        managed = changed(management("drr", which), {"flow_queues": divided})
        return self._loaded(level, which, managed)

    @property
    def queues(self) -> int:
        """The number of DRR's queues."""
        beside_videos = self.experiment is Experiment.VIDEOS
        return DRR_QUEUES_BESIDE_VIDEOS if beside_videos else DRR_QUEUES

    @property
    def buffer(self) -> int:
        """Bytes: 2048 packets, or as many queues of DRR as there are of 2048 / 16 packets each."""
        return BUFFER * self.queues // DRR_QUEUES if self.manager == "drr" else BUFFER

    def _loaded(self, level: Level, which: Reading, managed: QueueManagement) -> Loaded:
        at, topology = self.times(level), self.topology(which)
        data: dict[str, Any] = {
            "name": "p002",
            "title": self.label,
            "topology": "topology.yaml",
            "direction": "downstream",
            "ramp_up": f"{at.ramp_up} s",
            "measured": f"{at.measured} s",
            "runs": [{"label": self.label, "manager": managed, "buffer": f"{self.buffer} B"}],
            "traffic": list(self.groups(at, which)),
            "tcp": REAL_TCP if self.mininet else tcp(which),
            "every_packet": self.every_packet,
        }
        return Loaded(resolved(Scenario.model_validate(data), topology), topology)

    def unit(self, level: Level, which: Reading, seed: int) -> Unit:
        """The unit of one seed, with all quantities that any row wants of such a setting."""
        found = self.loaded(level, which)
        [run] = found.scenario.all_runs
        return replace(
            Unit.of(found, run, seed),
            quantities=tuple(sorted(one.key for one in self.quantities(level, which))),
        )

    def quantities(self, level: Level, which: Reading) -> Iterable[Quantity]:
        """Beside the usual statistics."""
        match self.experiment:
            case Experiment.VIDEOS:
                return of_videos(self.downloads)
            case Experiment.ONE_VIDEO:
                return of_competition(self.times(level))
        beside = {Experiment.TIERS: TIER2, Experiment.OVERLOAD: UDP}.get(self.experiment)
        return quantities(
            self.downloads,
            beside,
            self.times(level).middle,
            max(round_trips_us(self.flows, which)) if self.every_packet else None,
        )


def runs(settings: Iterable[Setting], asked: Asked, which: Reading) -> Iterator[RunOf]:
    """Each setting under each seed, seed by seed: what is compared is made together."""
    as_played = played(which)
    units = {setting.work: setting.unit(asked.level, as_played, 0) for setting in settings}
    for seed in asked.seeds:
        for work, unit in units.items():
            yield RunOf(work, replace(unit, seed=seed))
