# SPDX-License-Identifier: Apache-2.0
"""The directory of service flows and classifiers, with their owners and places, for the views."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from ruamel.yaml.scalarint import HexInt

from docsis_control.classification import entry_priority
from docsis_control.mac.channel_state import FlowName
from docsis_control.modem_config import provisioned
from docsis_control.modem_config.classifiers import Classifier
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.scheduling import Scheduling, SchedulingType
from docsis_control.plan import (
    GROUP_MODEM,
    Deployment,
    DevicePlan,
    ModemPlan,
    ServiceFlow,
)
from docsis_control.priority import paced
from docsis_control.queue_managers.management import QueueManagement, as_written
from docsis_control.status import model

_CONDITIONS: Final = ("ethernet", "ieee_802_1q", "ip", "ipv6")
"""Keys of a classifier in a configuration file that are conditions."""


@lru_cache(maxsize=256)
def _written(management: QueueManagement) -> dict[str, Any]:
    """Shared by the many service flows that have the same; nobody changes it."""
    return as_written(management)


@dataclass(frozen=True)
class ClassifierPlace:
    """A classifier that a modem is configured with.

    Attributes:
        classifier: The classifier itself.
        priority: P4Runtime's, of its entries in the table.
        match: Its conditions by their keys in the configuration file, as `sf add` takes them.
    """

    classifier: provisioned.PacketClassifier
    priority: int
    match: Mapping[str, str]


@dataclass(frozen=True)
class FlowPlace:
    """A service flow and the device that queues it.

    Attributes:
        device: Name of the device.
        flow: The service flow that the device is provisioned with.
        parameters: Its parameters for the status.
        classifiers: Classifiers that select it, in the order in which they are tried.
    """

    device: str
    flow: ServiceFlow
    parameters: model.Provisioned
    classifiers: tuple[ClassifierPlace, ...] = ()

    @property
    def name(self) -> str:
        """Name for people."""
        flow = self.flow
        label = flow.class_name or ("primary" if flow.primary else str(flow.reference))
        if flow.modem == GROUP_MODEM:
            label = "group"
        return f"{label} {flow.direction}"


@dataclass(frozen=True)
class ModemPlace:
    """A modem and its service flows, by SFID."""

    name: str
    number: int
    service_flows: tuple[FlowPlace, ...]


@dataclass(frozen=True)
class Directory:
    """The directory of a deployment.

    Attributes:
        deployment: The deployment that it describes.
        modems: Modems by number, with the CMTS's flows for each as its own.
        others: The service flows that belong to no modem, by name of their device.
    """

    deployment: Deployment
    modems: tuple[ModemPlace, ...]
    others: Mapping[str, tuple[FlowPlace, ...]]

    @cached_property
    def _names(self) -> Mapping[tuple[int, int], FlowName]:
        ids = {plan.name: plan.device_id for plan in self.deployment.devices}
        return {
            (ids[place.device], place.flow.index): FlowName(modem.name, place.flow.sfid, place.name)
            for modem in self.modems
            for place in modem.service_flows
            if place.flow.direction == "upstream"
        }

    def flow_name(self, device_id: int, queue_id: int) -> FlowName | None:
        """The name of an upstream service flow; None where there is none."""
        return self._names.get((device_id, queue_id))


def directory(deployment: Deployment) -> Directory:
    """Makes the directory of a deployment."""
    modems = {modem.number: modem for modem in deployment.modems}
    channels = deployment.topology.channel_of
    places: dict[int, list[FlowPlace]] = {number: [] for number in modems}
    others: dict[str, tuple[FlowPlace, ...]] = {}
    for plan in deployment.devices:
        others[plan.name] = tuple(_without_modem(plan, modems))
        for flow in paced(plan.service_flows):
            if flow.modem in modems:
                modem = modems[flow.modem]
                channel = channels[modem.name].name if channels else None
                places[flow.modem].append(_of_modem(plan.name, flow, modem, channel))
    return Directory(
        deployment,
        tuple(
            ModemPlace(
                modem.name,
                number,
                tuple(sorted(places[number], key=lambda place: place.flow.sfid)),
            )
            for number, modem in modems.items()
        ),
        others,
    )


def _without_modem(plan: DevicePlan, modems: Mapping[int, ModemPlan]) -> Iterator[FlowPlace]:
    for flow in plan.service_flows:
        if flow.modem not in modems:
            yield FlowPlace(plan.name, flow, _parameters(flow, None))


def _of_modem(device: str, flow: ServiceFlow, modem: ModemPlan, channel: str | None) -> FlowPlace:
    service = modem.service
    configured = next(
        entry
        for entry in service.service_flows
        if (entry.direction, entry.reference) == (flow.direction, flow.reference)
    )
    return FlowPlace(
        device,
        flow,
        _parameters(flow, configured, channel),
        tuple(
            ClassifierPlace(
                classifier, entry_priority(classifier), _match(modem.configuration, classifier)
            )
            for classifier in sorted(service.classifiers, key=provisioned.PacketClassifier.order)
            if (classifier.direction, classifier.service_flow) == (flow.direction, flow.reference)
        ),
    )


def _parameters(
    flow: ServiceFlow,
    configured: provisioned.ServiceFlow | None,
    channel: str | None = None,
) -> model.Provisioned:
    scheduling = configured.scheduling if configured else None
    target_us = flow.management.latency_target_of(flow)
    return model.Provisioned(
        traffic_priority=flow.traffic_priority,
        maximum_sustained_traffic_rate_bps=flow.max_sustained_rate or None,
        peak_traffic_rate_bps=flow.peak_rate or None,
        maximum_traffic_burst_bytes=flow.max_burst,
        minimum_reserved_traffic_rate_bps=flow.min_reserved_rate,
        assumed_minimum_reserved_rate_packet_size_bytes=flow.assumed_packet_size,
        tos_and_mask=flow.tos_and,
        tos_or_mask=flow.tos_or,
        buffer_bytes=flow.buffer_size,
        minimum_buffer_bytes=configured.minimum_buffer if configured else None,
        target_buffer_bytes=configured.target_buffer if configured else None,
        maximum_buffer_bytes=configured.maximum_buffer if configured else None,
        aqm_enabled=flow.aqm_enabled,
        queue_manager=flow.queue_manager.label,
        queue_management=_written(flow.management),
        latency_target_ms=None if target_us is None else target_us / 1e3,
        scheduling=None if scheduling is None else _scheduling(scheduling, channel),
        ack_suppression=flow.ack_suppression.value,
        suppresses_acks=flow.suppresses_acks,
    )


def _scheduling(given: Scheduling, channel: str | None) -> model.Scheduling:
    """The scheduling for the status; settings that its service does not use are null."""
    polled, unsolicited = given.type.polled, given.type.unsolicited
    proactive = given.type is SchedulingType.PGS
    return model.Scheduling(
        upstream_channel=channel,
        scheduling_type=given.type.value,
        request_transmission_policy=given.policy,
        nominal_polling_interval_ms=given.polling_interval / 1e6 if polled else None,
        tolerated_poll_jitter_ms=given.poll_jitter / 1e6 if polled else None,
        unsolicited_grant_size_bytes=given.grant_size if unsolicited else None,
        nominal_grant_interval_ms=given.grant_interval / 1e6 if unsolicited else None,
        tolerated_grant_jitter_ms=given.grant_jitter / 1e6 if unsolicited else None,
        grants_per_interval=given.grants_per_interval if unsolicited else None,
        guaranteed_grant_rate_bps=given.guaranteed_grant_rate if proactive else None,
        guaranteed_grant_interval_ms=given.guaranteed_grant_interval / 1e6 if proactive else None,
        guaranteed_request_interval_ms=given.guaranteed_request_interval / 1e6 or None,
        activity_detection_disabled=given.activity_detection_disable,
        absolute_queue_depth_requests=given.absolute_requests,
        maximum_concatenated_burst_bytes=given.max_concatenated_burst,
        backoff_window_multiplier_eighths=given.backoff_eighths,
        bytes_requested_multiplier=given.request_unit,
    )


def _match(
    configuration: ModemConfiguration, classifier: provisioned.PacketClassifier
) -> Mapping[str, str]:
    given: tuple[Classifier, ...] = getattr(configuration, f"{classifier.direction}_classifiers")
    written = next(
        entry
        for entry in given
        if (entry.classifier_reference or entry.classifier_id) == classifier.reference
    )
    conditions = written.model_dump(exclude_unset=True, include=set(_CONDITIONS))
    return dict(_flat(conditions, ""))


def _flat(node: object, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for name, inner in node.items():
            yield from _flat(inner, f"{key}.{name}" if key else str(name))
    elif node is not None:
        yield key, hex(node) if isinstance(node, HexInt) else str(node)
