# SPDX-License-Identifier: Apache-2.0
"""Metrics of a status, by Prometheus' conventions: base units, in the names.

Pure. A value that is not known, because a device does not answer, is left out:
a gap in a graph, not a zero.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric

from docsis_control.metrics.upstream import upstream_families
from docsis_control.priority import paced
from docsis_control.status.model import (
    AqmState,
    Channel,
    Counters,
    Device,
    Lateness,
    Quantiles,
    ServiceFlow,
    Status,
    Traffic,
)

_FLOW: Final = ("modem", "sfid", "reference", "direction")
"""The modem is "" for the CMTS's group flow; the reference is the Service Flow Reference."""
_DEVICE: Final = ("device",)

_DROP_REASONS: Final = (
    "aqm",
    "buffer_full",
    "policed",
    "no_classifier",
    "malformed",
    "unroutable",
)
"""`Counters` has a field dropped_REASON for each."""


class _Traffic:
    """A counter of packets and one of bytes."""

    def __init__(self, name: str, what: str, labels: tuple[str, ...]) -> None:
        self.packets = CounterMetricFamily(f"{name}_packets", f"Frames {what}.", labels=labels)
        self.bytes = CounterMetricFamily(
            f"{name}_bytes", f"Bytes of frames {what}, with their FCS.", labels=labels
        )

    def add(self, labels: tuple[str, ...], traffic: Traffic) -> None:
        self.packets.add_metric(labels, traffic.packets)
        self.bytes.add_metric(labels, traffic.octets)

    def families(self) -> Iterator[Metric]:
        yield self.packets
        yield self.bytes


def families(status: Status) -> Iterator[Metric]:
    """All metrics of a status; each family is there even when it has no sample."""
    info = InfoMetricFamily(
        "docsis_controller", "The deployment: topology, service tier and queue manager."
    )
    info.add_metric((), {"topology": status.topology, "tier": status.tier, "aqm": status.aqm})
    yield info
    yield GaugeMetricFamily(
        "docsis_controller_start_time_seconds",
        "Start of the controller, seconds since 1970.",
        value=status.time_unix_s - status.uptime_s,
    )
    flows = [
        (_labels(modem.name, flow), flow) for modem in status.modems for flow in modem.service_flows
    ]
    flows += [
        (_labels("", flow), flow) for device in status.devices for flow in device.service_flows
    ]
    yield _channel(status.channel)
    yield from _provisioned(flows)
    yield from _counted(flows)
    yield from _queues(flows)
    yield from _classifiers(flows)
    yield from _devices(status.devices)
    yield from _links(status.devices)
    yield from _lateness(status.devices)
    yield from _loops(status.devices)
    yield from upstream_families(status.upstream_channels)


def _labels(modem: str, flow: ServiceFlow) -> tuple[str, ...]:
    return modem, str(flow.sfid), str(flow.service_flow_reference), flow.direction


def _channel(channel: Channel | None) -> Metric:
    rate = GaugeMetricFamily(
        "docsis_channel_rate_bytes_per_second",
        "Rate that the modems share, bytes per second.",
        labels=("direction",),
    )
    if channel is not None:
        rate.add_metric(("upstream",), channel.upstream_bps / 8)
        rate.add_metric(("downstream",), channel.downstream_bps / 8)
    return rate


_Flows = Sequence[tuple[tuple[str, ...], ServiceFlow]]


def _provisioned(flows: _Flows) -> Iterator[Metric]:
    info = InfoMetricFamily(
        "docsis_service_flow", "Names and place of a service flow.", labels=_FLOW
    )
    sustained = _flow_gauge(
        "max_sustained_rate_bytes_per_second",
        "Maximum Sustained Traffic Rate, bytes per second; none where there is no limit.",
    )
    peak = _flow_gauge(
        "peak_rate_bytes_per_second",
        "Peak Traffic Rate, bytes per second; none where there is no limit.",
    )
    reserved = _flow_gauge(
        "min_reserved_rate_bytes_per_second",
        "Minimum Reserved Traffic Rate, bytes per second; 0 for none.",
    )
    priority = _flow_gauge("traffic_priority", "Traffic Priority, 7 first.")
    burst = _flow_gauge("max_burst_bytes", "Maximum Traffic Burst.")
    buffer = _flow_gauge("buffer_bytes", "Limit of the queue.")
    target = _flow_gauge(
        "aqm_latency_target_seconds",
        "AQM latency target; none where the queue manager has none.",
    )
    for labels, flow in paced(flows):
        given = flow.provisioned
        info.add_metric(
            labels,
            {
                "name": flow.name,
                "class_name": flow.class_name,
                "device": flow.device,
                "index": str(flow.index),
            },
        )
        if given.maximum_sustained_traffic_rate_bps is not None:
            sustained.add_metric(labels, given.maximum_sustained_traffic_rate_bps / 8)
        if given.peak_traffic_rate_bps is not None:
            peak.add_metric(labels, given.peak_traffic_rate_bps / 8)
        reserved.add_metric(labels, given.minimum_reserved_traffic_rate_bps / 8)
        priority.add_metric(labels, given.traffic_priority)
        burst.add_metric(labels, given.maximum_traffic_burst_bytes)
        buffer.add_metric(labels, given.buffer_bytes)
        if given.latency_target_ms is not None:
            target.add_metric(labels, given.latency_target_ms / 1e3)
    yield from (info, sustained, peak, reserved, priority, burst, buffer, target)


def _counted(flows: _Flows) -> Iterator[Metric]:
    prefix = "docsis_service_flow"
    received = _Traffic(f"{prefix}_received", "classified into the service flow", _FLOW)
    forwarded = _Traffic(f"{prefix}_forwarded", "that left the queue", _FLOW)
    dropped = _Traffic(f"{prefix}_dropped", "dropped, by reason", (*_FLOW, "reason"))
    silent = _Traffic(
        f"{prefix}_controller_silent",
        "spared from early drops because the controller was silent",
        _FLOW,
    )
    delayed = _Traffic(
        f"{prefix}_delayed", "that the service flow's rates made wait, of those forwarded", _FLOW
    )
    suppressed = _Traffic(
        f"{prefix}_suppressed", "that are TCP acknowledgements which later ones replaced", _FLOW
    )
    resynchronized = CounterMetricFamily(
        f"{prefix}_resynchronized",
        "Corrections of the backlog after frames were lost between ingress and egress.",
        labels=_FLOW,
    )
    for labels, flow in paced(flows):
        if flow.delayed is not None:
            delayed.add(labels, flow.delayed)
        if flow.suppressed is not None:
            suppressed.add(labels, flow.suppressed)
        if flow.resynchronized is not None:
            resynchronized.add_metric(labels, flow.resynchronized)
        if flow.counters is not None:
            received.add(labels, flow.counters.received)
            forwarded.add(labels, flow.counters.forwarded)
            silent.add(labels, flow.counters.controller_silent)
            for reason, traffic in _drops(flow.counters).items():
                dropped.add((*labels, reason), traffic)
    for family in (received, forwarded, dropped, silent, delayed, suppressed):
        yield from family.families()
    yield resynchronized


def _queues(flows: _Flows) -> Iterator[Metric]:
    backlog = _flow_gauge("queue_bytes", "Bytes queued.")
    delay = _flow_gauge("queue_delay_seconds", "Wait of a frame that comes now.")
    tokens = _flow_gauge(
        "msr_tokens_bytes", "Tokens of the Maximum Sustained Traffic Rate's bucket."
    )
    prob = _flow_gauge(
        "aqm_drop_prob", "drop_prob_ of DOCSIS-PIE (from 0 to 13.6) or PIE; Adaptive RED's maxp."
    )
    allowance = _flow_gauge("aqm_burst_allowance_seconds", "Burst allowance that is left.")
    state = GaugeMetricFamily(
        "docsis_service_flow_aqm_state", "1 for the state in force.", labels=(*_FLOW, "state")
    )
    for labels, flow in paced(flows):
        if flow.queue is not None:
            backlog.add_metric(labels, flow.queue.backlog_bytes)
            delay.add_metric(labels, flow.queue.delay_ms / 1e3)
            tokens.add_metric(labels, flow.queue.msr_tokens_bytes)
        if flow.aqm is not None:
            prob.add_metric(labels, flow.aqm.drop_prob)
            allowance.add_metric(labels, flow.aqm.burst_allowance_ms / 1e3)
            for name in get_args(AqmState):
                state.add_metric((*labels, name), int(flow.aqm.state == name))
    yield from (backlog, delay, tokens, prob, allowance, state)


def _classifiers(flows: _Flows) -> Iterator[Metric]:
    matched = _Traffic(
        "docsis_classifier_matched",
        "that a classifier took",
        (*_FLOW, "classifier", "priority", "match"),
    )
    for labels, flow in paced(flows):
        for classifier in flow.classifiers or ():
            if classifier.matched is not None:
                reference, priority = classifier.reference, classifier.rule_priority
                rule = (
                    "" if reference is None else str(reference),
                    "" if priority is None else str(priority),
                    " ".join(f"{key}={value}" for key, value in classifier.match.items()),
                )
                matched.add((*labels, *rule), classifier.matched)
    yield from matched.families()


def _devices(devices: tuple[Device, ...]) -> Iterator[Metric]:
    connected = GaugeMetricFamily(
        "docsis_device_connected", "Whether the device answers.", labels=_DEVICE
    )
    reconnects = CounterMetricFamily(
        "docsis_device_reconnects", "Connections lost and made again.", labels=_DEVICE
    )
    received = _Traffic("docsis_device_without_flow_received", "of no service flow", _DEVICE)
    dropped = _Traffic(
        "docsis_device_without_flow_dropped", "of no service flow dropped", (*_DEVICE, "reason")
    )
    for device in devices:
        labels = (device.name,)
        connected.add_metric(labels, int(device.connected))
        reconnects.add_metric(labels, device.reconnects)
        if device.without_service_flow is not None:
            received.add(labels, device.without_service_flow.received)
            for reason, traffic in _drops(device.without_service_flow).items():
                dropped.add((*labels, reason), traffic)
    yield from (connected, reconnects)
    yield from received.families()
    yield from dropped.families()


def _lateness(devices: tuple[Device, ...]) -> Iterator[Metric]:
    late = GaugeMetricFamily(
        "docsis_device_lateness_seconds",
        "Lateness of the switch's due events, since it was started.",
        labels=(*_DEVICE, "statistic"),
    )
    jumps = CounterMetricFamily(
        "docsis_device_time_jumps",
        "Times that the switch was too late to make up for it.",
        labels=_DEVICE,
    )
    for device in devices:
        if device.lateness is not None:
            labels = (device.name,)
            _add_quantiles(late, labels, device.lateness)
            jumps.add_metric(labels, device.lateness.jumps)
    yield from (late, jumps)


def _links(devices: tuple[Device, ...]) -> Iterator[Metric]:
    lost = _Traffic(
        "docsis_link_lost",
        "lost on the link of a host or server, as the topology asks for",
        (*_DEVICE, "host", "direction"),
    )
    for device in devices:
        for link in device.links:
            ways = {"from_host": link.lost_from_host, "to_host": link.lost_to_host}
            for direction, traffic in ways.items():
                if traffic is not None:
                    lost.add((device.name, link.name, direction), traffic)
    yield from lost.families()


def _loops(devices: tuple[Device, ...]) -> Iterator[Metric]:
    cycles = CounterMetricFamily(
        "docsis_control_loop_cycles", "Updates that the device acknowledged.", labels=_DEVICE
    )
    missed = CounterMetricFamily(
        "docsis_control_loop_missed", "Intervals without an update.", labels=_DEVICE
    )
    lateness = GaugeMetricFamily(
        "docsis_control_loop_lateness_seconds",
        "From an interval's deadline to its update's start, over the last minute.",
        labels=(*_DEVICE, "statistic"),
    )
    cycle = GaugeMetricFamily(
        "docsis_control_loop_cycle_seconds",
        "From the start of an update to its acknowledgement, over the last minute.",
        labels=(*_DEVICE, "statistic"),
    )
    for device in devices:
        if device.loop is not None:
            labels = (device.name,)
            cycles.add_metric(labels, device.loop.cycles)
            missed.add_metric(labels, device.loop.missed)
            _add_quantiles(lateness, labels, device.loop.lateness_ms)
            _add_quantiles(cycle, labels, device.loop.cycle_ms)
    yield from (cycles, missed, lateness, cycle)


def _flow_gauge(name: str, what: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"docsis_service_flow_{name}", what, labels=_FLOW)


def _drops(counters: Counters) -> Mapping[str, Traffic]:
    return {reason: getattr(counters, f"dropped_{reason}") for reason in _DROP_REASONS}


def _add_quantiles(
    family: GaugeMetricFamily, labels: tuple[str, ...], quantiles: Quantiles | Lateness
) -> None:
    for name in ("p50", "p99", "max"):
        field = f"{name}_ms" if isinstance(quantiles, Lateness) else name
        family.add_metric((*labels, name), getattr(quantiles, field) / 1e3)
