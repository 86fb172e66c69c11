# SPDX-License-Identifier: Apache-2.0
"""The service that each modem of a topology runs: from its configuration file, or from its tier."""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from docsis_control.config.models import (
    DEFAULT_BUFFER,
    MAX_BUFFER,
    MAX_RATE,
    KeyedError,
    ServiceFlowProfile,
    ServiceTier,
)
from docsis_control.config.units import BufferLimit, format_bytes, format_duration, format_rate
from docsis_control.mac.flow_check import MOST_PROMISED, check_flows, promised, reserved
from docsis_control.modem_config.aggregate import tlv_path
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.provision import provision
from docsis_control.modem_config.provisioned import Direction, Modem
from docsis_control.modem_config.rules import Channel
from docsis_control.topology.downstream import queue_bytes
from docsis_control.topology.models import CableModem, Topology
from docsis_control.topology.upstream_channels import UpstreamChannel

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
    """Makes the service that a modem runs with this configuration.

    Raises:
        KeyedError: The configuration breaks a rule, or asks for what the pipeline does not
            have; the key is from the configuration's root.
    """
    rates = {way: topology.channel_rate(way, modem.name) for way in _DIRECTIONS}
    channel = Channel(rates["upstream"] or MAX_RATE, rates["downstream"] or MAX_RATE)
    packets = topology.channel.downstream_queue if topology.channel else None
    service = provision(
        configuration,
        channel,
        topology.service_classes,
        modem.limits,
        downstream_buffer=BufferLimit(size=queue_bytes(packets)) if packets else DEFAULT_BUFFER,
    )
    if topology.upstream_channels:
        check_flows(service, topology.channel_of[modem.name].numbers)
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
        if flow.max_sustained_rate is None and rates[flow.direction] is None:
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
    """Whether what is promised to the service flows of all modems fits into their channels.

    Args:
        services: Services of the modems, by the modem's name.

    Raises:
        KeyedError: Minimum Reserved Traffic Rates, or unsolicited grants and polls, do not; the key
            is that of the first modem that is too much.
    """
    if topology.upstream_channels:
        channel_of = topology.channel_of
        for channel in topology.upstream_channels:
            on_it = [name for name in services if channel_of[name].name == channel.name]
            rate = channel.numbers.data_rate
            _check_reserved(services, on_it, "upstream", rate, f"{channel.name}'s")
            _check_promised(services, on_it, channel)
    elif topology.channel is not None and topology.channel.upstream is not None:
        _check_reserved(services, services, "upstream", topology.channel.upstream, "the channel's")
    if topology.shares_downstream:
        _check_shared(topology, services)
    elif topology.channel is not None:
        rate = topology.channel.downstream
        _check_reserved(services, services, "downstream", rate, "the channel's")


def _check_reserved(
    services: Mapping[str, Modem],
    sharing: Iterable[str],
    direction: Direction,
    capacity: int,
    whose: str,
) -> None:
    """Whether the Minimum Reserved Traffic Rates of modems that share a channel fit into it."""
    total = 0
    for name in sharing:
        total += services[name].reserved[direction]
        if total > capacity:
            raise KeyedError(
                f"modems.{list(services).index(name)}",
                f"{name} brings the sum of the {direction} Minimum Reserved Traffic Rates to "
                f"{format_rate(total)}, above {whose} {format_rate(capacity)}",
            )


def _check_shared(topology: Topology, services: Mapping[str, Modem]) -> None:
    """Whether downstream service flows can do with one queue behind their rates."""
    assert topology.channel is not None, "who shares a queue has a channel"
    capacity = topology.channel.downstream
    for index, (name, service) in enumerate(services.items()):
        for flow in service.service_flows:
            if flow.direction != "downstream" or not flow.active:
                continue
            fault = ""
            if flow.min_reserved_rate:
                fault = "has a Minimum Reserved Traffic Rate"
            elif flow.traffic_priority:
                fault = f"has the Traffic Priority {flow.traffic_priority}"
            elif (flow.max_sustained_rate or 0) > capacity:
                raise KeyedError(
                    f"modems.{index}",
                    f"downstream service flow {flow.reference} of {name} has a Maximum Sustained "
                    f"Traffic Rate of {format_rate(flow.max_sustained_rate or 0)}, above the "
                    f"channel's {format_rate(capacity)}, so it caps nothing; give less, or none",
                )
            if fault:
                raise KeyedError(
                    f"modems.{index}",
                    f"downstream service flow {flow.reference} of {name} {fault}, and one queue "
                    "for all of them (channel.downstream_queues: shared) puts none before others; "
                    "leave it out, or let each have its own queue (per-service-flow)",
                )


def _check_promised(
    services: Mapping[str, Modem], sharing: Iterable[str], channel: UpstreamChannel
) -> None:
    """Whether what modems that share a channel have without asking fits into its MAPs."""
    profile = channel.numbers
    most = MOST_PROMISED * profile.data_minislots
    total = Fraction(0)
    for name in sharing:
        for flow in services[name].service_flows:
            if flow.scheduling is None or not flow.admitted:
                continue
            total += promised(flow.scheduling, profile)
            if not flow.scheduling.type.unsolicited:
                total += reserved(flow.min_reserved_rate, flow.assumed_packet_size, profile)
            if total > most:
                raise KeyedError(
                    f"modems.{list(services).index(name)}",
                    f"upstream service flow {flow.reference} of {name} ({flow.scheduling.type}) "
                    "brings unsolicited grants, polls and reserved rates to "
                    f"{math.ceil(total)} minislots a MAP, and {channel.name} may promise "
                    f"{math.floor(most)}; give them longer intervals or less, or fewer modems to "
                    "the channel",
                )
