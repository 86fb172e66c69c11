# SPDX-License-Identifier: Apache-2.0
"""Makes the plans of a deployment's upstream channels. Pure."""

from docsis_control.config.models import KeyedError
from docsis_control.mac.plan import ChannelFlow, UpstreamChannelPlan
from docsis_control.mac.profile import overrides
from docsis_control.mac.profiles import named
from docsis_control.plan import Deployment, ModemPlan, Role, ServiceFlow
from docsis_control.ports import RF_PORT
from docsis_control.topology.models import Topology


def upstream_channels(deployment: Deployment) -> tuple[UpstreamChannelPlan, ...]:
    """The upstream channels of a deployment, in the topology's order; none without a MAC."""
    topology = deployment.topology
    if not topology.upstream_channels:
        return ()
    device = deployment.device(Role.CABLE_MODEM)
    modems = {modem.number: modem for modem in deployment.modems}
    channel_of = topology.channel_of
    flows: dict[str, list[ChannelFlow]] = {one.name: [] for one in topology.upstream_channels}
    for flow in device.service_flows:
        modem = modems[flow.modem]
        flows[channel_of[modem.name].name].append(_flow(flow, modem))
    maps = topology.channel.map_traffic if topology.channel else None
    plans = []
    for number, channel in enumerate(topology.upstream_channels, 1):
        profile = channel.numbers
        plans.append(
            UpstreamChannelPlan(
                channel.name,
                number,
                device.name,
                RF_PORT,
                profile,
                overrides(profile, named(channel.profile)),
                tuple(flows[channel.name]),
                maps,
            )
        )
    return tuple(plans)


def refuse_channels(topology: Topology, where: str) -> None:
    """Refuses a topology with upstream channels where nothing runs their MAC.

    Args:
        where: The thing that has none, for the message.

    Raises:
        KeyedError: It has some; the key is from the topology's root.
    """
    for channel in topology.upstream_channels or ():
        raise KeyedError(
            "upstream_channel",
            f"topology {topology.name} has the upstream channel {channel.name} "
            f"({channel.profile}), and {where} has no request/grant MAC; leave upstream_channel "
            "out, or make it none",
        )


def _flow(flow: ServiceFlow, modem: ModemPlan) -> ChannelFlow:
    configured = next(
        one
        for one in modem.service.service_flows
        if (one.direction, one.reference) == ("upstream", flow.reference)
    )
    assert configured.scheduling is not None, "it goes upstream"
    return ChannelFlow(
        sid=flow.index,
        modem=flow.modem,
        reference=flow.reference,
        sfid=flow.sfid,
        scheduling=configured.scheduling,
        priority=flow.traffic_priority,
        max_sustained_rate=flow.max_sustained_rate,
        max_burst=flow.max_burst,
        peak_rate=flow.peak_rate,
        min_reserved_rate=flow.min_reserved_rate,
        assumed_packet_size=flow.assumed_packet_size,
    )
