# SPDX-License-Identifier: Apache-2.0
"""A plan's flows as applications of a world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from docsis_experiments.experiment.askers import PlannedAsker
from docsis_experiments.experiment.plan import Plan, Planned, PlannedCall
from docsis_experiments.experiment.requests import PlannedRequests
from docsis_experiments.experiment.shared_rates import client_of, shared_rates
from docsis_experiments.experiment.tcp import Tcp
from docsis_experiments.experiment.videos import PlannedVideo
from docsis_experiments.experiment.web_users import PlannedPages
from docsis_experiments.stages.virtual.play import Play
from docsis_experiments.traffic.senders import (
    CALL_FRAME_BYTES,
    CALL_INTERVAL_MS,
    CALL_PORT,
    AdaptiveVideo,
    LedbatTransfers,
    Pareto,
    ServiceFlowStreams,
    TcpDownloads,
    TcpMessages,
    TcpTransfers,
    TimedPages,
    UdpCall,
    UdpRequests,
    UdpTrains,
    WebPages,
)

SENDERS: Final = (
    TcpTransfers,
    TcpMessages,
    WebPages,
    AdaptiveVideo,
    TimedPages,
    TcpDownloads,
    LedbatTransfers,
    UdpTrains,
    UdpCall,
    UdpRequests,
    ServiceFlowStreams,
)
"""The senders that a world's hosts have."""


_BESIDE: Final = 100
"""Between the ports of requests in the idle time and of those after it."""

LEDBAT_WINDOW: Final = 2
"""Segments of LEDBAT's initial window (INIT_CWND of RFC 6817, 2.5)."""


@dataclass(frozen=True)
class Started:
    """The applications of a plan, by their numbers in the world.

    Requests have one for each of the times in which they are made.
    """

    flows: dict[Planned, int]
    calls: dict[PlannedCall, int]
    users: dict[PlannedPages, int]
    videos: dict[PlannedVideo, int]
    requests: dict[PlannedRequests, tuple[int, ...]]
    askers: dict[PlannedAsker, int]

    @property
    def asking(self) -> list[tuple[PlannedPages | PlannedVideo | PlannedAsker, int]]:
        """All users, whatever they ask for."""
        return [*self.users.items(), *self.videos.items(), *self.askers.items()]

    @property
    def downloads(self) -> list[tuple[PlannedAsker, int]]:
        """Users who download."""
        return [one for one in self.askers.items() if isinstance(one[0].asks, TcpDownloads)]

    @property
    def pages(self) -> list[tuple[PlannedPages | PlannedAsker, int]]:
        """Users who load pages."""
        timed = [one for one in self.askers.items() if isinstance(one[0].asks, TimedPages)]
        return [*self.users.items(), *timed]


def start(play: Play, plan: Plan, tcp: Tcp) -> Started:
    """Have all flows and calls of a plan sent.

    Args:
        play: Provisioned; its time is that of the plan.
        plan: Flows and their times, none left to the seed.
        tcp: How it works.
    """
    limits = {
        client: play.world.rate_limit(rate) for client, rate in shared_rates(plan.flows).items()
    }
    return Started(
        {
            planned: _flow(play, planned, plan.one_in, tcp, limits.get(client_of(planned)))
            for planned in plan.flows
        },
        {call: _call(play, call, plan) for call in plan.calls},
        {user: _user(play, user, tcp) for user in plan.users},
        {video: _video(play, video, tcp) for video in plan.videos},
        {requests: _requests(play, requests) for requests in plan.requests},
        {asker: _asker(play, asker, tcp) for asker in plan.askers},
    )


def _requests(play: Play, planned: PlannedRequests) -> tuple[int, ...]:
    return tuple(
        play.world.udp_requests(
            planned.source,
            planned.destination,
            planned.port,
            frame_length=planned.requests.request,
            reply_length=planned.requests.response,
            timeout_ns=round(planned.requests.timeout * 1e9),
            start_ns=play.at(start),
            stop_ns=None if end is None else play.at(end),
            source_port=planned.asking_port + _BESIDE * number,
        )
        for number, (start, end) in enumerate(planned.times)
    )


def _user(play: Play, planned: PlannedPages, tcp: Tcp) -> int:
    pages = planned.pages
    return play.world.pages(
        planned.user,
        planned.servers,
        page=pages.page,
        html=pages.html,
        objects=pages.objects,
        variation_permille=pages.variation_permille,
        connections=pages.connections,
        pause_ns=round(pages.pause * 1e9),
        request=pages.request,
        start_ns=play.at(planned.start),
        stop_ns=None if planned.end is None else play.at(planned.end),
        congestion=planned.congestion_control,
        **tcp_options(tcp),
    )


def _video(play: Play, planned: PlannedVideo, tcp: Tcp) -> int:
    video = planned.video
    return play.world.video(
        planned.viewer,
        planned.server,
        planned.port,
        ladder=video.ladder,
        segment_ns=video.segment_ns,
        buffer_ns=video.buffer_ns,
        safety_permille=video.safety_permille,
        samples=video.samples,
        request=video.request,
        start_ns=play.at(planned.start),
        stop_ns=None if planned.end is None else play.at(planned.end),
        congestion=planned.congestion_control,
        **tcp_options(tcp),
    )


def _asker(play: Play, planned: PlannedAsker, tcp: Tcp) -> int:
    world, asks = play.world, planned.asks
    options: dict[str, Any] = {
        "request": asks.request,
        "start_ns": play.at(planned.start),
        "stop_ns": None if planned.end is None else play.at(planned.end),
        "congestion": planned.congestion_control,
        **tcp_options(tcp),
    }
    match asks:
        case TimedPages():
            return world.timed_pages(
                planned.user,
                [(planned.server, planned.port)],
                objects=_law(asks.objects),
                gap_ns=_law(asks.gap),
                segments=_law(asks.segments),
                segment_bytes=asks.segment or tcp.payload,
                pause_ns=_law(asks.pause),
                connections=asks.connections,
                **options,
            )
        case TcpDownloads():
            number = world.requests(
                planned.user,
                planned.server,
                planned.port,
                response=asks.size,
                think_ns=asks.idle_ns,
                **options,
            )
            world.record_acknowledgements(number)
            return number


def _law(law: Pareto) -> tuple[int, int]:
    return law.mean, law.shape


def _call(play: Play, call: PlannedCall, plan: Plan) -> int:
    return play.world.probes(
        call.source,
        call.destination,
        CALL_PORT,
        count=round(plan.seconds * 1e3 / CALL_INTERVAL_MS),
        interval_ns=CALL_INTERVAL_MS * 1_000_000,
        frame_length=CALL_FRAME_BYTES,
        start_ns=play.at(call.start),
        source_port=call.port,
    )


def tcp_options(tcp: Tcp) -> dict[str, Any]:
    """How TCP works, as the world takes it."""
    return {
        "profile": tcp.profile,
        "acknowledgements": tcp.acknowledgements,
        "initial_window": tcp.first_window,
        "segment": tcp.payload,
        "least_timeout_ns": tcp.least_timeout,
        "receive_window": tcp.receive_window,
    }


def _flow(play: Play, planned: Planned, one_in: int, tcp: Tcp, limit: int | None) -> int:
    world, flow = play.world, planned.flow
    interval_ns = round(flow.interval * 1e9)
    shared: dict[str, Any] = {
        "start_ns": play.at(flow.start),
        "stop_ns": None if flow.end is None else play.at(flow.end),
        "source_port": flow.source_port,
        "one_in": one_in,
    }
    options = {"congestion": flow.congestion_control, **tcp_options(tcp)}
    source, destination = planned.source, planned.destination
    match flow.kind:
        case "transfer":
            # One without an end has none after it.
            files: dict[str, Any] = (
                {"size": flow.size, "pause_ns": interval_ns} if flow.size else {}
            )
            ledbat: dict[str, Any] = (
                {"ledbat_target_ns": flow.ledbat_target_ns, "initial_window": LEDBAT_WINDOW}
                if flow.ledbat_target_ns
                else {}
            )
            return world.tcp_transfer(
                source,
                destination,
                flow.port,
                kept=flow.kept,
                rate=flow.rate or None,
                shared_limit=limit,
                reply_delay_ns=round(planned.reply_delay[0] * 1e9),
                **shared,
                **options | ledbat,
                **files,
            )
        case "messages":
            return world.messages(
                source,
                destination,
                flow.port,
                size=flow.size,
                interval_ns=interval_ns,
                **shared,
                **options,
            )
        case "datagrams":
            return world.udp_stream(
                source,
                destination,
                flow.port,
                frame_length=flow.size,
                interval_ns=interval_ns,
                train=flow.train,
                **shared,
            )
