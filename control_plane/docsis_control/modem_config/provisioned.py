# SPDX-License-Identifier: Apache-2.0
"""The meaning of a configuration file: service flows and classifiers with every default filled in.

Frozen and free of TLVs, for what runs a modem; the file's form is `document`.
Rates are bit/s, sizes bytes, times nanoseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from docsis_control.modem_config.ack_suppression import AckSuppression
from docsis_control.modem_config.scheduling import Scheduling

Direction = Literal["upstream", "downstream"]


@dataclass(frozen=True)
class ServiceFlow:
    """A service flow, complete.

    Attributes:
        direction: Which way it goes.
        reference: Its Service Flow Reference.
        primary: Whether it takes what no classifier takes: the first of its direction.
        class_name: Service class that it was filled in from, or "".
        traffic_priority: 0 to 7; higher goes first.
        max_sustained_rate: bit/s, or None for no limit but the channel's.
        peak_rate: bit/s, or None for no limit but the channel's.
        max_burst: Bytes.
        min_reserved_rate: bit/s; 0 for none.
        assumed_packet_size: Bytes that a shorter packet counts for in the minimum rate; 0: its own.
        scheduling: How the upstream is granted; None downstream.
        ack_suppression: Which queued TCP acknowledgements later ones replace; upstream only.
        buffer_size: Bytes.
        aqm_enabled: Whether its queue is actively managed.
        aqm_algorithm: "docsis-pie" or "immediate".
        latency_target: Nanoseconds.
        tos_and_mask, tos_or_mask: New ToS byte: (byte AND first) OR second.
        active: Whether its parameters are active, not only provisioned or admitted.
        admitted: Whether its parameters are admitted or active, so that what they reserve is kept.
        minimum_buffer, target_buffer, maximum_buffer: Bytes, of Buffer Control; None where it does
            not say. What follows from them is buffer_size.
    """

    direction: Direction
    reference: int
    primary: bool
    class_name: str
    traffic_priority: int
    max_sustained_rate: int | None
    peak_rate: int | None
    max_burst: int
    min_reserved_rate: int
    assumed_packet_size: int
    scheduling: Scheduling | None
    ack_suppression: AckSuppression
    buffer_size: int
    aqm_enabled: bool
    aqm_algorithm: Literal["docsis-pie", "immediate"]
    latency_target: int
    tos_and_mask: int
    tos_or_mask: int
    active: bool
    admitted: bool
    minimum_buffer: int | None = None
    target_buffer: int | None = None
    maximum_buffer: int | None = None


@dataclass(frozen=True)
class PacketClassifier:
    """A classifier, complete; None is a condition that every packet meets.

    Attributes:
        direction: Which way the packets go.
        reference: Its Classifier Reference, or its id where it has none.
        service_flow: Reference of the flow that it selects.
        rule_priority: 0 to 255; the highest is tried first, of equal ones the lowest reference.
        active: Whether it takes part.
        tos: ToS byte of IPv4 or the traffic class of IPv6.
        protocol: IP protocol or next header; 257 is TCP or UDP.
        source, destination: IPv4 address and mask, or IPv6 address and prefix as mask, as integers.
        ip_version: 4 or 6 where only packets of it can match.
        source_ports, destination_ports: First and last.
        flow_label: Flow label of IPv6.
        source_mac, destination_mac: Address and mask as integers.
        ethernet: Kind and value of what the frame carries, as in the file: "ethertype", "dsap",
            "mac-management" or "all-data".
        user_priority: User priority of the 802.1Q tag, lowest and highest.
        vlan: VLAN id of the 802.1Q tag.

    Raises:
        ValueError: It has conditions of one version of IP without naming the version.
    """

    direction: Direction
    reference: int
    service_flow: int
    rule_priority: int
    active: bool
    ip_version: int | None = None
    tos: tuple[int, int, int] | None = None
    protocol: int | None = None
    source: tuple[int, int] | None = None
    destination: tuple[int, int] | None = None
    source_ports: tuple[int, int] | None = None
    destination_ports: tuple[int, int] | None = None
    flow_label: int | None = None
    source_mac: tuple[int, int] | None = None
    destination_mac: tuple[int, int] | None = None
    ethernet: tuple[str, int] | None = None
    user_priority: tuple[int, int] | None = None
    vlan: int | None = None

    def __post_init__(self) -> None:
        addresses = self.source or self.destination
        if (addresses and self.ip_version is None) or (
            self.flow_label is not None and self.ip_version != 6
        ):
            raise ValueError(
                f"classifier {self.reference} has an address or a flow label, but not the "
                "ip_version of its packets"
            )

    def order(self) -> tuple[int, int]:
        """Classifiers are tried in this order.

        That of equal rule priorities, which the standard leaves open, is that of the
        references: it stays when others come and go.
        """
        return -self.rule_priority, self.reference


@dataclass(frozen=True)
class Modem:
    """A modem as it is to be run.

    Attributes:
        service_flows: Service flows of both directions; the primary ones first in theirs.
        classifiers: Classifiers of both directions, in the order in which they are tried.
        network_access: Whether hosts behind the modem may use the network.
    """

    service_flows: tuple[ServiceFlow, ...]
    classifiers: tuple[PacketClassifier, ...]
    network_access: bool = True

    @cached_property
    def reserved(self) -> Mapping[Direction, int]:
        """The sum of the admitted service flows' Minimum Reserved Traffic Rates, bit/s."""
        sums: dict[Direction, int] = {"upstream": 0, "downstream": 0}
        for flow in self.service_flows:
            if flow.admitted:
                sums[flow.direction] += flow.min_reserved_rate
        return sums
