# SPDX-License-Identifier: Apache-2.0
"""A student's classifiers as written, to tell mistakes apart that packets cannot."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

from docsis_control.config import yaml_file
from docsis_control.modem_config.classifiers import Ip
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.fields import ANY_PROTOCOL, TCP_OR_UDP
from docsis_labs.exercises.classify.packets import Packet

_DSCP_EF = 46
_UDP = socket.IPPROTO_UDP


def _classifiers(text: str, flow: int) -> Iterator[tuple[int, Ip]]:
    """Priorities and conditions of a service flow's active classifiers with none but of IPv4."""
    for classifier in _configuration(text).upstream_classifiers:
        others = (classifier.ethernet, classifier.ieee_802_1q, classifier.ipv6)
        if (
            classifier.service_flow_reference == flow
            and classifier.active is not False
            and all(condition is None for condition in others)
        ):
            yield classifier.rule_priority or 0, classifier.ip or Ip()


def _configuration(text: str) -> ModemConfiguration:
    """Reads the configuration from a text that boots."""
    document = yaml_file.parse(text, Path("modem.yaml"))
    return yaml_file.validate(document, ModemConfiguration, yaml_file.plain(document.root))


def _conditions(text: str, flow: int) -> Iterator[Ip]:
    """The IP conditions of the upstream classifiers of a service flow, of a text that boots."""
    for classifier in _configuration(text).upstream_classifiers:
        if classifier.service_flow_reference == flow and classifier.ip is not None:
            yield classifier.ip


def names_an_address(text: str, flow: int) -> bool:
    """Whether a classifier of the flow has a destination address."""
    return any(ip.destination_address is not None for ip in _conditions(text, flow))


def address_outside_mask(text: str, flow: int) -> bool:
    """Whether one has a destination address with bits that its mask leaves out."""
    return any(
        int(IPv4Address(ip.destination_address)) & ~int(IPv4Address(ip.destination_mask))
        for ip in _conditions(text, flow)
        if ip.destination_address is not None and ip.destination_mask is not None
    )


def of_equal_priority(text: str, one: int, other: int, packet: Packet) -> bool:
    """Whether it is open which of two flows gets a packet.

    That is so where the classifiers with the highest priority of those that match it lead to both.
    """
    highest, other_highest = (
        max((rank for rank, ip in _classifiers(text, flow) if _matches(ip, packet)), default=-1)
        for flow in (one, other)
    )
    return highest == other_highest >= 0


def _matches(ip: Ip, packet: Packet) -> bool:
    """Whether a packet of UDP without options meets all conditions."""
    tos, source, destination, ports = struct.unpack("!15xB10xII4s", packet.frame[:38])
    source_port, destination_port = struct.unpack("!HH", ports)
    return (
        (ip.tos is None or ip.tos.low <= tos & ip.tos.mask <= ip.tos.high)
        and ip.protocol in (None, _UDP, ANY_PROTOCOL, TCP_OR_UDP)
        and _has_address(source, ip.source_address, ip.source_mask)
        and _has_address(destination, ip.destination_address, ip.destination_mask)
        and _in_range(source_port, ip.source_port_start, ip.source_port_end)
        and _in_range(destination_port, ip.destination_port_start, ip.destination_port_end)
    )


def _has_address(there: int, address: IPv4Address | None, mask: IPv4Address | None) -> bool:
    bits = 0xFFFF_FFFF if mask is None else int(mask)
    return address is None or there & bits == int(address)


def _in_range(port: int, first: int | None, last: int | None) -> bool:
    return (first or 0) <= port <= (0xFFFF if last is None else last)


def has_the_dscp_itself(text: str, flow: int) -> bool:
    """Whether one compares the ToS byte with the number of the DSCP EF."""
    return any(ip.tos is not None and ip.tos.low == _DSCP_EF for ip in _conditions(text, flow))
