# SPDX-License-Identifier: Apache-2.0
"""What each modem of a topology is to run: from its configuration file, or from its tier."""

from collections.abc import Mapping
from typing import Final

from docsis_control.config.models import (
    MAX_BUFFER,
    MAX_RATE,
    KeyedError,
    ServiceFlowProfile,
    ServiceTier,
)
from docsis_control.config.units import format_bytes, format_duration, format_rate
from docsis_control.modem_config.aggregate import tlv_path
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.provision import provision
from docsis_control.modem_config.provisioned import Direction, Modem
from docsis_control.modem_config.rules import Channel
from docsis_control.topology.models import CableModem, Topology

UPSTREAM_REFERENCE: Final = 1
DOWNSTREAM_REFERENCE: Final = 2
"""Service Flow References of a tier's two flows."""

_ACTIVE: Final = 7
"""Quality of Service Parameter Set Type: provisioned, admitted and active."""

_DIRECTIONS: Final[tuple[Direction, Direction]] = ("upstream", "downstream")


def configuration_of(topology: Topology, modem: CableModem) -> ModemConfiguration:
    """A modem's configuration file, or one that says what its tier says."""
    tier = topology.tier_of(modem)
    if tier is None:
        assert modem.configuration is not None, "a topology's modem has one of them"
        return modem.configuration
    return tier_configuration(tier)


def tier_configuration(tier: ServiceTier) -> ModemConfiguration:
    """A configuration with the two service flows of a tier.

    The initial tokens of a tier have no TLV: they are not in it.
    """
    return ModemConfiguration.model_validate(
        {
            "upstream_service_flows": [_written(UPSTREAM_REFERENCE, tier.upstream)],
            "downstream_service_flows": [_written(DOWNSTREAM_REFERENCE, tier.downstream)],
        }
    )


def _written(reference: int, profile: ServiceFlowProfile) -> dict[str, object]:
    """A service flow as an operator writes it."""
    return {
        "service_flow_reference": reference,
        "qos_parameter_set_type": _ACTIVE,
        "maximum_sustained_traffic_rate": format_rate(profile.maximum_sustained_traffic_rate),
        "peak_traffic_rate": format_rate(profile.peak_traffic_rate),
        "maximum_traffic_burst": format_bytes(profile.maximum_traffic_burst),
        "buffer_control": {"target_buffer": format_bytes(profile.buffer_bytes)},
        "aqm": {
            "disable": not profile.aqm.enabled,
            "latency_target": format_duration(profile.aqm.latency_target),
        },
    }


def service_of(topology: Topology, modem: CableModem, configuration: ModemConfiguration) -> Modem:
    """What a modem runs with this configuration.

    Raises:
        KeyedError: The configuration breaks a rule, or asks for what the pipeline does not
            have; the key is from the configuration's root.
    """
    rates = topology.channel
    channel = Channel(rates.upstream, rates.downstream) if rates else Channel(MAX_RATE, MAX_RATE)
    service = provision(configuration, channel, topology.service_classes, modem.limits)
    seen = dict.fromkeys(_DIRECTIONS, 0)
    for flow in service.service_flows:
        place = f"{flow.direction}_service_flows.{seen[flow.direction]}"
        seen[flow.direction] += 1
        for key, rate in (
            ("maximum_sustained_traffic_rate", flow.max_sustained_rate),
            ("peak_traffic_rate", flow.peak_rate),
        ):
            if rate is not None and rate > MAX_RATE:
                raise KeyedError(
                    f"{place}.{key}",
                    f"{format_rate(rate)} is more than the pipeline counts, "
                    f"{format_rate(MAX_RATE)}",
                )
        if flow.max_sustained_rate is None and rates is None:
            raise KeyedError(
                f"{place}.maximum_sustained_traffic_rate",
                "is missing, so the flow has what the channel has, and the topology does not say "
                "how much that is; give one of the two",
            )
        if flow.buffer_size > MAX_BUFFER:
            raise KeyedError(
                f"{place}.buffer_control",
                f"a buffer of {format_bytes(flow.buffer_size)} is more than the pipeline counts, "
                f"{format_bytes(MAX_BUFFER)}",
            )
        if flow.aqm_enabled and flow.aqm_algorithm != "docsis-pie":
            raise KeyedError(
                f"{place}.aqm.algorithm",
                f"{flow.aqm_algorithm} is not implemented; use docsis-pie, or disable the AQM",
            )
    return service


def check_services(topology: Topology) -> None:
    """Whether every modem of a topology can run, and all of them share the channel.

    Raises:
        KeyedError: Not so; the key is from the topology's root.
    """
    services = {}
    for index, modem in enumerate(topology.modems):
        try:
            services[modem.name] = service_of(topology, modem, configuration_of(topology, modem))
        except KeyedError as error:
            location = tuple(int(p) if p.isdigit() else p for p in error.key.split("."))
            path = tlv_path(ModemConfiguration, location)
            tlv = f" (TLV {path})" if path else ""
            raise KeyedError(
                f"modems.{index}.configuration", f"{error.key}: {error}{tlv}"
            ) from None
    check_reservations(topology, services)


def check_reservations(topology: Topology, services: Mapping[str, Modem]) -> None:
    """Whether the Minimum Reserved Traffic Rates of all modems fit into the channel.

    Args:
        services: What each modem runs, by its name.

    Raises:
        KeyedError: They do not; the key is that of the first modem that is too much.
    """
    if topology.channel is None:
        return
    for direction in _DIRECTIONS:
        capacity: int = getattr(topology.channel, direction)
        total = 0
        for index, (name, service) in enumerate(services.items()):
            total += service.reserved[direction]
            if total > capacity:
                raise KeyedError(
                    f"modems.{index}",
                    f"{name} brings the sum of the {direction} Minimum Reserved Traffic Rates to "
                    f"{format_rate(total)}, above the channel's {format_rate(capacity)}",
                )
