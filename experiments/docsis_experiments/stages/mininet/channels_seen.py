# SPDX-License-Identifier: Apache-2.0
"""Looks at the upstream channels of a testbed, over docsis.mac.v1."""

from __future__ import annotations

from docsis_control.mac.channel_state import METHOD, Names, channels_from, request
from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.visits import Visits
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.status.directory import directory
from docsis_control.status.upstream import UpstreamChannel
from docsis_control.topology.models import Topology
from docsis_experiments.measurement.channel_looks import KEPT, ChannelLooks
from docsis_testbed.addresses import device_address
from docsis_testbed.errors import TestbedError


class ChannelsSeen:
    """Looks at all channels that carry what the modems' device sends.

    Args:
        address: host:port or unix:PATH of the device's server.
        device_id: P4Runtime's.
        names: Names of service flows.
    """

    def __init__(self, address: str, device_id: int, names: Names) -> None:
        self._device = LocalDevice(Visits(address), f"the switch at {address}", device_id)
        self._names = names
        self._looks = ChannelLooks()

    def look(self) -> None:
        """Looks at their last MAPs, for which packets wait some microseconds.

        Raises:
            TestbedError: The switch does not tell.
        """
        for channel in self._channels(KEPT):
            self._looks.add(channel)

    def channels(self) -> tuple[UpstreamChannel, ...]:
        """Reads the channels' counters as of now, with the MAPs that were kept.

        Raises:
            TestbedError: The switch does not tell.
        """
        return self._looks.with_maps(self._channels(0))

    def _channels(self, maps: int) -> tuple[UpstreamChannel, ...]:
        try:
            [answer] = completed(self._device.call("looking at channels", METHOD, request(maps)))
        except (ConnectionLost, P4RuntimeError) as error:
            raise TestbedError(
                f"{self._device.place} does not tell of its upstream channels ({error}); its log "
                "in the results' folder may say why"
            ) from None
        return channels_from(answer, self._names)


def channels_of(topology: Topology) -> ChannelsSeen | None:
    """The channels of a topology's modems; None where it has none."""
    if not topology.upstream_channels:
        return None
    device = topology.cable_modem
    # Whatever manages the queues, service flows have these names.
    names = directory(deploy(topology, Preset.DROP_TAIL)).flow_name
    return ChannelsSeen(device_address(device), device.device_id, names)
