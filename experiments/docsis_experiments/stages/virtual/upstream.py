# SPDX-License-Identifier: Apache-2.0
"""Upstream channels of a deployment in a world: the request/grant MAC between modems and CMTS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docsis_control.mac.plan import ChannelFlow, UpstreamChannelPlan
from docsis_control.mac.requests import flow_settings, primary_queues
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_world import World


def add_channels(world: World, channels: Sequence[UpstreamChannelPlan]) -> None:
    """Have channels carry what modems send upstream.

    Args:
        world: Has the devices, connected; they may be provisioned already, and nothing was sent.
        channels: Which there are, with their service flows; without any, modems send as they did.

    Raises:
        TestbedError: A channel cannot be had, with what is wrong.
    """
    try:
        for (device, port), queue in primary_queues(channels).items():
            world.grant_port(device, port, queue)
        for channel in channels:
            world.add_channel(channel.name, channel.profile.name, **channel.overrides)
            if (maps := channel.map_traffic) is not None:
                world.set_map_traffic(channel.name, maps.message, maps.element)
            for flow in channel.flows:
                _add(world, channel, flow)
    except ValueError as error:
        raise TestbedError(f"upstream channels: {error}") from None


def congest(world: World, channels: Sequence[str], rate: int, variation_percent: int) -> None:
    """Have other users leave that much of each channel, from its next MAP on.

    Args:
        world: Has the channels.
        channels: Their names.
        rate: bit/s, the mean of each.
        variation_percent: How far each MAP's draw may lie from it.

    Raises:
        TestbedError: A channel has promised more to its service flows.
    """
    for channel in channels:
        try:
            world.set_channel_capacity(channel, rate, variation_percent)
        except ValueError as error:
            raise TestbedError(f"upstream channel {channel}: {error}") from None


def _add(world: World, channel: UpstreamChannelPlan, flow: ChannelFlow) -> None:
    world.add_upstream_flow(
        channel.name,
        channel.device,
        channel.port,
        flow.sid,
        flow.sid,
        flow.scheduling.type.value,
        **flow_settings(flow),
    )
