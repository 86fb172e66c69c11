# SPDX-License-Identifier: Apache-2.0
"""Makes the status: what the controller knows, and what the devices count."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from docsis_control.controller import Controller
from docsis_control.device_controller import UPSTREAM_CHANNELS, DeviceController, Observed
from docsis_control.law.docsis_pie import Status as AqmStatus
from docsis_control.local_socket import own_pid
from docsis_control.mac.channel_state import channels_from
from docsis_control.p4rt.errors import ConnectionLost, understanding
from docsis_control.plan import Deployment, DevicePlan, Role
from docsis_control.priority import paced
from docsis_control.queue_managers.presets import name_of
from docsis_control.recording import Distribution
from docsis_control.state.counters import RESYNCHRONIZED, Count, CounterReadings
from docsis_control.status import model
from docsis_control.status.directory import Directory, FlowPlace, directory
from docsis_control.status.upstream import UpstreamChannel
from docsis_control.tm.lateness import Lateness
from docsis_control.tm.links import Traffic, impaired

_STATES: Final[Mapping[int, model.AqmState]] = {
    AqmStatus.INACTIVE: "INACTIVE",
    AqmStatus.QUIESCENT: "QUIESCENT",
    AqmStatus.ACTIVE: "ACTIVE",
}

_MAPS: Final = 8
"""How many of its last MAPs each upstream channel is asked for; some of them are of time to
come."""

_Seen = Observed | None
_Answers = Sequence[tuple[DeviceController, bytes]]
"""Devices, each with its switch's answer about upstream channels."""
_NOTHING: Final = Count(0, 0)
"""Count of a classifier that no packet can meet, which has no entries."""


class Collector:
    """Makes the status of a controller, each time from what its devices say then."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._started = time.monotonic()
        self._directory: Directory | None = None

    async def status(self) -> model.Status:
        """The status now; a device that does not answer is shown as such.

        Raises:
            P4RuntimeError: A device refused to tell its counters.
        """
        devices = self._controller.devices
        # Before the readings: a flow of a change in between is shown the next time.
        deployment, revision = self._controller.deployment, self._controller.revision
        answers = await asyncio.gather(*(device.observe() for device in devices.values()))
        channels = await self._channels(deployment)
        seen: dict[str, _Seen] = dict(zip(devices, answers, strict=True))
        # Beside the control loop, which cannot wait for hundreds of service flows.
        return await asyncio.to_thread(self._status, deployment, revision, seen, channels)

    async def _channels(self, deployment: Deployment) -> _Answers:
        """Asks the switches for the states of their upstream channels."""
        if not deployment.topology.upstream_channels:
            return []
        devices = self._controller.devices.values()
        modems = [device for device in devices if device.plan.role is Role.CABLE_MODEM]
        answers = await asyncio.gather(*(device.upstream_channels(_MAPS) for device in modems))
        found = zip(modems, answers, strict=True)
        return [(device, answer) for device, answer in found if answer is not None]

    def _status(
        self,
        deployment: Deployment,
        revision: int,
        seen: Mapping[str, _Seen],
        channels: _Answers,
    ) -> model.Status:
        known = self._directory
        if known is None or known.deployment is not deployment:
            # The configuration is looked through once, not each time.
            self._directory = known = directory(deployment)
        devices = self._controller.devices
        columns = {
            name: {flow: column for column, flow in enumerate(answer.flows)}
            for name, answer in seen.items()
            if answer is not None
        }

        def flows(places: Iterable[FlowPlace]) -> tuple[model.ServiceFlow, ...]:
            return tuple(
                _service_flow(
                    place, seen[place.device], columns.get(place.device, {}).get(place.flow)
                )
                for place in paced(places)
            )

        return model.Status(
            schema_version=model.SCHEMA_VERSION,
            time_unix_s=time.time(),
            pid=own_pid(),
            uptime_s=time.monotonic() - self._started,
            revision=revision,
            topology=deployment.topology.name,
            tier=deployment.topology.services,
            aqm=name_of(deployment.upstream),
            channel=_channel(deployment),
            modems=tuple(
                model.Modem(
                    name=modem.name, number=modem.number, service_flows=flows(modem.service_flows)
                )
                for modem in paced(known.modems)
            ),
            devices=tuple(
                _device(device, seen[name], flows(known.others[name]))
                for name, device in devices.items()
            ),
            upstream_channels=_upstream_channels(channels, known),
        )


def _upstream_channels(answers: _Answers, known: Directory) -> tuple[UpstreamChannel, ...]:
    """Returns the channels by number; switches in one process all tell of the same channels.

    Those of a switch whose answer cannot be understood are left out, and its device tells why.
    """
    channels: dict[str, UpstreamChannel] = {}
    for device, answer in answers:
        try:
            with understanding(device.plan.name):
                told = channels_from(answer, known.flow_name)
        except ConnectionLost as error:
            device.tell_unread(UPSTREAM_CHANNELS, str(error))
            continue
        device.tell_unread(UPSTREAM_CHANNELS)
        channels |= {one.name: one for one in told}
    return tuple(sorted(channels.values(), key=lambda channel: channel.number))


def _channel(deployment: Deployment) -> model.Channel | None:
    topology = deployment.topology
    upstream, rates = topology.upstream_rate, topology.channel
    if upstream is None or rates is None:
        return None
    return model.Channel(upstream_bps=upstream, downstream_bps=rates.downstream)


def _service_flow(place: FlowPlace, seen: _Seen, column: int | None) -> model.ServiceFlow:
    flow = place.flow
    counters = delayed = suppressed = resynchronized = queue = aqm = classifiers = None
    # One that a change has just added, set or deleted has no readings of its own yet.
    if seen is not None and column is not None:
        observed = seen.queues
        counters = _counters(seen.counters.flows[flow.index])
        resynchronized = seen.counters.flows[flow.index][RESYNCHRONIZED].packets
        counted = seen.traffic.get((flow.port, flow.index))
        if counted is not None:
            delayed = _told(counted.delayed)
            suppressed = _told(counted.suppressed)
        queue = model.Queue(
            backlog_bytes=int(observed.backlog[column]),
            delay_ms=float(observed.qdelay[column]) * 1e3,
            msr_tokens_bytes=float(observed.msr_tokens[column]),
        )
        if flow.controlled:
            aqm = model.Aqm(
                state=_STATES[int(observed.state.status[column])],
                drop_prob=float(observed.state.drop_prob[column]),
                burst_allowance_ms=float(observed.state.burst_allowance[column]) / 1e3,
            )
        classifiers = tuple(_classifiers(place, seen.counters))
    return model.ServiceFlow(
        sfid=flow.sfid,
        service_flow_reference=flow.reference,
        class_name=flow.class_name,
        name=place.name,
        direction=flow.direction,
        primary=flow.primary,
        device=place.device,
        index=flow.index,
        provisioned=place.parameters,
        counters=counters,
        delayed=delayed,
        suppressed=suppressed,
        resynchronized=resynchronized,
        queue=queue,
        aqm=aqm,
        classifiers=classifiers,
    )


def _told(counted: Traffic | None) -> model.Traffic | None:
    if counted is None:
        return None
    return model.Traffic(packets=counted.frames, octets=counted.bytes)


def _classifiers(place: FlowPlace, counted: CounterReadings) -> Iterator[model.Classifier]:
    modem = place.flow.modem
    for known in place.classifiers:
        classifier = known.classifier
        matched = counted.classifiers.get((modem, known.priority), _NOTHING)
        yield model.Classifier(
            reference=classifier.reference,
            rule_priority=classifier.rule_priority,
            active=classifier.active,
            match=dict(known.match),
            matched=_traffic(matched) if classifier.active and matched is not None else None,
        )
    if place.flow.primary:
        rest = counted.primary.get(modem)
        yield model.Classifier(
            reference=None,
            rule_priority=None,
            active=True,
            match={},
            matched=None if rest is None else _traffic(rest),
        )


_NO_TRAFFIC: Final = model.Traffic(packets=0, octets=0)


def _traffic(count: Count) -> model.Traffic:
    # Most counters of most service flows; each would be made and checked again.
    if not count.packets and not count.octets:
        return _NO_TRAFFIC
    return model.Traffic(packets=count.packets, octets=count.octets)


def _counters(counts: Mapping[str, Count]) -> model.Counters:
    traffic = {name: _traffic(count) for name, count in counts.items()}
    return model.Counters(
        received=traffic["sf_received"],
        forwarded=traffic["sf_forwarded"],
        flooded=traffic["sf_flooded"],
        dropped_aqm=traffic["sf_drop_aqm"],
        dropped_buffer_full=traffic["sf_drop_buffer_full"],
        dropped_policed=traffic["sf_drop_policed"],
        dropped_no_classifier=traffic["sf_drop_no_classifier"],
        dropped_malformed=traffic["sf_drop_malformed"],
        dropped_unroutable=traffic["sf_drop_unroutable"],
        controller_silent=traffic["sf_controller_silent"],
    )


def _device(
    device: DeviceController, seen: _Seen, service_flows: tuple[model.ServiceFlow, ...]
) -> model.Device:
    plan, record = device.plan, device.record
    return model.Device(
        name=plan.name,
        role=plan.role.value,
        device_id=plan.device_id,
        address=device.address,
        connected=seen is not None,
        reconnects=record.reconnects,
        state_access=record.access,
        traffic_manager=record.traffic_manager,
        loop=_loop(device) if device.looped else None,
        lateness=None if seen is None or seen.lateness is None else _lateness(seen.lateness),
        links=tuple(_links(plan, seen)),
        service_flows=service_flows,
        without_service_flow=None if seen is None else _counters(seen.counters.flows[0]),
    )


def _links(plan: DevicePlan, seen: _Seen) -> Iterator[model.Link]:
    for name, port in impaired(plan):
        counted = None if seen is None else seen.links.get(port.port)
        yield model.Link(
            name=name,
            port=port.port,
            loss_ppm=port.loss_ppm,
            jitter_ms=port.jitter_ns / 1e6,
            lost_from_host=_told(None if counted is None else counted.receive_lost),
            lost_to_host=_told(None if counted is None else counted.transmit_lost),
        )


def _lateness(late: Lateness) -> model.Lateness:
    return model.Lateness(
        events=late.events,
        p50_ms=late.quantile_ns(0.5) / 1e6,
        p99_ms=late.quantile_ns(0.99) / 1e6,
        max_ms=late.most_ns / 1e6,
        bound_ms=late.bound_ns / 1e6,
        jumps=late.jumps,
        jumped_ms=late.jumped_ns / 1e6,
    )


def _loop(device: DeviceController) -> model.Loop:
    lateness, cycle = device.record.recent()
    return model.Loop(
        cycles=device.record.updates,
        missed=device.record.missed,
        lateness_ms=_quantiles(lateness),
        cycle_ms=_quantiles(cycle),
    )


def _quantiles(times: Distribution) -> model.Quantiles:
    return model.Quantiles(p50=times.p50, p99=times.p99, max=times.max)
