# SPDX-License-Identifier: Apache-2.0
"""Mininet as the stage of experiments: real hosts, real switches, real time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from docsis_control.bmv2.approximation import APPROXIMATIONS, approximated
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.draws import drawn
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.experiment.plan import Plan, plan_for
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.stages.admission import check_senders
from docsis_experiments.stages.mininet import run as one_run
from docsis_experiments.stages.mininet import timers
from docsis_experiments.stages.mininet.tcp import check_tcp
from docsis_experiments.stages.mininet.torrents import check_torrents, is_upload
from docsis_experiments.stages.mininet.videos import check_browser
from docsis_experiments.stages.views import NO_VIEWS, Views
from docsis_experiments.traffic.senders import (
    AdaptiveVideo,
    LedbatTransfers,
    ServiceFlowStreams,
    TcpMessages,
    TcpTransfers,
    UdpCall,
    UdpRequests,
    UdpTrains,
    WebPages,
)
from docsis_testbed import own_commands, preflight, versions
from docsis_testbed.congestion import CONGESTION_CONTROL, check_available
from docsis_testbed.errors import TestbedError
from docsis_testbed.own_commands import OwnCommand
from docsis_testbed.progress import Progress
from docsis_testbed.runstate import RunState, recorded_run

SENDERS: Final = (
    TcpTransfers,
    TcpMessages,
    WebPages,
    AdaptiveVideo,
    LedbatTransfers,
    UdpTrains,
    UdpCall,
    UdpRequests,
    ServiceFlowStreams,
)
"""The senders for which Mininet's hosts have programs."""

_BUILD_SECONDS: Final = 4.5
"""Namespaces, links, programs, and their end."""


class MininetStage:
    """See `Stage`.

    Attributes:
        target: Name of the switch target.
    """

    build_seconds = _BUILD_SECONDS

    def __init__(
        self,
        target: str,
        metrics_port: int | None = None,
        recordings: Path | None = None,
        views: Views = NO_VIEWS,
        commands: Sequence[OwnCommand] = (),
    ) -> None:
        """Args: the switch target, the controller's TCP port for Prometheus, or None, the folder
        in which the embedded switches record what they are given, or None, what is captured and
        traced, and the user's own commands in hosts.
        """
        self.target = target
        self._metrics_port = metrics_port
        self._recordings = recordings
        self._views = views
        self._commands = tuple(commands)
        self._state: RunState | None = None

    @property
    def marks(self) -> Mapping[str, Any]:
        """See `Stage`."""
        approximate = {"approximations": list(APPROXIMATIONS)} if self._approximate else {}
        return {"stage": "mininet", **approximate}

    @property
    def _approximate(self) -> bool:
        return self.target == "bmv2"

    def admit(
        self,
        topology: Topology,
        managers: Sequence[QueueManagement],
        scenario: Scenario,
    ) -> None:
        """See `Stage`."""
        own_commands.check(self._commands, topology)
        self._views.check(topology, self.target, interfaces=True, runs=len(managers))
        preflight.check_channels(self.target, topology)
        preflight.check_queue_managers(self.target, *managers)
        check_senders(scenario, "Mininet", SENDERS)
        check_tcp(scenario.tcp)
        check_torrents(scenario)
        for direction in scenario.directions:
            preflight.check_rates(self.target, topology, direction)
        if self._approximate and scenario.channel is not None:
            raise TestbedError(
                f"target bmv2: {scenario.name} changes the channel's rate while it runs, and "
                f"BMv2's ports have none; {preflight.USE_EMBEDDED}"
            )
        preflight.check_target(self.target)
        preflight.check_root()
        plan = plan_for(scenario, topology)
        used = {one.flow.congestion_control for one in plan.flows if not is_upload(one)}
        used |= {user.congestion_control for user in plan.users}
        used |= {one.congestion_control for one in plan.videos}
        check_browser(plan.videos)
        if any(one.transport == "tcp" for load in plan.loads.values() for one in load.loads):
            used.add(CONGESTION_CONTROL)
        check_available(used)

    def playable(self, topology: Topology) -> Topology:
        """See `Stage`."""
        return approximated(topology) if self._approximate else topology

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
        # Real time has no seed: the number draws when flows start and which frames links lose.
        return one_run.measure(
            scenario,
            run,
            drawn(plan, number),
            topology,
            topology_file,
            target=self.target,
            state=self._recorded,
            folder=folder,
            progress=progress,
            metrics_port=self._metrics_port,
            recordings=self._recordings,
            views=self._views,
            commands=self._commands,
            seed=number,
        )

    @property
    def _recorded(self) -> RunState:
        assert self._state is not None, "opened"
        return self._state
