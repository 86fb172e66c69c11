# SPDX-License-Identifier: Apache-2.0
"""A modem's packet classifiers as entries of the pipeline's classifier table.

Every condition of a classifier must hold (MULPI, annex C.2.1); of the classifiers that match, the
one of the highest rule priority takes the packet. Of equal rule priorities, which the standard
leaves open, the lowest reference goes first: so an entry stays what it is when others come and go.

A condition on ports is only met by packets in which the pipeline sees ports: TCP and UDP, in the
first fragment, right behind the IP header. The standard calls the ports "irrelevant for
non-TCP/UDP IP traffic"; read as "met by", a rule for port 53 would take all of ICMP. The range 0
to 65535, which is what a file that says nothing about ports means, is no condition.

An address, as in the standard, is compared with (address in the packet AND mask): one that has
bits outside its mask is never met. Neither are an EtherType below 0x600, the DSAP 0xAA, which is
SNAP's, and the types of MAC management messages, which no frame that is bridged is.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final

from docsis_control.cubes import MAX_CUBES_OF_A_BYTE, masked_range
from docsis_control.modem_config.fields import TCP_OR_UDP
from docsis_control.modem_config.provisioned import PacketClassifier
from docsis_control.tables import MatchValue, Range, TableEntry, Ternary

CLASSIFIER_TABLE: Final = "FrameIngress.classifier.classifier"

MAX_ENTRIES: Final = 2 * MAX_CUBES_OF_A_BYTE
"""The most entries that one classifier takes: a range of the ToS byte, for each of two protocols
or versions of IP. Without such a range it is one or two."""

_REFERENCES: Final = 1 << 16
_TRUE: Final = Ternary(1, 1)
_ALL_PORTS: Final = (0, 0xFFFF)
_LOWEST_ETHERTYPE: Final = 0x600
_SNAP: Final = 0xAA
_TCP: Final = 6
_UDP: Final = 17

_Match = Mapping[str, MatchValue]
_Alternatives = tuple[_Match, ...]
"""Conditions of which one must hold; none for what no packet meets."""


def classifier_entries(
    modem: int, classifiers: Iterable[PacketClassifier], service_flows: Mapping[int, int]
) -> tuple[TableEntry, ...]:
    """The entries of a modem's classifiers, the first that is tried first.

    Args:
        modem: Its number in the pipeline, above 0.
        classifiers: Classifiers of one device's direction; references are unique.
        service_flows: Index in the pipeline by Service Flow Reference, of the service flows
            that are there. Classifiers of others take no part.

    Returns:
        At most `MAX_ENTRIES` for each classifier, all of its priority.
    """
    return tuple(
        TableEntry(
            CLASSIFIER_TABLE,
            {"modem": modem, **match},
            "set_service_flow",
            {"service_flow": service_flows[classifier.service_flow]},
            entry_priority(classifier),
        )
        for classifier in sorted(classifiers, key=PacketClassifier.order)
        if classifier.active and classifier.service_flow in service_flows
        for match in _matches(classifier)
    )


def entry_priority(classifier: PacketClassifier) -> int:
    """P4Runtime's priority of its entries, unique within the modem: 0xPPRRRR.

    PP is the rule priority, RRRR 65536 - the classifier's reference.
    """
    return entry_priority_of(classifier.rule_priority, classifier.reference)


def entry_priority_of(rule_priority: int, reference: int) -> int:
    """The same from the classifier's Rule Priority and Classifier Reference."""
    return rule_priority * _REFERENCES + _REFERENCES - reference


def reference_of(priority: int) -> int:
    """The reference of the classifier whose entries have this priority.

    The classifier's packets are the sum over its entries.
    """
    return _REFERENCES - priority % _REFERENCES


def _matches(classifier: PacketClassifier) -> Iterator[_Match]:
    groups = (
        _mac("dst_mac", classifier.destination_mac),
        _mac("src_mac", classifier.source_mac),
        _frame(classifier.ethernet),
        _tag(classifier),
        _ip(classifier),
        _addresses(classifier),
        _tos(classifier.tos),
    )
    for chosen in product(*groups):
        yield {
            field: value
            for match in chosen
            for field, value in match.items()
            if not isinstance(value, Ternary) or value.mask
        }


def _mac(field: str, given: tuple[int, int] | None) -> _Alternatives:
    return _masked(field, given, 48)


def _masked(field: str, given: tuple[int, int] | None, width: int) -> _Alternatives:
    if given is None:
        return ({},)
    address, mask = given
    if address & ~mask & ((1 << width) - 1):
        return ()
    return ({field: Ternary(address, mask)},)


def _frame(given: tuple[str, int] | None) -> _Alternatives:
    """C.2.1.8.3: what the frame carries, behind a tag where it has one."""
    if given is None:
        return ({},)
    kind, value = given
    match kind:
        case "ethertype" if value >= _LOWEST_ETHERTYPE:
            return ({"ether_type": Ternary(value, 0xFFFF)},)
        case "dsap" if value & 0xFF != _SNAP:
            return ({"is_llc": _TRUE, "llc_dsap": Ternary(value, 0xFF)},)
        case "all-data":
            return ({},)
        case _:
            return ()


def _tag(classifier: PacketClassifier) -> _Alternatives:
    """C.2.1.9: frames without a tag never match."""
    match: dict[str, MatchValue] = {}
    if classifier.user_priority is not None:
        match["tagged"] = _TRUE
        if classifier.user_priority != (0, 7):
            match["vlan_priority"] = Range(*classifier.user_priority)
    if classifier.vlan is not None:
        match["tagged"] = _TRUE
        match["vlan_id"] = Ternary(classifier.vlan, 0xFFF)
    return (match,)


def _ip(classifier: PacketClassifier) -> _Alternatives:
    """Version, protocol and ports."""
    protocol = classifier.protocol
    ports = {
        field: Range(*given)
        for field, given in (
            ("l4_src_port", classifier.source_ports),
            ("l4_dst_port", classifier.destination_ports),
        )
        if given is not None and given != _ALL_PORTS
    }
    common: dict[str, MatchValue] = {"has_ports": _TRUE, **ports} if ports else {}
    protocols: tuple[int | None, ...] = (protocol,)
    if protocol == TCP_OR_UDP:
        # A rule with ports is about one of these protocols.
        protocols = (None,) if ports else (_TCP, _UDP)
    asks_for_ip = classifier.tos is not None or protocol is not None
    # A field that a frame lacks is 0: beside another protocol, or ports, it is an IP packet.
    versions = (
        (classifier.ip_version,)
        if classifier.ip_version or ports or protocol or not asks_for_ip
        else (4, 6)
    )
    return tuple(
        {**common, **_protocol(chosen), **_version(version)}
        for chosen in protocols
        for version in versions
    )


def _protocol(protocol: int | None) -> _Match:
    return {} if protocol is None else {"ip_protocol": Ternary(protocol, 0xFF)}


def _version(version: int | None) -> _Match:
    return {} if version is None else {f"is_ipv{version}": _TRUE}


def _addresses(classifier: PacketClassifier) -> _Alternatives:
    version = classifier.ip_version
    width = 32 if version == 4 else 128
    label: dict[str, MatchValue] = {}
    if classifier.flow_label is not None:
        label["ipv6_flow_label"] = Ternary(classifier.flow_label, 0xFFFFF)
    return tuple(
        {**source, **destination, **label}
        for source in _masked(f"ipv{version}_src", classifier.source, width)
        for destination in _masked(f"ipv{version}_dst", classifier.destination, width)
    )


def _tos(given: tuple[int, int, int] | None) -> _Alternatives:
    """C.2.1.6.1: low <= (byte AND mask) <= high."""
    if given is None:
        return ({},)
    return tuple({"ip_tos": cube} for cube in masked_range(*given))
