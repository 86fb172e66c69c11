# SPDX-License-Identifier: Apache-2.0
"""A student's classifiers as written, to tell mistakes apart that packets cannot."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

from docsis_control.config import yaml_file
from docsis_control.modem_config.classifiers import Ip
from docsis_control.modem_config.document import ModemConfiguration

_DSCP_EF = 46


def _classifiers(text: str, flow: int) -> Iterator[tuple[int, Ip]]:
    """Priorities and IP conditions of the active classifiers of a service flow."""
    for classifier in _configuration(text).upstream_classifiers:
        if classifier.service_flow_reference == flow and classifier.active is not False:
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


def of_equal_priority(text: str, one: int, other: int) -> bool:
    """Whether each of two flows has one classifier, and the two leave it open which of them wins.

    With more classifiers, or with conditions on the ToS byte in both, packets alone can tell.
    """
    first, second = list(_classifiers(text, one)), list(_classifiers(text, other))
    if len(first) != 1 or len(second) != 1:
        return False
    (priority, _), (other_priority, ip) = first[0], second[0]
    return priority == other_priority and ip.tos is None


def has_the_dscp_itself(text: str, flow: int) -> bool:
    """Whether one compares the ToS byte with the number of the DSCP EF."""
    return any(ip.tos is not None and ip.tos.low == _DSCP_EF for ip in _conditions(text, flow))
