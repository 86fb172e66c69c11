# SPDX-License-Identifier: Apache-2.0
"""One run of a scenario, from an empty machine to an empty machine."""

from __future__ import annotations

import csv
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path

import numpy as np

from docsis_control.plan import PRIMARY_SERVICE_FLOW, QUEUES
from docsis_control.queue_managers.names import Preset
from docsis_control.status.upstream import UpstreamChannel
from docsis_control.topology.models import Device, Topology
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.experiment.plan import (
    TAIL_SECONDS,
    Plan,
    Planned,
    PlannedCall,
)
from docsis_experiments.measurement.begun import begun
from docsis_experiments.measurement.channel_looks import times
from docsis_experiments.measurement.controller import control_samples, controller_figures
from docsis_experiments.measurement.links import ImpairedLink, ImpairedLinks
from docsis_experiments.measurement.record import Packets, Received, RunRecord
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.stages.mininet import faults
from docsis_experiments.stages.mininet.channels_seen import ChannelsSeen, channels_of
from docsis_experiments.stages.mininet.counters import CounterReader, counters
from docsis_experiments.stages.mininet.lateness import LatenessReader, lateness_of
from docsis_experiments.stages.mininet.link_counters import LinkReader
from docsis_experiments.stages.mininet.requests import RequestTraffic
from docsis_experiments.stages.mininet.rf import Congested, RfChannels, RfPort
from docsis_experiments.stages.mininet.samples import counted_between, read_samples
from docsis_experiments.stages.mininet.service_flow_load import ServiceFlowTraffic
from docsis_experiments.stages.mininet.tcp import tcp_metrics
from docsis_experiments.stages.mininet.torrents import TorrentTraffic, is_upload
from docsis_experiments.stages.mininet.traffic import capture, flows, irtt
from docsis_experiments.stages.mininet.traffic.capture import End
from docsis_experiments.stages.mininet.traffic.receiving import LOST
from docsis_experiments.stages.mininet.videos import VideoTraffic
from docsis_experiments.stages.mininet.web_users import WebTraffic
from docsis_experiments.stages.views import CAPTURES, NO_VIEWS, Views
from docsis_testbed.captures import captured
from docsis_testbed.errors import TestbedError
from docsis_testbed.own_commands import FOLDER as COMMANDS
from docsis_testbed.own_commands import OwnCommand, commands_running
from docsis_testbed.progress import Progress
from docsis_testbed.realtime import PROBE_PRIORITY, real_time
from docsis_testbed.runstate import RunState
from docsis_testbed.session import Session, running_session, wait_until_ready
from docsis_testbed.taps import Taps

_CALL_MARGIN_SECONDS = 1.0
"""How much longer than all other traffic a call lasts."""


def measure(
    scenario: Scenario,
    run: Run,
    plan: Plan,
    topology: Topology,
    topology_file: Path,
    *,
    target: str,
    state: RunState,
    folder: Path,
    progress: Progress,
    metrics_port: int | None = None,
    recordings: Path | None = None,
    views: Views = NO_VIEWS,
    commands: Sequence[OwnCommand] = (),
    seed: int = 0,
) -> RunRecord:
    """Build, run the traffic, read what it left, and take everything away.

    Args:
        scenario: What the run is of.
        run: Its queue manager.
        plan: Times and traffic.
        topology: What to build.
        topology_file: The same as a file, for the controller.
        target: Name of the switch target.
        state: Records what is made.
        folder: Gets the raw files; exists.
        progress: Told how far the run is.
        metrics_port: TCP port on the loopback interface for Prometheus, or None.
        recordings: Folder in which the embedded switches record what they are given, or None.
        views: Captures and traces that are written.
        commands: The user's own, in hosts, while the run goes on.
        seed: Seed of what links lose, and by how much they jitter.

    Raises:
        TestbedError: something did not work; nothing is left behind.
    """
    management = run.managed.management
    upstream = scenario.direction == "upstream"
    device = topology.cable_modem if upstream else topology.cmts
    with ExitStack() as stack:
        session = stack.enter_context(
            running_session(
                topology,
                topology_file,
                target=target,
                run=state,
                folder=folder,
                progress=progress,
                static_arp=True,
                # What only carries acknowledgements has nothing to manage.
                upstream=management if upstream else Preset.DROP_TAIL,
                downstream=None if upstream else management,
                metrics_port=metrics_port,
                recordings=recordings,
                taps=Taps(
                    views.of_channels(folder, topology), views.of_devices(run.label, topology)
                ),
                seed=seed,
            )
        )
        if metrics := tcp_metrics(scenario.tcp):
            for node in topology.nodes:
                session.testbed.node(node.name).set_tcp(metrics)
        captures = stack.enter_context(
            captured(session.testbed, views.points(topology), folder / CAPTURES, views.mib)
        )
        done = stack.enter_context(commands_running(session.testbed, commands, folder / COMMANDS))
        reader = counters(device, QUEUES[scenario.direction], target)
        clocks = lateness_of((topology.cable_modem, topology.cmts), target)
        port = congested(scenario, topology, device, target)
        links = ImpairedLinks(topology)
        played = Played(
            session, plan, scenario, reader, clocks, port, channels_of(topology),
            links, LinkReader(links.devices, target),
        )  # fmt: skip
        played.play()
    return replace(
        played.record(run, topology, device.name),
        captures=tuple(one.within(folder) for one in captures),
        commands=tuple(one.within(folder) for one in done),
    )


def congested(
    scenario: Scenario, topology: Topology, device: Device, target: str
) -> Congested | None:
    """Finds what RF congestion makes slower in a scenario, if there is any.

    Args:
        scenario: The scenario.
        topology: Where it is played.
        device: The device whose queues it fills.
        target: Name of the switch target that it is.
    """
    channel = scenario.channel
    if channel is None:
        return None
    channels = topology.upstream_channels if scenario.direction == "upstream" else None
    if not channels:
        return RfPort(device, topology.framing(device), target)
    return RfChannels(device, [one.name for one in channels], channel.variation)


def packets_of_call(probes: irtt.Probes, start_ns: int, propagation_ms: float) -> Packets:
    """A call's packets on the record's time axis.

    Args:
        probes: As irtt tells them.
        start_ns: Start of the measured time, wall clock in nanoseconds.
        propagation_ms: What the topology adds on their way.
    """
    # A packet whose reply was lost arrived, but nobody knows when.
    delay_ms = np.where(probes.arrived & np.isnan(probes.delay_ms), np.inf, probes.delay_ms)
    return Packets((probes.sent_ns - start_ns) / 1e9, delay_ms - propagation_ms)


class Played:
    """The traffic of a run, and what it left."""

    def __init__(
        self,
        session: Session,
        plan: Plan,
        scenario: Scenario,
        reader: CounterReader,
        clocks: LatenessReader,
        port: Congested | None,
        channels: ChannelsSeen | None,
        links: ImpairedLinks,
        link_reader: LinkReader,
    ) -> None:
        self._session = session
        self._folder = session.folder
        self._plan = plan
        self._scenario = scenario
        self._reader = reader
        self._clocks = clocks
        self._port = port
        self._channels = channels
        self._links = links
        self._link_reader = link_reader
        self._link_losses: tuple[ImpairedLink, ...] = ()
        self._channels_at_end: tuple[UpstreamChannel, ...] = ()
        self._loads = {
            group: ServiceFlowTraffic(session.testbed, session.folder, load, reader)
            for group, load in plan.loads.items()
        }
        self._web = WebTraffic(session, plan.users)
        self._requests = RequestTraffic(session, plan.requests)
        self._videos = VideoTraffic(session, plan.videos, plan.seconds)
        # The other flows are sent by our own programs, between sockets of theirs.
        self._flows = [one for one in plan.flows if not is_upload(one)]
        self._torrents = TorrentTraffic(
            session,
            [one for one in plan.flows if is_upload(one)],
            plan.seconds,
            scenario.direction,
        )
        self._start_ns = 0
        self._ready_after_s = 0.0
        self._steps: list[tuple[float, float]] = []
        self._counters: dict[str, int] = {}
        self._timing = Timing({})
        self._offset_ns = 0

    def play(self) -> None:
        """Send and receive on the plan's timetable.

        Raises:
            TestbedError: a program ended on the way.
        """
        channel = self._scenario.channel
        steps = channel.steps(self._plan.measured_seconds) if channel else []
        if self._port is not None and channel is not None:
            # What cannot be had is refused now, not in the middle of the run.
            self._port.carry(min(rate for _, rate in steps))
            self._port.carry(channel.first)
        programs = self._start_receivers()
        self._start_servers()
        programs += self._web.start_servers(self._start)
        programs += self._videos.start(self._start)
        programs += self._torrents.start_peers()
        for load in self._loads.values():
            programs += load.start(self._start)
        sender, origin_ns = self._start_sender()
        self._start_ns = origin_ns + round(self._plan.measured_from * 1e9)
        self._videos.tell(origin_ns)
        for load in self._loads.values():
            load.tell(origin_ns + round(self._plan.idle_seconds * 1e9))
        programs += self._torrents.start_clients(origin_ns)
        programs += self._web.start_users(origin_ns)
        programs += self._requests.start(self._start, origin_ns)
        # Last: irtt is told how long to send, and whatever was started before may have taken long.
        calls = self._start_calls()
        self._ready_after_s = (time.time_ns() - self._start_ns) / 1e9
        if self._plan.idle_seconds:
            self._wait_until("idle", -self._plan.ramp_up_seconds)
        self._wait_until("ramp-up", 0.0)
        before, late = self._reader.packets(PRIMARY_SERVICE_FLOW), self._clocks.read()
        links_before = self._link_reader.read()
        for load in self._loads.values():
            load.begin()
        for at, action in self._timetable(steps):
            self._wait_until("measuring", at)
            action()
        self._wait_until("measuring", self._plan.measured_seconds)
        for load in self._loads.values():
            load.end()
        after, self._timing = self._reader.packets(PRIMARY_SERVICE_FLOW), self._clocks.since(late)
        self._counters = {name: after[name] - before[name] for name in after}
        self._link_losses = self._links.between(links_before, self._link_reader.read())
        if self._channels is not None:
            self._channels_at_end = self._channels.channels()
        self._offset_ns = time.time_ns() - time.monotonic_ns()
        # Nothing of theirs is measured any more, so a slow answer above may have let them end.
        self._session.let_end(*calls)
        self._wait_until("ending", self._plan.measured_seconds + TAIL_SECONDS)
        self._session.let_end(*([sender, *programs] if sender else programs))
        for process in [*([sender] if sender else []), *reversed(programs)]:
            process.terminate()
            self._session.wait_for(process, "a program that sends or receives")
        for process in calls:
            self._session.wait_for(process, "irtt")

    def _timetable(
        self, steps: Sequence[tuple[float, int]]
    ) -> list[tuple[float, Callable[[], None]]]:
        """The timetable of the measured time: seconds after its start, and what is done then."""
        due: list[tuple[float, Callable[[], None]]] = []
        if self._port is not None:
            due += ((at, partial(self._step, self._port, rate)) for at, rate in steps)
        if self._channels is not None:
            due += ((at, self._channels.look) for at in times(self._plan.measured_seconds))
        return sorted(due, key=itemgetter(0))

    def _step(self, port: Congested, rate: int) -> None:
        port.carry(rate)
        self._steps.append(((time.time_ns() - self._start_ns) / 1e9, rate / 1e6))

    def _wait_until(self, phase: str, seconds: float) -> None:
        """Until that long after the start of the measured time."""
        self._session.wait(phase, self._left(seconds))

    def _left(self, seconds: float) -> float:
        """How long until then, seconds; 0 where it has passed."""
        return max(0.0, (self._start_ns - time.time_ns()) / 1e9 + seconds)

    def _start_receivers(self) -> list[subprocess.Popen[bytes]]:
        programs = []
        if self._flows:
            flows.write([self._placed(planned) for planned in self._flows], self._flows_file)
            command = flows.receive_command(
                self._flows_file,
                self._folder / "received.csv",
                self._folder / "received-messages.csv",
            )
            programs.append(self._start("receiver", command))
        if self._plan.flows:
            capture.write(self._capture(), self._folder / "capture.json")
            command = capture.command(self._folder / "capture.json", self._folder / "captured.csv")
            programs.append(self._start("capture", command))
        return programs

    def _start(self, what: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        log = self._folder / f"{what}.log"
        process = self._session.testbed.launch_here(real_time(command, PROBE_PRIORITY), log)
        self._session.watch(f"the {what}", process, log)
        wait_until_ready(process, f"the {what}", log)
        return process

    def _start_servers(self) -> None:
        session = self._session
        for name in sorted({call.destination for call in self._plan.calls}):
            command = irtt.server_command(session.address(name))
            log = f"irtt-server-{name}.log"
            server = session.launch(name, real_time(command, PROBE_PRIORITY), log)
            irtt.wait_until_bound(server, self._folder / log)

    def _start_calls(self) -> list[subprocess.Popen[bytes]]:
        session, plan = self._session, self._plan
        seconds = self._left(plan.measured_seconds + TAIL_SECONDS) + _CALL_MARGIN_SECONDS
        started = []
        for call in self._plan.calls:
            command = irtt.client_command(
                session.address(call.destination),
                seconds,
                self._call_file(call),
                local_port=call.port,
            )
            log = f"irtt-{call.name}.log"
            client = session.launch(call.source, real_time(command, PROBE_PRIORITY), log)
            session.watch("irtt", client, self._folder / log)
            started.append(client)
        return started

    def _start_sender(self) -> tuple[subprocess.Popen[bytes] | None, int]:
        """The sender, and the wall clock's nanosecond at which its timetable starts."""
        if not self._flows:
            return None, time.time_ns()
        command = flows.send_command(self._flows_file, self._retransmitted_file)
        sender = self._start("sender", command)
        words = (self._folder / "sender.log").read_text().split()
        return sender, int(words[words.index("ready") + 1])

    @property
    def _flows_file(self) -> Path:
        return self._folder / "flows.json"

    @property
    def _retransmitted_file(self) -> Path:
        return self._folder / "retransmitted.csv"

    def _placed(self, planned: Planned) -> flows.Flow:
        node = self._session.testbed.node
        return replace(
            planned.flow,
            source_pid=node(planned.source).pid,
            destination_pid=node(planned.destination).pid,
        )

    def _capture(self) -> capture.Capture:
        node = self._session.testbed.node

        def points(end: End, names: set[str]) -> list[capture.Point]:
            return [
                capture.Point(node(name).pid, node(name).defaultIntf().name, end)
                for name in sorted(names)
            ]

        senders = points("sender", {planned.source for planned in self._plan.flows})
        receivers = points("receiver", {planned.destination for planned in self._plan.flows})
        ports = [planned.flow.port for planned in self._plan.flows]
        return capture.Capture((*senders, *receivers), (min(ports), max(ports)), self._plan.one_in)

    def record(self, run: Run, topology: Topology, device: str) -> RunRecord:
        """Makes the record of a run, once it is over."""
        samples = self._folder / "controller" / f"samples-{device}.csv"
        return replace(
            begun(run, self._plan, topology, self._scenario.direction),
            packets={**self._captured(), **self._called()},
            messages=self._completed(),
            received={
                **self._received(),
                **self._web.received(self._start_ns),
                **self._videos.received(self._start_ns),
                **self._torrents.received(self._start_ns),
            },
            steps=tuple(self._steps),
            # The controller's samples have CLOCK_MONOTONIC.
            control=control_samples(
                samples, PRIMARY_SERVICE_FLOW, self._start_ns - self._offset_ns
            ),
            counters=self._counters,
            controller=controller_figures(self._folder / "controller"),
            timing=self._timing,
            faults=tuple(self._faults()),
            retransmitted={**self._retransmitted(), **self._torrents.retransmitted()},
            shares={group: load.shares() for group, load in self._loads.items()},
            channels=self._channels_at_end,
            pages=self._web.pages(self._start_ns),
            round_trips=self._requests.round_trips(self._start_ns),
            videos=self._videos.viewings(self._start_ns, self._plan.measured_from),
            links=self._link_losses,
        )

    def _faults(self) -> Iterator[str]:
        end_ns = self._start_ns + round(self._plan.measured_seconds * 1e9)
        yield from faults.started_late(self._ready_after_s)
        if self._plan.flows:
            packets = self._folder / "captured.csv"
            yield from faults.lost_by_capture(capture.counts(packets))
            last: dict[int, int] = {}
            for row in _rows(packets):
                port, sent = int(row["port"]), int(row["sent_ns"])
                last[port] = max(sent, last.get(port, sent))
            yield from faults.sent_too_long(
                self._plan, {port: (sent - self._start_ns) / 1e9 for port, sent in last.items()}
            )
        if self._flows:
            times, counts = read_samples(self._folder / "received.csv")
            yield from faults.lost_by_receivers(
                counted_between(times, counts[LOST], self._start_ns, end_ns), "goodput is"
            )
            yield from faults.without_samples(times, self._start_ns, end_ns)
        for load in self._loads.values():
            yield from faults.lost_by_receivers(load.lost(), "shares are")
        yield from self._torrents.faults()
        yield from faults.of_calls(
            (
                (call.name, irtt.load(self._call_file(call)).between(self._start_ns, end_ns))
                for call in self._plan.calls
            ),
            self._plan.measured_seconds,
        )

    def _call_file(self, call: PlannedCall) -> Path:
        return self._folder / f"irtt-{call.name}.json"

    def _seconds(self, wall_ns: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return (np.array(wall_ns, dtype=np.int64) - self._start_ns) / 1e9

    def _captured(self) -> dict[str, Packets]:
        by_port = {planned.flow.port: planned for planned in self._plan.flows}
        found: dict[str, tuple[list[int], list[float]]] = {
            planned.group: ([], []) for planned in self._plan.flows
        }
        for row in _rows(self._folder / "captured.csv") if self._plan.flows else ():
            planned = by_port[int(row["port"])]
            sent, delays = found[planned.group]
            sent.append(int(row["sent_ns"]))
            delay = row["delay_ns"]
            delays.append(int(delay) / 1e6 - planned.propagation_ms if delay else np.nan)
        return {
            group: Packets(self._seconds(sent), np.array(delays, dtype=np.float64))
            for group, (sent, delays) in found.items()
        }

    def _called(self) -> dict[str, Packets]:
        found: dict[str, list[Packets]] = {call.group: [] for call in self._plan.calls}
        for call in self._plan.calls:
            probes = irtt.load(self._call_file(call))
            found[call.group].append(packets_of_call(probes, self._start_ns, call.propagation_ms))
        return {group: Packets.together(parts) for group, parts in found.items()}

    def _completed(self) -> dict[str, Packets]:
        groups = {p.flow.name: p for p in self._flows if p.flow.kind == "messages"}
        found: dict[str, tuple[list[int], list[float]]] = {
            planned.group: ([], []) for planned in groups.values()
        }
        for row in _rows(self._folder / "received-messages.csv") if groups else ():
            planned = groups[row["flow"]]
            sent, delays = found[planned.group]
            sent.append(int(row["sent_ns"]))
            delays.append(float(row["latency_ms"]) - planned.propagation_ms)
        return {
            group: Packets(self._seconds(sent), np.array(delays, dtype=np.float64))
            for group, (sent, delays) in found.items()
        }

    def _retransmitted(self) -> dict[str, dict[str, int]]:
        if not self._flows:
            return {}
        counts = flows.read_retransmitted(self._retransmitted_file)
        groups: dict[str, dict[str, int]] = {}
        for planned in self._flows:
            if planned.flow.retransmits:
                name = planned.flow.name
                if name not in counts:
                    raise TestbedError(
                        f"{self._retransmitted_file}: does not tell of {name}; sender.log beside "
                        "it may say why"
                    )
                groups.setdefault(planned.group, {})[name] = counts[name]
        return groups

    def _received(self) -> dict[str, Received]:
        if not self._flows:
            return {}
        times, counts = read_samples(self._folder / "received.csv")
        time_s = (times - self._start_ns) / 1e9
        groups: dict[str, dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]] = {}
        for planned in self._flows:
            name = planned.flow.name
            groups.setdefault(planned.group, {})[name] = counts[name].astype(np.float64)
        return {group: Received(time_s, flows) for group, flows in groups.items()}


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="") as file:
            # The last line may have been cut when its program was ended, also within a number.
            whole = (line for line in file if line.endswith("\n"))
            return [row for row in csv.DictReader(whole) if None not in row.values()]
    except FileNotFoundError:
        raise TestbedError(f"{path}: is missing; the log beside it may say why") from None
