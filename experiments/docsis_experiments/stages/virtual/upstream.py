# SPDX-License-Identifier: Apache-2.0
"""Upstream channels of a deployment in a world: the request/grant MAC between modems and CMTS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docsis_control.mac.plan import ChannelFlow, UpstreamChannelPlan
from docsis_control.topology.downstream import MapTraffic
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.models import Scenario
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_world import World


def check_channels(topology: Topology, scenario: Scenario) -> None:
    """Refuse RF congestion of the upstream where upstream channels carry it.

    Raises:
        TestbedError: A port's rate is to change that no port has.
    """
    if topology.upstream_channels and scenario.channel and scenario.direction == "upstream":
        raise TestbedError(
            f"scenario {scenario.name} changes the rate that the modems share (channel), and "
            f"topology {topology.name} has upstream channels, whose numbers stay; leave out one "
            "of them"
        )


def add_channels(
    world: World, channels: Sequence[UpstreamChannelPlan], maps: MapTraffic | None = None
) -> None:
    """Have channels carry what modems send upstream.

    Args:
        world: Has the devices, connected; they may be provisioned already, and nothing was sent.
        channels: Which there are, with their service flows; without any, modems send as they did.
        maps: What their MAPs take of the downstream; None: nothing.

    Raises:
        TestbedError: A channel cannot be had, with what is wrong.
    """
    # What the pipeline leaves without a service flow goes with the first: there is no other way.
    primary: dict[tuple[str, int], int] = {}
    for channel in channels:
        for flow in channel.flows:
            place = (channel.device, channel.port)
            primary[place] = min(flow.sid, primary.get(place, flow.sid))
    try:
        for (device, port), queue in primary.items():
            world.grant_port(device, port, queue)
        for channel in channels:
            world.add_channel(channel.name, channel.profile.name, **channel.overrides)
            if maps is not None:
                world.set_map_traffic(channel.name, maps.message, maps.element)
            for flow in channel.flows:
                _add(world, channel, flow)
    except ValueError as error:
        raise TestbedError(f"upstream channels: {error}") from None


def _add(world: World, channel: UpstreamChannelPlan, flow: ChannelFlow) -> None:
    scheduling = flow.scheduling
    given = {
        "policy": int(scheduling.policy),
        "polling_interval_ns": scheduling.polling_interval,
        "poll_jitter_ns": scheduling.poll_jitter,
        "grant_size": scheduling.grant_size,
        "grant_interval_ns": scheduling.grant_interval,
        "grant_jitter_ns": scheduling.grant_jitter,
        "grants_per_interval": scheduling.grants_per_interval,
        "guaranteed_grant_interval_ns": scheduling.guaranteed_grant_interval,
        "guaranteed_grant_rate": scheduling.guaranteed_grant_rate,
        "max_concatenated_burst": scheduling.max_concatenated_burst,
        "backoff_eighths": scheduling.backoff_eighths,
        "request_unit": scheduling.request_unit,
        "traffic_priority": flow.priority,
        "max_sustained_rate": flow.max_sustained_rate,
        "max_burst": flow.max_burst,
        "peak_rate": flow.peak_rate,
        "min_reserved_rate": flow.min_reserved_rate,
        "assumed_packet_size": flow.assumed_packet_size,
    }
    # What a scheduling type does not use is 0 in a plan. The policy says something as 0.
    used = {key: value for key, value in given.items() if value or key == "policy"}
    world.add_upstream_flow(
        channel.name,
        channel.device,
        channel.port,
        flow.sid,
        flow.sid,
        scheduling.type.value,
        **used,
    )
