# SPDX-License-Identifier: Apache-2.0
"""Makes the status: what the controller knows, and what the devices count."""

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Final

from docsis_control.controller import Controller
from docsis_control.device_controller import DeviceController, Observed
from docsis_control.law.docsis_pie import Status as AqmStatus
from docsis_control.plan import Deployment, ServiceFlow
from docsis_control.recording import Distribution
from docsis_control.state.counters import ClassifierEntry, Count
from docsis_control.status import model
from docsis_control.status.directory import FlowPlace, modems

_STATES: Final[Mapping[int, model.AqmState]] = {
    AqmStatus.INACTIVE: "INACTIVE",
    AqmStatus.QUIESCENT: "QUIESCENT",
    AqmStatus.ACTIVE: "ACTIVE",
}

_Seen = Observed | None


class Collector:
    """Makes the status of a controller, each time from what its devices say then."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._started = time.monotonic()

    async def status(self) -> model.Status:
        """The status now; a device that does not answer is shown as such.

        Raises:
            P4RuntimeError: A device refused to tell its counters.
        """
        devices = self._controller.devices
        # Before the readings: a flow of a change in between is shown the next time.
        deployment = self._controller.deployment
        answers = await asyncio.gather(*(device.observe() for device in devices.values()))
        seen: dict[str, _Seen] = dict(zip(devices, answers, strict=True))
        # Beside the control loop, which cannot wait for hundreds of service flows.
        return await asyncio.to_thread(self._status, deployment, seen)

    def _status(self, deployment: Deployment, seen: Mapping[str, _Seen]) -> model.Status:
        devices = self._controller.devices
        return model.Status(
            schema_version=model.SCHEMA_VERSION,
            time_unix_s=time.time(),
            pid=os.getpid(),
            uptime_s=time.monotonic() - self._started,
            topology=deployment.topology.name,
            tier=deployment.topology.services,
            aqm=deployment.aqm.value,
            modems=tuple(
                model.Modem(
                    name=modem.name,
                    service_flows=tuple(
                        _service_flow(place, seen[place.device]) for place in modem.service_flows
                    ),
                )
                for modem in modems(deployment)
            ),
            devices=tuple(_device(device, seen[name]) for name, device in devices.items()),
        )


def _service_flow(place: FlowPlace, seen: _Seen) -> model.ServiceFlow:
    flow = place.flow
    counters = queue = aqm = classifiers = None
    # One that a change has just added, set or deleted has no readings of its own yet.
    if seen is not None and flow in seen.flows:
        counted, observed = seen.counters, seen.queues
        column = seen.flows.index(flow)
        counters = _counters(counted.flows[flow.index])
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
        classifiers = tuple(
            _classifier(entry) for entry in counted.classifiers if entry.service_flow == flow.index
        )
    return model.ServiceFlow(
        sfid=flow.sfid,
        name=place.name,
        direction=flow.direction,
        primary=flow.primary,
        device=place.device,
        index=flow.index,
        provisioned=_provisioned(flow),
        counters=counters,
        queue=queue,
        aqm=aqm,
        classifiers=classifiers,
    )


def _provisioned(flow: ServiceFlow) -> model.Provisioned:
    return model.Provisioned(
        maximum_sustained_traffic_rate_bps=flow.max_sustained_rate,
        peak_traffic_rate_bps=flow.peak_rate,
        maximum_traffic_burst_bytes=flow.max_burst,
        buffer_bytes=flow.buffer_size,
        aqm_enabled=flow.aqm_enabled,
        latency_target_ms=flow.latency_target_us / 1e3,
    )


def _traffic(count: Count) -> model.Traffic:
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


def _classifier(entry: ClassifierEntry) -> model.Classifier:
    return model.Classifier(
        priority=entry.priority,
        match=dict(entry.match),
        matched=None if entry.matched is None else _traffic(entry.matched),
    )


def _device(device: DeviceController, seen: _Seen) -> model.Device:
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
        without_service_flow=None if seen is None else _counters(seen.counters.flows[0]),
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
