# SPDX-License-Identifier: Apache-2.0
"""Finds the classifier that takes a frame: the standard's text (MULPI, annex C.2.1) as a function.

Written without a look at what turns classifiers into table entries, to be held against it. The
comments are what the standard says of the parameter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from docsis_control.modem_config.provisioned import PacketClassifier

TCP = 6
UDP = 17
TCP_OR_UDP = 257
SNAP_DSAP = 0xAA


@dataclass(frozen=True)
class Ip:
    """The fields of an IP header that a classifier sees.

    `protocol` is the IP protocol, or the first next header of IPv6. `ports` are the source and
    the destination port where TCP or UDP follows: not in a fragment after the first.
    """

    version: int
    tos: int
    protocol: int
    source: int
    destination: int
    flow_label: int = 0
    fragment: bool = False
    ports: tuple[int, int] | None = None


@dataclass(frozen=True)
class Frame:
    """The fields of an Ethernet frame that a classifier sees.

    `carries` is an encapsulation and the protocol in it: ("dix", EtherType), ("snap", EtherType)
    or ("llc", DSAP), behind the tag where there is one. `tag` is user priority and VLAN id.
    """

    destination: int
    source: int
    carries: tuple[str, int]
    tag: tuple[int, int] | None = None
    ip: Ip | None = None


def decide(
    classifiers: Iterable[PacketClassifier], service_flows: Collection[int], frame: Frame
) -> PacketClassifier | None:
    """The classifier that takes the frame, or None: the primary service flow does.

    Args:
        service_flows: References of those that are there.
    """
    # "A higher value indicates higher priority"; equal ones go by reference.
    for classifier in sorted(classifiers, key=lambda c: (-c.rule_priority, c.reference)):
        if (
            classifier.active
            and classifier.service_flow in service_flows
            and matches(classifier, frame)
        ):
            return classifier
    return None


def matches(classifier: PacketClassifier, frame: Frame) -> bool:
    """Whether the frame meets every condition that the classifier has."""
    return (
        _address(classifier.destination_mac, frame.destination)
        and _address(classifier.source_mac, frame.source)
        and _carries(classifier.ethernet, frame.carries)
        and _tag(classifier, frame.tag)
        and _ip(classifier, frame.ip)
    )


def _address(condition: tuple[int, int] | None, address: int) -> bool:
    # "matches this parameter if dst = (etherdst AND msk)", and "src = (ip-src AND smask)"
    return condition is None or condition[0] == address & condition[1]


def _carries(condition: tuple[str, int] | None, carries: tuple[str, int]) -> bool:
    if condition is None:
        return True
    kind, value = condition
    encapsulation, protocol = carries
    if kind == "ethertype":
        # "EtherType values are contained in packets using the DIX encapsulation or the SNAP
        # encapsulation (RFC 1042) formats"
        return encapsulation in ("dix", "snap") and protocol == value
    if kind == "dsap":
        # "applies only to frames using the IEEE 802.2 encapsulation format with a DSAP other than
        # 0xAA"; "the lower 8 bits [...] MUST match the DSAP byte"
        return encapsulation == "llc" and protocol != SNAP_DSAP and protocol == value & 0xFF
    # "all-data" is "a 'catch-all' rule that matches all Data PDU packets"; "mac-management" is
    # for MAC Management Messages, which these frames are not.
    return kind == "all-data"


def _tag(classifier: PacketClassifier, tag: tuple[int, int] | None) -> bool:
    # "If this parameter is specified for an entry, Ethernet packets without IEEE 802.1Q
    # encapsulation MUST NOT match this entry"
    if classifier.user_priority is None and classifier.vlan is None:
        return True
    if tag is None:
        return False
    low, high = classifier.user_priority or (0, 7)
    return low <= tag[0] <= high and classifier.vlan in (None, tag[1])


def _ip(classifier: PacketClassifier, ip: Ip | None) -> bool:
    if ip is None:
        return not (
            classifier.ip_version
            or classifier.tos
            or classifier.protocol is not None
            or _wants(classifier.source_ports)
            or _wants(classifier.destination_ports)
        )
    return (
        classifier.ip_version in (None, ip.version)
        and _tos(classifier.tos, ip.tos)
        and _protocol(classifier.protocol, ip.protocol)
        and _address(classifier.source, ip.source)
        and _address(classifier.destination, ip.destination)
        and classifier.flow_label in (None, ip.flow_label)
        and _port(classifier.source_ports, ip.ports and ip.ports[0])
        and _port(classifier.destination_ports, ip.ports and ip.ports[1])
    )


def _tos(condition: tuple[int, int, int] | None, tos: int) -> bool:
    # "matches this parameter if tos-low <= (ip-tos AND tos-mask) <= tos-high"
    return condition is None or condition[0] <= (tos & condition[2]) <= condition[1]


def _protocol(condition: int | None, protocol: int) -> bool:
    # "'257' matches both TCP and UDP traffic"
    if condition == TCP_OR_UDP:
        return protocol in (TCP, UDP)
    return condition in (None, protocol)


def _wants(ports: tuple[int, int] | None) -> bool:
    # Ports that are left out are 0 to 65535.
    return ports not in (None, (0, 65535))


def _port(condition: tuple[int, int] | None, port: int | None) -> bool:
    # "matches this parameter if sportlow <= src-port <= sporthigh"; docs/modem-configuration.md
    # says how "irrelevant for non-TCP/UDP IP traffic" is read.
    if condition is None or not _wants(condition):
        return True
    return port is not None and condition[0] <= port <= condition[1]
