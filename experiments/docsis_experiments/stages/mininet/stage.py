# SPDX-License-Identifier: Apache-2.0
"""Mininet as the stage of experiments: real hosts, real switches, real time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from docsis_control.queue_managers.models import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.models import Topology
from docsis_experiments.demo import plan as measurement
from docsis_experiments.experiment import plan as scenario_plan
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.stages.mininet import latency as experiment
from docsis_experiments.stages.mininet import scenario as scenario_measure
from docsis_experiments.stages.mininet import timers
from docsis_testbed import preflight, versions
from docsis_testbed.congestion import check_available
from docsis_testbed.progress import Progress
from docsis_testbed.runstate import RunState, recorded_run

_BUILD_SECONDS: Final = 4.5
"""Namespaces, links, programs, and their end."""


class MininetStage:
    """See `Stage`.

    Attributes:
        target: Name of the switch target.
    """

    build_seconds = _BUILD_SECONDS

    def __init__(
        self, target: str, metrics_port: int | None = None, recordings: Path | None = None
    ) -> None:
        """Args: the switch target, the controller's TCP port for Prometheus, or None, and the
        folder in which the embedded switches record the main job, or None.
        """
        self.target = target
        self._metrics_port = metrics_port
        self._recordings = recordings
        self._state: RunState | None = None

    @property
    def marks(self) -> Mapping[str, Any]:
        """See `Stage`."""
        return {"stage": "mininet"}

    def admit(
        self,
        topology: Topology,
        managers: Sequence[Preset | QueueManagement],
        scenario: Scenario | None = None,
    ) -> None:
        """See `Stage`."""
        preflight.check_queue_managers(self.target, *managers)
        preflight.check_root()
        if scenario is not None:
            flows = scenario_plan.plan_for(scenario, topology).flows
            check_available({planned.flow.congestion_control for planned in flows})

    @contextmanager
    def opened(self, what: str, topology: Topology) -> Iterator[None]:
        """See `Stage`."""
        with recorded_run(what) as state:
            preflight.check_all(topology, self.target)
            self._state = state
            try:
                yield
            finally:
                self._state = None

    def timers(self) -> dict[str, Any]:
        """See `Stage`."""
        return timers.measured()

    def versions(self) -> dict[str, str]:
        """See `Stage`."""
        return versions.collect(self.target)

    def measure(
        self,
        topology: Topology,
        topology_file: Path,
        aqm: Preset,
        *,
        plan: measurement.Plan,
        folder: Path,
        progress: Progress,
    ) -> measurement.Measurement:
        """See `Stage`."""
        return experiment.measure(
            topology,
            topology_file,
            aqm,
            plan=plan,
            target=self.target,
            run=self._recorded,
            folder=folder,
            progress=progress,
            metrics_port=self._metrics_port,
            recordings=self._recordings,
        )

    def measure_scenario(
        self,
        scenario: Scenario,
        run: Run,
        plan: scenario_plan.Plan,
        topology: Topology,
        topology_file: Path,
        *,
        folder: Path,
        progress: Progress,
    ) -> RunRecord:
        """See `Stage`."""
        return scenario_measure.measure(
            scenario,
            run,
            plan,
            topology,
            topology_file,
            target=self.target,
            state=self._recorded,
            folder=folder,
            progress=progress,
        )

    @property
    def _recorded(self) -> RunState:
        assert self._state is not None, "opened"
        return self._state
