# SPDX-License-Identifier: Apache-2.0
"""From a scenario and its topology to flows between hosts, programs and their times. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import cycle, islice, repeat
from typing import Any, Final

from docsis_control.config.models import DEFAULT_LATENCY_TARGET, KeyedError
from docsis_control.config.units import BufferLimit
from docsis_control.lengths import frame_length
from docsis_control.modem_config.provisioned import Direction, ServiceFlow
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.models import Topology
from docsis_control.topology.services import configuration_of, service_of
from docsis_experiments.experiment.askers import PlannedAsker, user_and_server
from docsis_experiments.experiment.ends import hosts_of, servers_of
from docsis_experiments.experiment.models import Run, Scenario
from docsis_experiments.experiment.requests import PlannedRequests
from docsis_experiments.experiment.sending import reply_delay, sending
from docsis_experiments.experiment.videos import FIRST_VIDEO_PORT, PlannedVideo, viewer_and_server
from docsis_experiments.experiment.web_users import PlannedPages, origins_of, user_of
from docsis_experiments.stages.mininet.traffic.capture import sampling
from docsis_experiments.stages.mininet.traffic.flows import (
    FIRST_PORT,
    FIRST_SOURCE_PORT,
    Flow,
)
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import (
    AdaptiveVideo,
    Sent,
    ServiceFlowStreams,
    TcpDownloads,
    TimedPages,
    UdpCall,
    UdpRequests,
    UdpTrains,
    WebPages,
)
from docsis_experiments.traffic.service_flow_load import LoadPlan, plan_load
from docsis_testbed.errors import TestbedError

TAIL_SECONDS: Final = 3.0
"""Traffic goes on this long after the measured time: what was sent in it can arrive."""

FIRST_CALL_PORT: Final = 19_003
"""UDP port of the first call's client. With the hash of the flow queues' presets a call from the
first host to the first server, at the ports of the shipped scenarios, shares its queue with no
upload of voip-latency.yaml; 19001 and 19002 would."""

_FRAME: Final = frame_length(1514)
"""Length of a full TCP segment's frame, to the end of the CRC."""


@dataclass(frozen=True)
class Planned:
    """A flow between hosts.

    Attributes:
        group: Group of the traffic.
        flow: What is sent; process ids are 0 until the hosts exist.
        source, destination: Names of the hosts.
        propagation_ms: What the topology adds on its way.
        start_spread: How many seconds later than planned it begins at the most, as a run's seed
            draws: see `experiment.draws`.
        reply_delay: From and to how many seconds longer what comes back to it is on its way than
            the topology says, as the seed draws; once that has drawn, both are the same.
    """

    group: str
    flow: Flow
    source: str
    destination: str
    propagation_ms: float
    start_spread: float = 0.0
    reply_delay: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class PlannedCall:
    """A session of irtt between hosts.

    Attributes:
        group: Group of the traffic.
        name: For files.
        source, destination: Names of the hosts.
        port: UDP port of the client.
        propagation_ms: What the topology adds on its way.
        start: When its first frame leaves, in seconds; in Mininet irtt decides.
    """

    group: str
    name: str
    source: str
    destination: str
    port: int
    propagation_ms: float
    start: float = 0.0


@dataclass(frozen=True)
class Plan:
    """The plan of every run of a scenario.

    Attributes:
        flows: Sent by our own programs.
        calls: Sent by irtt.
        ramp_up_seconds: Before the measured time, with all traffic.
        measured_seconds: What the results are about.
        one_in: One of this many packets is looked at.
        idle_seconds: Before the ramp-up, with calls and requests alone.
        loads: Loads of all service flows, by group.
        users: Users of the web.
        videos: Those who watch one.
        requests: In turn, over UDP.
        askers: Users who ask a server, in virtual time alone.
    """

    flows: tuple[Planned, ...]
    calls: tuple[PlannedCall, ...]
    ramp_up_seconds: float
    measured_seconds: float
    one_in: int
    idle_seconds: float = 0.0
    loads: Mapping[str, LoadPlan] = field(default_factory=dict)
    users: tuple[PlannedPages, ...] = ()
    videos: tuple[PlannedVideo, ...] = ()
    requests: tuple[PlannedRequests, ...] = ()
    askers: tuple[PlannedAsker, ...] = ()

    def document(self) -> dict[str, Any]:
        """For a run's details."""
        loads = {group: load.document() for group, load in self.loads.items()}
        return {**asdict(replace(self, loads={})), "loads": loads}

    @property
    def measured_from(self) -> float:
        """When the measured time begins, in seconds of the run."""
        return self.idle_seconds + self.ramp_up_seconds

    @property
    def seconds(self) -> float:
        """The time that a run's traffic takes."""
        return self.measured_from + self.measured_seconds + TAIL_SECONDS


def service_flow(topology: Topology, direction: Direction) -> ServiceFlow:
    """The first modem's primary service flow of a direction, which scenarios load.

    Where downstream service flows share a queue it has what that has: the channel's rate, and no
    other.
    """
    modem = topology.modems[0]
    service = service_of(topology, modem, configuration_of(topology, modem))
    flow = next(flow for flow in service.service_flows if flow.direction == direction)
    if direction == "upstream" or not topology.shares_downstream:
        return flow
    return replace(
        flow,
        max_sustained_rate=None,
        peak_rate=None,
        buffer_size=topology.shared_buffer,
        latency_target=DEFAULT_LATENCY_TARGET,
    )


def sustained_rate(topology: Topology, direction: Direction) -> int:
    """bit/s that the service flow has for good: its own rate, or else the channel's."""
    flow = service_flow(topology, direction)
    if flow.max_sustained_rate:
        return flow.max_sustained_rate
    rate = topology.channel_rate(direction, topology.modems[0].name)
    assert rate is not None, "checked with the topology"
    return rate


def buffer_bytes(run: Run, topology: Topology, direction: Direction) -> int:
    """Bytes of a run's buffer."""
    limit: BufferLimit | None = run.managed.management.buffer
    if limit is None:
        return service_flow(topology, direction).buffer_size
    return limit.bytes_at(sustained_rate(topology, direction))


def load_of(streams: ServiceFlowStreams, topology: Topology, direction: Direction) -> LoadPlan:
    """Plans the traffic into the service flows of a direction.

    Raises:
        TestbedError: It reaches none, or the topology cannot be deployed.
    """
    try:
        # Which queue manager runs changes neither shares nor headers.
        deployment = deploy(topology, Preset.DROP_TAIL)
    except KeyedError as error:
        raise TestbedError(f"topology {topology.name}: {error.key}: {error}") from None
    return plan_load(deployment, direction, tcp=streams.tcp, frame_bytes=streams.frame)


def plan_for(scenario: Scenario, topology: Topology) -> Plan:
    """The flows of a scenario, hosts and servers in turns, and its times.

    Raises:
        TestbedError: There is traffic for all service flows, and it reaches none.
    """
    round_trips = {server.name: server.round_trip_time / 1e6 for server in topology.servers}
    addresses = {node.name: str(node.ip.ip) for node in topology.nodes}
    flows: list[Planned] = []
    calls: list[PlannedCall] = []
    users: list[PlannedPages] = []
    videos: list[PlannedVideo] = []
    requests: list[PlannedRequests] = []
    askers: list[PlannedAsker] = []
    loads: dict[str, LoadPlan] = {}
    offered, elastic = 0.0, False
    for group in scenario.traffic:
        pairs = _pairs(group, scenario, topology)
        for number, name, sent in group.flows():
            if isinstance(sent.sender, ServiceFlowStreams):
                loads[group.name] = load_of(sent.sender, topology, scenario.direction)
                continue
            source, destination = pair = pairs[number]
            # The propagation delay is on what comes from a server.
            propagation = round_trips.get(source, 0.0)
            if isinstance(sent.sender, UdpCall):
                port = FIRST_CALL_PORT + len(calls)
                calls.append(PlannedCall(group.name, name, source, destination, port, propagation))
                continue
            start, end = _times(group, sent, scenario)
            spread = (group.start_spread or 0) / 1e9
            if isinstance(sent.sender, UdpRequests):
                requests.append(
                    PlannedRequests(
                        group=group.name,
                        name=name,
                        source=source,
                        destination=destination,
                        number=len(requests),
                        requests=sent.sender,
                        idle=scenario.idle / 1e9,
                        start=start,
                        end=end,
                        start_spread=spread,
                    )
                )
                continue
            if isinstance(sent.sender, WebPages):
                control = sent.sender.congestion_control or scenario.tcp.usual_congestion_control
                users.append(
                    PlannedPages(
                        group=group.name,
                        name=name,
                        user=user_of(group, number, topology),
                        servers=origins_of(group, sent.sender, topology, control, users),
                        start=start,
                        end=end,
                        pages=sent.sender,
                        congestion_control=control,
                        start_spread=spread,
                    )
                )
                continue
            if isinstance(sent.sender, AdaptiveVideo):
                viewer, server = viewer_and_server(group, number, topology)
                videos.append(
                    PlannedVideo(
                        group=group.name,
                        name=name,
                        viewer=viewer,
                        server=server,
                        port=FIRST_VIDEO_PORT + len(videos),
                        start=start,
                        end=end,
                        video=sent.sender,
                        congestion_control=sent.sender.congestion_control
                        or scenario.tcp.usual_congestion_control,
                        start_spread=spread,
                    )
                )
                continue
            if isinstance(sent.sender, TimedPages | TcpDownloads):
                user, server, port = user_and_server(group, number, sent.sender, topology)
                askers.append(
                    PlannedAsker(
                        group=group.name,
                        name=name,
                        user=user,
                        server=server,
                        port=port,
                        start=start,
                        end=end,
                        asks=sent.sender,
                        congestion_control=scenario.tcp.usual_congestion_control,
                        start_spread=spread,
                    )
                )
                continue
            port = FIRST_PORT + len(flows)
            flow = Flow(
                name=name,
                port=port,
                source=addresses[source],
                destination=addresses[destination],
                source_pid=0,
                destination_pid=0,
                start=start,
                end=end,
                source_port=FIRST_SOURCE_PORT + port - FIRST_PORT,
                **sending(sent.sender, scenario.tcp),
            )
            delay = reply_delay(sent.sender, max(map(round_trips.get, pair, repeat(0.0))))
            flows.append(Planned(group.name, flow, source, destination, propagation, spread, delay))
            if isinstance(sent.sender, UdpTrains):
                offered += sent.sender.packets_a_second
            else:
                elastic = True
    # Whatever the queue gives is taken by what has no rate of its own.
    rate = fastest_rate(topology, scenario.direction) if elastic else 0
    return Plan(
        flows=tuple(flows),
        calls=tuple(calls),
        ramp_up_seconds=scenario.ramp_up_seconds,
        measured_seconds=scenario.measured / 1e9,
        one_in=1 if scenario.every_packet else sampling(rate / 8 / _FRAME + offered),
        idle_seconds=scenario.idle / 1e9,
        loads=loads,
        users=tuple(users),
        videos=tuple(videos),
        requests=tuple(requests),
        askers=tuple(askers),
    )


def _pairs(group: Group, scenario: Scenario, topology: Topology) -> list[tuple[str, str]]:
    """Sending and receiving host of each flow."""
    pairs = zip(cycle(hosts_of(group, topology)), cycle(servers_of(group, topology)), strict=False)
    turns = list(islice(pairs, group.count))
    return turns if scenario.direction == "upstream" else [(s, h) for h, s in turns]


def _times(group: Group, sent: Sent, scenario: Scenario) -> tuple[float, float | None]:
    """When a flow begins and ends, in seconds of the run."""
    idle = scenario.idle / 1e9
    measured_from = idle + scenario.ramp_up_seconds
    start = idle if group.start is None else measured_from + group.start / 1e9
    return start + sent.delay, None if group.end is None else measured_from + group.end / 1e9


def fastest_rate(topology: Topology, direction: Direction) -> int:
    """bit/s that the service flow ever has."""
    flow = service_flow(topology, direction)
    return flow.peak_rate or sustained_rate(topology, direction)
