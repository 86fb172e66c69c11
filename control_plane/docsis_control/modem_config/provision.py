# SPDX-License-Identifier: Apache-2.0
"""Makes a modem's service from its configuration file: service classes and defaults filled in."""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Final

from docsis_control.config.models import (
    DEFAULT_BUFFER,
    DEFAULT_LATENCY_TARGET,
    MAX_FRAME,
    KeyedError,
)
from docsis_control.config.units import BufferLimit
from docsis_control.modem_config.ack_suppression import AckSuppression
from docsis_control.modem_config.classifiers import ByteRange, Classifier, Ip, Ipv6Header
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.fields import ANY_PROTOCOL
from docsis_control.modem_config.provisioned import (
    Direction,
    Modem,
    PacketClassifier,
    ServiceFlow,
)
from docsis_control.modem_config.rules import Channel, Flow, Limits, check
from docsis_control.modem_config.scheduling import scheduling_of
from docsis_control.modem_config.service_classes import ServiceClasses, expand
from docsis_control.modem_config.service_flows import QosParameters, UpstreamServiceFlow

DEFAULT_BURST: Final = 3044
"""Bytes; the Maximum Traffic Burst unless given: two of the largest frames."""

_ACTIVE: Final = 0b100
_ADMITTED: Final = 0b010
"""Bits of the Quality of Service Parameter Set Type."""

_ALL_PORTS: Final = (0, 0xFFFF)
_WHOLE_MAC: Final = 0xFFFFFFFFFFFF


def provision(
    configuration: ModemConfiguration,
    channel: Channel,
    classes: ServiceClasses | None = None,
    limits: Limits | None = None,
    downstream_buffer: BufferLimit = DEFAULT_BUFFER,
) -> Modem:
    """Makes the service that a modem is to run from its configuration.

    Args:
        channel: Stands in where a service flow has no Maximum Sustained Traffic Rate,
            and must hold the minimum reserved rates.
        classes: Service classes that service flows may name.
        limits: Limits of the modem; those of `Limits` unless given.
        downstream_buffer: Buffer of downstream service flows that have none of their own.

    Raises:
        KeyedError: The configuration breaks a rule; the key is from its root.
    """
    classes = classes or ServiceClasses()
    whole = configuration.model_copy(
        update={
            "upstream_service_flows": _expanded(
                "upstream", configuration.upstream_service_flows, classes.upstream
            ),
            "downstream_service_flows": _expanded(
                "downstream", configuration.downstream_service_flows, classes.downstream
            ),
        }
    )
    for violation in check(whole, limits, channel):
        raise KeyedError(".".join(map(str, violation.location)), violation.message)
    default = whole.default_upstream_target_buffer
    upstream_buffer = BufferLimit(time=default) if default else DEFAULT_BUFFER
    aqm = not whole.upstream_aqm_disable
    flows = [
        _flow(flow, "upstream", index == 0, channel.upstream, upstream_buffer, aqm=aqm)
        for index, flow in enumerate(whole.upstream_service_flows)
    ]
    flows += [
        _flow(flow, "downstream", index == 0, channel.downstream, downstream_buffer)
        for index, flow in enumerate(whole.downstream_service_flows)
    ]
    classifiers = [
        *_classifiers("upstream", whole.upstream_classifiers, whole.upstream_service_flows),
        *_classifiers("downstream", whole.downstream_classifiers, whole.downstream_service_flows),
    ]
    classifiers.sort(key=PacketClassifier.order)
    return Modem(tuple(flows), tuple(classifiers), whole.network_access is not False)


def _expanded(
    direction: str, flows: Sequence[Flow], classes: Mapping[str, QosParameters]
) -> tuple[Flow, ...]:
    if not flows:
        raise KeyedError(
            f"{direction}_service_flows", f"is empty; a modem needs a primary {direction} flow"
        )
    found = []
    for index, flow in enumerate(flows):
        try:
            found.append(expand(flow, classes))
        except KeyedError as error:
            raise KeyedError(f"{direction}_service_flows.{index}.{error.key}", str(error)) from None
    return tuple(found)


def _flow(
    flow: Flow,
    direction: Direction,
    primary: bool,
    capacity: int,
    default_buffer: BufferLimit,
    *,
    aqm: bool = True,
) -> ServiceFlow:
    queue = flow.aqm
    algorithm = queue.algorithm if queue else None
    target = queue.latency_target if queue else None
    overwrite = flow.tos_overwrite
    burst = flow.maximum_traffic_burst
    control = flow.buffer_control
    return ServiceFlow(
        direction=direction,
        reference=flow.service_flow_reference,
        primary=primary,
        class_name=flow.service_class_name or "",
        traffic_priority=flow.traffic_priority or 0,
        max_sustained_rate=flow.maximum_sustained_traffic_rate or None,
        peak_rate=flow.peak_traffic_rate or None,
        max_burst=DEFAULT_BURST if burst is None else burst,
        min_reserved_rate=flow.minimum_reserved_traffic_rate or 0,
        assumed_packet_size=flow.assumed_minimum_reserved_rate_packet_size or 0,
        scheduling=scheduling_of(flow) if isinstance(flow, UpstreamServiceFlow) else None,
        ack_suppression=_ack_suppression(flow),
        buffer_size=_buffer_size(flow, capacity, default_buffer),
        aqm_enabled=aqm and not (queue and queue.disable),
        aqm_algorithm="immediate" if algorithm == "immediate" else "docsis-pie",
        latency_target=DEFAULT_LATENCY_TARGET if target is None else target,
        tos_and_mask=overwrite.and_mask if overwrite else 0xFF,
        tos_or_mask=overwrite.or_mask if overwrite else 0,
        active=bool(flow.qos_parameter_set_type & _ACTIVE),
        admitted=bool(flow.qos_parameter_set_type & (_ACTIVE | _ADMITTED)),
        minimum_buffer=control.minimum_buffer if control else None,
        target_buffer=control.target_buffer if control else None,
        maximum_buffer=control.maximum_buffer if control else None,
    )


def _ack_suppression(flow: Flow) -> AckSuppression:
    written = flow.ack_suppression if isinstance(flow, UpstreamServiceFlow) else None
    return AckSuppression(written or AckSuppression.NONE)


def _buffer_size(flow: QosParameters, capacity: int, default: BufferLimit) -> int:
    """Bytes: the target, or the default at the sustained rate, within minimum and maximum."""
    control = flow.buffer_control
    size = control.target_buffer if control and control.target_buffer else None
    if size is None:
        size = default.bytes_at(flow.maximum_sustained_traffic_rate or capacity)
    if control and control.minimum_buffer is not None:
        size = max(size, control.minimum_buffer)
    if control and control.maximum_buffer:
        size = min(size, control.maximum_buffer)
    return max(size, MAX_FRAME)


def _classifiers(
    direction: Direction, classifiers: Sequence[Classifier], flows: Sequence[Flow]
) -> list[PacketClassifier]:
    by_id = {flow.service_flow_id: flow.service_flow_reference for flow in flows}
    found = []
    for classifier in classifiers:
        reference = classifier.classifier_reference or classifier.classifier_id
        selected = classifier.service_flow_reference
        if selected is None:
            selected = by_id[classifier.service_flow_id]
        assert reference is not None, "check() found a number"
        found.append(_classifier(classifier, direction, reference, selected))
    return found


def _classifier(
    given: Classifier, direction: Direction, reference: int, service_flow: int
) -> PacketClassifier:
    ip, ethernet, tag = given.ip, given.ethernet, given.ieee_802_1q
    # Without a condition it asks for nothing, not even the version.
    ipv6 = given.ipv6 if given.ipv6 and given.ipv6.only_ipv6 else None
    version = 6 if ipv6 else 4 if ip and ip.only_ipv4 else None
    protocol = ipv6.next_header if ipv6 else ip.protocol if ip else None
    source, destination = _addresses(ip, ipv6)
    mac = ethernet.destination_mac if ethernet else None
    sender = ethernet.source_mac if ethernet else None
    frame = ethernet.ethertype if ethernet else None
    priority = tag.user_priority if tag else None
    return PacketClassifier(
        direction=direction,
        reference=reference,
        service_flow=service_flow,
        rule_priority=given.rule_priority or 0,
        active=given.active is not False,
        ip_version=version,
        tos=_byte_range(ipv6.traffic_class if ipv6 else ip.tos if ip else None),
        protocol=None if protocol == ANY_PROTOCOL else protocol,
        source=source,
        destination=destination,
        source_ports=_ports(ip.source_port_start, ip.source_port_end) if ip else None,
        destination_ports=(
            _ports(ip.destination_port_start, ip.destination_port_end) if ip else None
        ),
        flow_label=ipv6.flow_label if ipv6 else None,
        source_mac=(_mac(sender), _WHOLE_MAC) if sender else None,
        destination_mac=(_mac(mac.address), _mac(mac.mask)) if mac else None,
        ethernet=(frame.kind, frame.value) if frame and frame.kind != "none" else None,
        user_priority=(priority.low, priority.high) if priority else None,
        vlan=tag.vlan_id.id if tag and tag.vlan_id else None,
    )


def _addresses(
    ip: Ip | None, ipv6: Ipv6Header | None
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Source and destination, each as address and mask."""
    if ipv6:
        return (
            _prefix(ipv6.source_address, ipv6.source_prefix_length),
            _prefix(ipv6.destination_address, ipv6.destination_prefix_length),
        )
    if ip:
        return (
            _masked(ip.source_address, ip.source_mask),
            _masked(ip.destination_address, ip.destination_mask),
        )
    return None, None


def _masked(address: IPv4Address | None, mask: IPv4Address | None) -> tuple[int, int] | None:
    if address is None:
        return None
    return int(address), 0xFFFFFFFF if mask is None else int(mask)


def _prefix(address: IPv6Address | None, length: int | None) -> tuple[int, int] | None:
    if address is None:
        return None
    return int(address), int(IPv6Network(f"::/{128 if length is None else length}").netmask)


def _ports(first: int | None, last: int | None) -> tuple[int, int] | None:
    if first is None and last is None:
        return None
    return (
        _ALL_PORTS[0] if first is None else first,
        _ALL_PORTS[1] if last is None else last,
    )


def _byte_range(given: ByteRange | None) -> tuple[int, int, int] | None:
    return (given.low, given.high, given.mask) if given else None


def _mac(address: str) -> int:
    return int(address.replace(":", ""), 16)
