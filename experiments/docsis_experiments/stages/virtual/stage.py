# SPDX-License-Identifier: Apache-2.0
"""A virtual world as the stage of experiments: simulated hosts, the real pipeline, its own time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from docsis_control.queue_managers.management import QueueManagement
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.experiment.plan import Plan
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.stages.admission import check_senders
from docsis_experiments.stages.views import NO_VIEWS, Views
from docsis_experiments.stages.virtual import run as one_run
from docsis_experiments.stages.virtual import versions
from docsis_experiments.stages.virtual.machine import MEASURED, Machine
from docsis_experiments.stages.virtual.module import check_built, check_seed
from docsis_experiments.stages.virtual.traffic import SENDERS
from docsis_testbed import p4build
from docsis_testbed.progress import Progress

DEFAULT_SEED: Final = 1


class VirtualStage:
    """See `docsis_experiments.stages.stage.Stage`.

    Every run has a world of its own, from the same seed: its hosts are late at the same moments.
    """

    target = "embedded"
    build_seconds = 0.0

    def __init__(
        self, seed: int = DEFAULT_SEED, machine: Machine = MEASURED, views: Views = NO_VIEWS
    ) -> None:
        """Args: the seed; how late hosts, switches and controller are; what is written besides.

        Raises:
            TestbedError: The seed is out of range.
        """
        self._seed = check_seed(seed)
        self._machine = machine
        self._views = views

    @property
    def marks(self) -> Mapping[str, Any]:
        """See `Stage`."""
        return {"stage": "virtual", "seed": self._seed}

    def admit(
        self,
        topology: Topology,
        managers: Sequence[QueueManagement],
        scenario: Scenario,
    ) -> None:
        """See `Stage`."""
        del managers  # the world says itself what it cannot have
        self._views.check(topology, self.target, interfaces=False)
        check_senders(scenario, "virtual time", SENDERS)
        check_built()
        p4build.require_current()

    def playable(self, topology: Topology) -> Topology:
        """See `Stage`; the switches are the embedded ones."""
        return topology

    @contextmanager
    def opened(self, what: str, topology: Topology) -> Iterator[None]:
        """See `Stage`; there is nothing to be held."""
        del what, topology
        yield

    def timers(self) -> dict[str, Any]:
        """See `Stage`."""
        return {"absent": f"time is virtual; {self._machine.words}"}

    def versions(self) -> dict[str, str]:
        """See `Stage`."""
        return versions.collect()

    def measure(
        self,
        scenario: Scenario,
        run: Run,
        plan: Plan,
        topology: Topology,
        topology_file: Path,
        *,
        number: int,
        folder: Path,
        progress: Progress,
    ) -> RunRecord:
        """See `Stage`."""
        del topology_file, number
        return one_run.measure(
            scenario,
            run,
            plan,
            topology,
            seed=self._seed,
            machine=self._machine,
            folder=folder,
            progress=progress,
            views=self._views,
        )
