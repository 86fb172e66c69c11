# SPDX-License-Identifier: Apache-2.0
"""What a student's classifiers say, to tell mistakes apart that packets cannot."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

from docsis_control.config import yaml_file
from docsis_control.modem_config.classifiers import Ip
from docsis_control.modem_config.document import ModemConfiguration

_DSCP_EF = 46


def _conditions(text: str, flow: int) -> Iterator[Ip]:
    """The IP conditions of the upstream classifiers of a service flow, of a text that boots."""
    document = yaml_file.parse(text, Path("modem.yaml"))
    configuration = yaml_file.validate(document, ModemConfiguration, yaml_file.plain(document.root))
    for classifier in configuration.upstream_classifiers:
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


def has_the_dscp_itself(text: str, flow: int) -> bool:
    """Whether one compares the ToS byte with the number of the DSCP EF."""
    return any(ip.tos is not None and ip.tos.low == _DSCP_EF for ip in _conditions(text, flow))
