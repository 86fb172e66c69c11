# SPDX-License-Identifier: Apache-2.0
"""The interface of a stage: Mininet in real time, or a virtual world in its own time.

Topologies, plans, scenarios, summaries and reports know nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from docsis_control.queue_managers.management import QueueManagement
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.experiment.plan import Plan
from docsis_experiments.measurement.record import RunRecord
from docsis_testbed.progress import Progress


class Stage(Protocol):
    """Plays the runs of one experiment."""

    @property
    def target(self) -> str:
        """Name of the switch target."""

    @property
    def build_seconds(self) -> float:
        """Seconds that a run takes beside its traffic, about, for the progress bar."""

    @property
    def marks(self) -> Mapping[str, Any]:
        """The entries of summary.json about the stage: `stage`, and `seed` where there is one."""

    def admit(
        self,
        topology: Topology,
        managers: Sequence[QueueManagement],
        scenario: Scenario,
    ) -> None:
        """Refuses what it cannot play, before anything is made.

        Args:
            topology: What is to be built.
            managers: Queue managers of the runs.
            scenario: The traffic.

        Raises:
            TestbedError: What cannot be played, why, and what to do.
        """

    def playable(self, topology: Topology) -> Topology:
        """The topology as the stage's target can build it, which `marks` say in words.

        Args:
            topology: What was asked for, once it is admitted.
        """

    def opened(self, what: str, topology: Topology) -> AbstractContextManager[None]:
        """Holds what the runs need until the end of the block; nothing is left behind it.

        Args:
            what: The command, for whoever asks what runs.
            topology: What is to be built.

        Raises:
            TestbedError: Something is missing.
        """

    def timers(self) -> dict[str, Any]:
        """How late the machine wakes a thread, as summary.json has it, before the first run."""

    def versions(self) -> dict[str, str]:
        """Versions of everything that a result depends on."""

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
        """Plays one run of a scenario, and measures it.

        Args:
            scenario: What the run is of.
            run: Its queue manager.
            plan: Times and traffic.
            topology: What to build.
            topology_file: The same as a file.
            number: Which repetition of the run it is, or which seed; runs with the same number have
                the same draws. The virtual stage has a seed, and does not use it.
            folder: Gets the raw files; exists.
            progress: Told how far the run is.

        Raises:
            TestbedError: Something did not work; nothing is left behind.
        """
