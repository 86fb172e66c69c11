# SPDX-License-Identifier: Apache-2.0
"""The record of a run before anything is measured: what its plan and its topology say. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from docsis_control.modem_config.provisioned import Direction
from docsis_control.queue_managers.managers.docsis_pie import DocsisPie
from docsis_control.queue_managers.managers.docsis_pie_2014 import DocsisPie2014
from docsis_control.queue_managers.presets import preset_of
from docsis_control.topology.models import Topology
from docsis_control.topology.services import configuration_of, service_of
from docsis_experiments.experiment.always_downstream import always_downstream
from docsis_experiments.experiment.managers import label_of
from docsis_experiments.experiment.models import Run
from docsis_experiments.experiment.plan import Plan, buffer_bytes, service_flow, sustained_rate
from docsis_experiments.measurement.record import Control, RunRecord
from docsis_experiments.measurement.timing import Timing


def begun(run: Run, plan: Plan, topology: Topology, direction: Direction) -> RunRecord:
    """A record in which nothing was sent; a stage replaces what it measured.

    Args:
        run: Its queue manager.
        plan: Times and traffic.
        topology: What is built.
        direction: Which way the traffic goes.
    """
    rate = sustained_rate(topology, direction)
    return RunRecord(
        label=run.label,
        manager=label_of(run.manager),
        preset=preset_of(run.manager),
        management=run.managed.as_written(),
        buffer_ms=8e3 * buffer_bytes(run, topology, direction) / rate,
        seconds=plan.measured_seconds,
        packets={},
        messages={},
        received={},
        steps=(),
        control=Control(),
        counters={},
        controller={},
        timing=Timing({}),
        faults=(),
        calls=frozenset(call.group for call in plan.calls),
        idle=(-plan.measured_from, -plan.ramp_up_seconds) if plan.idle_seconds else None,
        direction=direction,
        always_downstream=always_downstream(plan),
        sustained_mbps=rate / 1e6,
        peak_mbps=(service_flow(topology, direction).peak_rate or rate) / 1e6,
        latency_target_ms=_latency_target_ms(run, topology, direction),
        demands_mbps=dict(_demands(plan, topology, direction)),
    )


def _demands(plan: Plan, topology: Topology, direction: Direction) -> Iterator[tuple[str, float]]:
    """Yields the demands of flows that have a rate of their own, or a service flow that has one.

    Classifiers are not looked at: of a modem with several service flows it is the primary one's.
    """
    caps = {}
    if direction == "downstream" and topology.shares_downstream:
        caps = dict(_caps(topology))
    sharing = Counter(planned.group for planned in plan.flows)
    for planned in plan.flows:
        flow = planned.flow
        own = flow.rate
        if flow.shared_rate:
            # The fair share of a rate that several flows share is an equal part for each of them.
            own = flow.shared_rate // sharing[planned.group]
        elif flow.kind == "datagrams":
            own = round(8 * flow.size * flow.train / flow.interval)
        elif flow.kind == "messages":
            own = round(8 * flow.size / flow.interval)
        rates = [rate for rate in (own, caps.get(planned.destination, 0)) if rate]
        if rates:
            yield flow.name, min(rates) / 1e6
    for video in plan.videos:
        # Whoever watches the highest rate needs no more, but for the filling of the buffer.
        most = video.video.ladder[-1]
        yield video.name, min(most, caps.get(video.viewer, 0) or most) / 1e6


def _caps(topology: Topology) -> Iterator[tuple[str, int]]:
    """The rate of the primary downstream service flow that each host is behind, bit/s; 0: none."""
    for modem in topology.modems:
        service = service_of(topology, modem, configuration_of(topology, modem))
        flow = next(flow for flow in service.service_flows if flow.direction == "downstream")
        for host in modem.hosts:
            yield host.name, flow.max_sustained_rate or 0


def _latency_target_ms(run: Run, topology: Topology, direction: Direction) -> float | None:
    management = run.managed.management
    if not isinstance(management, DocsisPie | DocsisPie2014):
        return None
    target = management.latency_target
    return (service_flow(topology, direction).latency_target if target is None else target) / 1e6
