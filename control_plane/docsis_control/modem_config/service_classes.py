# SPDX-License-Identifier: Apache-2.0
"""Service classes: QoS parameters that a CMTS keeps under a name (MULPI, TLV 24/25.4)."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from docsis_control.config.models import KeyedError, Model
from docsis_control.config.yaml_file import plain, read, validate
from docsis_control.modem_config.rules import Flow, check_flow
from docsis_control.modem_config.service_flows import (
    DownstreamQos,
    QosParameters,
    UpstreamQos,
)


class ServiceClasses(Model):
    """The service classes of a CMTS, by name."""

    upstream: dict[str, UpstreamQos] = Field(
        default={}, description="For upstream service flows, by Service Class Name."
    )
    downstream: dict[str, DownstreamQos] = Field(
        default={}, description="For downstream service flows, by Service Class Name."
    )


def load_service_classes(file: Path) -> ServiceClasses:
    """Reads the YAML file of the service classes.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    document = read(file)
    return validate(document, ServiceClasses, plain(document.root))


def expand(flow: Flow, classes: Mapping[str, QosParameters]) -> Flow:
    """A service flow with the parameters of its service class; its own ones win.

    Raises:
        KeyedError: There is no such class, or what comes of both breaks a rule.
    """
    if flow.service_class_name is None:
        return flow
    if flow.service_class_name not in classes:
        known = ", ".join(sorted(classes)) or "none"
        raise KeyedError(
            "service_class_name",
            f'there is no service class "{flow.service_class_name}"; there are {known}',
        )
    chosen = classes[flow.service_class_name]
    # Keys about the form of the two files are no parameters.
    apart = {"tlv_order", "other_tlvs", "data_rate_unit"}
    inherited = {name: getattr(chosen, name) for name in chosen.model_fields_set - apart}
    given = {name: getattr(flow, name) for name in flow.model_fields_set - apart}
    merged = type(flow).model_construct(**(inherited | given))
    for violation in check_flow(merged):
        raise KeyedError(".".join(map(str, violation.location)), violation.message)
    return merged
