# SPDX-License-Identifier: Apache-2.0
"""A topology as BMv2 can build it, and how that differs from what was asked for. Pure."""

from typing import Final

from docsis_control.config.models import ServiceFlowProfile, ServiceTier
from docsis_control.config.units import format_rate
from docsis_control.modem_config.provisioned import Direction
from docsis_control.topology.models import Topology
from docsis_control.topology.services import configuration_of, service_of

MOST_RATE: Final = 50_000_000
"""bit/s that a service flow may have whose queue is to be the bottleneck. docs/targets.md has what
was measured: at 100 Mbit/s the processor is."""

APPROXIMATIONS: Final = (
    "BMv2 shapes in packets per second, not in bytes: full-size frames get the Maximum Sustained "
    "Traffic Rate, and each shorter frame takes as much of it as a full one",
    "BMv2 has no token buckets: the Maximum Sustained Traffic Rate stands in for the Peak Traffic "
    "Rate, and there is no burst above it",
    "BMv2's ports add no delay: every round-trip time of the topology is 0",
    "BMv2 has eight queues a port: service flows of one Traffic Priority share one, with the sum "
    "of their rates",
)
"""Differences of a result on BMv2 from one on DOCSIS queues. Reports print each as a sentence and
add the full stop."""


def approximated(topology: Topology) -> Topology:
    """The topology with what BMv2's queues and ports have of it.

    Tiers lose what is above their sustained rate, so that the control law counts on the rate at
    which the queue really drains. Modems with a configuration file keep what that says.
    """
    return topology.model_copy(
        update={
            "tier": _sustained(topology.tier),
            "modems": tuple(
                modem.model_copy(update={"tier": _sustained(modem.tier)})
                for modem in topology.modems
            ),
            "servers": tuple(
                server.model_copy(update={"round_trip_time": 0}) for server in topology.servers
            ),
        }
    )


def too_fast(topology: Topology, direction: Direction) -> str:
    """Names a service flow that BMv2 cannot carry, in words; "" where it can carry each.

    Args:
        topology: Topology to be built.
        direction: Which way it is loaded.
    """
    for modem in topology.modems:
        service = service_of(topology, modem, configuration_of(topology, modem))
        for flow in service.service_flows:
            rate = flow.max_sustained_rate or topology.channel_rate(direction, modem.name) or 0
            if flow.direction == direction and rate > MOST_RATE:
                tier = topology.tier_of(modem)
                of = f"the tier {tier.name}" if tier else f"the modem {modem.name}"
                return (
                    f"{of} has {format_rate(rate)} {direction}, and BMv2 carries "
                    f"{format_rate(MOST_RATE)} at the most"
                )
    return ""


def _sustained(tier: ServiceTier | None) -> ServiceTier | None:
    if tier is None:
        return None
    return tier.model_copy(
        update={"upstream": _flat(tier.upstream), "downstream": _flat(tier.downstream)}
    )


def _flat(profile: ServiceFlowProfile) -> ServiceFlowProfile:
    return profile.model_copy(update={"peak_traffic_rate": profile.maximum_sustained_traffic_rate})
