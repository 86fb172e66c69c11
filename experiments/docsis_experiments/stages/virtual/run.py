# SPDX-License-Identifier: Apache-2.0
"""A run of a scenario in virtual time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from docsis_control.plan import PRIMARY_SERVICE_FLOW, QUEUES
from docsis_control.ports import RF_PORT
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.models import Device, Topology
from docsis_experiments.experiment.channel import Channel
from docsis_experiments.experiment.draws import drawn
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.experiment.plan import TAIL_SECONDS, Plan
from docsis_experiments.measurement.begun import begun
from docsis_experiments.measurement.controller import control_samples, controller_figures
from docsis_experiments.measurement.links import ImpairedLinks
from docsis_experiments.measurement.record import (
    Carried,
    Floats,
    Packets,
    Pages,
    Received,
    RunRecord,
)
from docsis_experiments.measurement.viewing import Viewing
from docsis_experiments.stages.views import NO_VIEWS, Views
from docsis_experiments.stages.virtual.machine import Machine
from docsis_experiments.stages.virtual.play import (
    METERED_NS,
    SAMPLE_NS,
    TIMELESS,
    Play,
    column,
    playing,
)
from docsis_experiments.stages.virtual.service_flow_load import ServiceFlowTraffic
from docsis_experiments.stages.virtual.traffic import Started, start
from docsis_experiments.stages.virtual.upstream import congest
from docsis_experiments.stages.virtual.views import written
from docsis_testbed.progress import Progress

if TYPE_CHECKING:
    from docsis_world import World


def measure(
    scenario: Scenario,
    run: Run,
    plan: Plan,
    topology: Topology,
    *,
    seed: int,
    machine: Machine,
    folder: Path,
    progress: Progress,
    views: Views = NO_VIEWS,
) -> RunRecord:
    """Build a world, run the traffic, and read what it left.

    Args:
        scenario: What the run is of.
        run: Its queue manager.
        plan: Times and traffic.
        topology: What to build.
        seed: The seed of all that is random.
        machine: How late hosts, switches and controller are.
        folder: Gets the controller's record; exists.
        progress: Told how far the run is.
        views: Captures and traces that are to be written.

    Raises:
        TestbedError: The world cannot be built, or cannot go on; a view cannot be written.
    """
    management = run.managed.management
    upstream = scenario.direction == "upstream"
    device = topology.cable_modem if upstream else topology.cmts
    carrying = topology.upstream_channels or () if upstream else ()
    names = [channel.name for channel in carrying]
    played = _Played(scenario, drawn(plan, seed), device, names, topology)
    with (
        playing(
            topology,
            # What only carries acknowledgements has nothing to manage.
            management if upstream else Preset.DROP_TAIL,
            None if upstream else management,
            seed=seed,
            machine=machine,
            folder=folder,
            progress=progress,
        ) as play,
        written(views, play.world, run.label, folder, topology) as captures,
    ):
        played.play(play)
    return replace(
        played.record(play, run, topology, folder),
        captures=tuple(one.within(folder) for one in captures),
    )


def faults_of(world: World, topology: Topology) -> Iterator[str]:
    """Yields the faults of a world's frames, in words; then there is no verdict on the run."""
    dropped = world.totals()["link_dropped"]
    if dropped:
        yield f"links had no room for {dropped} frames, which no queue manager dropped"
    for node in topology.nodes:
        malformed = world.host_counters(node.name)["malformed"]
        if malformed:
            yield f"{malformed} frames reached {node.name} with a wrong checksum, or cut off"


class _Played:
    """The traffic of a run, and what it left."""

    def __init__(
        self,
        scenario: Scenario,
        plan: Plan,
        device: Device,
        channels: Sequence[str],
        topology: Topology,
    ) -> None:
        self._scenario = scenario
        self._plan = plan
        self._device = device
        self._channels = channels
        self._role = QUEUES[scenario.direction]
        self._cmts = topology.cmts
        self._links = ImpairedLinks(topology)
        rate = topology.channel.downstream if topology.channel else None
        self._downstream_mbps = rate / 1e6 if rate else None
        self._steps: list[tuple[float, float]] = []

    def play(self, play: Play) -> None:
        """Sends and receives on the plan's timetable."""
        plan, channel = self._plan, self._scenario.channel
        begin = plan.measured_from
        self._start_ns = play.at(begin)
        if channel is not None:
            steps = channel.steps(plan.measured_seconds)
            # What a channel cannot have is refused now, not in the middle of the run.
            congest(play.world, self._channels, min(channel.rates), channel.variation)
            self._carry(play, channel, channel.first)
            for at, rate in steps:
                self._step(play, channel, at, rate)
        self._traffic = start(play, plan, self._scenario.tcp)
        asking = [number for _, number in self._traffic.asking]
        self._sampled_from_ns = play.world.now_ns
        if sampled := [*self._traffic.flows.values(), *asking]:
            play.world.sample(sampled, SAMPLE_NS)
        if self._downstream_mbps is not None:
            play.world.meter(self._cmts.name, RF_PORT, METERED_NS)
        self._loads = {
            group: ServiceFlowTraffic(
                play, load, self._device, plan.idle_seconds, self._scenario.tcp
            )
            for group, load in plan.loads.items()
        }
        play.run_until("idle", plan.idle_seconds)
        play.run_until("ramp-up", begin)
        play.channels.look(begin, plan.measured_seconds)
        before = play.counters(self._device, self._role)
        links_before = play.link_counters(self._links.devices)
        for load in self._loads.values():
            load.begin()
        play.run_until("measuring", begin + plan.measured_seconds)
        after = play.counters(self._device, self._role)
        links_after = play.link_counters(self._links.devices)
        for load in self._loads.values():
            load.end()
        self._counters = {name: after[name] - before[name] for name in after}
        self._link_losses = self._links.between(links_before, links_after)
        play.run_until("ending", begin + plan.measured_seconds + TAIL_SECONDS)

    def _step(self, play: Play, channel: Channel, at: float, rate: int) -> None:
        def change() -> None:
            self._carry(play, channel, rate)
            self._steps.append((at, rate / 1e6))

        play.when(self._plan.measured_from + at, change)

    def _carry(self, play: Play, channel: Channel, rate: int) -> None:
        """From now on the modems' channels, or else the device's RF port, carry that much."""
        if self._channels:
            congest(play.world, self._channels, rate, channel.variation)
        else:
            play.carry(self._device, rate)

    def record(self, play: Play, run: Run, topology: Topology, folder: Path) -> RunRecord:
        """Makes the record of a run, once it is over."""
        return replace(
            begun(run, self._plan, topology, self._scenario.direction),
            packets=self._packets(play, self._traffic),
            messages=self._messages(play, self._traffic),
            received=self._received(play, self._traffic),
            steps=tuple(self._steps),
            control=control_samples(
                folder / "controller" / f"samples-{self._device.name}.csv",
                PRIMARY_SERVICE_FLOW,
                self._start_ns,
            ),
            counters=self._counters,
            controller=controller_figures(folder / "controller"),
            timing=TIMELESS,
            faults=tuple(faults_of(play.world, topology)),
            digest=play.world.digest(),
            retransmitted=self._counted(play, self._traffic, "retransmissions"),
            timeouts=self._counted(play, self._traffic, "timeouts"),
            shares={group: load.shares() for group, load in self._loads.items()},
            channels=play.channels.channels(),
            pages=self._pages(play, self._traffic),
            videos=self._videos(play, self._traffic),
            round_trips=self._round_trips(play, self._traffic),
            unanswered=self._unanswered(play, self._traffic),
            acknowledgements=self._acknowledgements(play, self._traffic),
            carried=self._carried(play),
            links=self._link_losses,
        )

    def _delays(self, sent: bytes, came: bytes, propagation_ms: float) -> Packets:
        sent_ns, came_ns = column(sent), column(came)
        delay_ms = np.where(came_ns >= 0, (came_ns - sent_ns) / 1e6 - propagation_ms, np.nan)
        return Packets((sent_ns - self._start_ns) / 1e9, delay_ms)

    def _packets(self, play: Play, traffic: Started) -> dict[str, Packets]:
        found: dict[str, list[Packets]] = {}
        for planned, number in traffic.flows.items():
            sent, came = play.world.packet_records(number)
            found.setdefault(planned.group, []).append(
                self._delays(sent, came, planned.propagation_ms)
            )
        for call, number in traffic.calls.items():
            sent, came, _ = play.world.probe_records(number)
            found.setdefault(call.group, []).append(self._delays(sent, came, call.propagation_ms))
        return {group: Packets.together(parts) for group, parts in found.items()}

    def _messages(self, play: Play, traffic: Started) -> dict[str, Packets]:
        found: dict[str, list[Packets]] = {}
        for planned, number in traffic.flows.items():
            if planned.flow.kind == "messages":
                each = self._delays(*play.world.message_records(number), planned.propagation_ms)
                complete = ~np.isnan(each.delay_ms)
                found.setdefault(planned.group, []).append(
                    Packets(each.sent_s[complete], each.delay_ms[complete])
                )
        return {group: Packets.together(parts) for group, parts in found.items()}

    def _received(self, play: Play, traffic: Started) -> dict[str, Received]:
        groups: dict[str, dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]] = {}
        time_s = np.zeros(0)
        sampled = [(flow.group, flow.flow.name, number) for flow, number in traffic.flows.items()]
        sampled += [(user.group, user.name, number) for user, number in traffic.asking]
        for group, name, number in sampled:
            samples = play.world.samples(number)
            # The first sample is an interval late: in the beginning nothing had come.
            times = np.concatenate([[self._sampled_from_ns], column(samples["time_ns"])])
            time_s = (times - self._start_ns) / 1e9
            counts = np.concatenate([[0.0], column(samples["received"])])
            groups.setdefault(group, {})[name] = counts
        return {group: Received(time_s, flows) for group, flows in groups.items()}

    def _pages(self, play: Play, traffic: Started) -> dict[str, Pages]:
        found: dict[str, list[Pages]] = {}
        for user, number in traffic.pages:
            began, complete = map(column, play.world.page_records(number))
            complete_s = np.where(complete >= 0, (complete - self._start_ns) / 1e9, np.nan)
            pages = Pages((began - self._start_ns) / 1e9, complete_s)
            found.setdefault(user.group, []).append(pages)
        return {group: Pages.together(parts) for group, parts in found.items()}

    def _videos(self, play: Play, traffic: Started) -> dict[str, dict[str, Viewing]]:
        found: dict[str, dict[str, Viewing]] = {}
        for planned, number in traffic.videos.items():
            records = play.world.video_records(number)
            end = math.inf if planned.end is None else planned.end - self._plan.measured_from
            viewing = Viewing(
                asked_s=self._seconds(records["asked_ns"]),
                came_s=self._seconds(records["came_ns"]),
                plays_s=self._seconds(records["plays_ns"]),
                rate_mbps=column(records["rate"]) / 1e6,
                bytes=column(records["bytes"]).astype(np.float64),
                buffered_s=column(records["buffered_ns"]) / 1e9,
                segment_s=planned.video.segment_ns / 1e9,
                end_s=end,
            )
            found.setdefault(planned.group, {})[planned.name] = viewing
        return found

    def _seconds(self, times: bytes) -> Floats:
        """Times as seconds of the measured time; NaN for what never happened."""
        found = column(times)
        return np.where(found >= 0, (found - self._start_ns) / 1e9, np.nan)

    def _round_trips(self, play: Play, traffic: Started) -> dict[str, Packets]:
        found: dict[str, list[Packets]] = {}
        for requests, numbers in traffic.requests.items():
            for number in numbers:
                asked, answered = play.world.round_trip_records(number)
                found.setdefault(requests.group, []).append(self._delays(asked, answered, 0.0))
        return {group: Packets.together(parts) for group, parts in found.items()}

    def _counted(
        self, play: Play, traffic: Started, what: Literal["retransmissions", "timeouts"]
    ) -> dict[str, dict[str, int]]:
        groups: dict[str, dict[str, int]] = {}
        for planned, number in traffic.flows.items():
            if planned.flow.retransmits:
                found = play.world.transfer_info(number)[what]
                groups.setdefault(planned.group, {})[planned.flow.name] = found
        for asker, number in traffic.downloads:
            found = play.world.transfer_info(number)[what]
            groups.setdefault(asker.group, {})[asker.name] = found
        return groups

    def _unanswered(self, play: Play, traffic: Started) -> dict[str, Floats]:
        found: dict[str, list[Floats]] = {}
        for planned, number in traffic.flows.items():
            if planned.flow.kind == "messages":
                sent, came = map(column, play.world.message_records(number))
                waits = (sent[came < 0] - self._start_ns) / 1e9
                found.setdefault(planned.group, []).append(waits)
        return {group: np.sort(np.concatenate(parts)) for group, parts in found.items()}

    def _acknowledgements(self, play: Play, traffic: Started) -> dict[str, list[Packets]]:
        found: dict[str, list[Packets]] = {}
        for asker, number in traffic.downloads:
            each = self._delays(*play.world.acknowledgement_records(number), 0.0)
            found.setdefault(asker.group, []).append(each)
        return found

    def _carried(self, play: Play) -> Carried | None:
        if self._downstream_mbps is None:
            return None
        times, line = map(column, play.world.metered(self._cmts.name, RF_PORT))
        time_s = (times - self._start_ns) / 1e9
        return Carried(time_s, line.astype(np.float64), self._downstream_mbps)
