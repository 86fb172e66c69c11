# SPDX-License-Identifier: Apache-2.0
"""The plan from which a stage builds the upstream channels of a deployment: integers alone.

Names and units are those of the switch's crate mac-wire: nanoseconds, minislots, bytes, bit/s.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from docsis_control.mac.profile import Number, Profile
from docsis_control.modem_config.scheduling import Scheduling
from docsis_control.topology.downstream import MapTraffic


@dataclass(frozen=True)
class ChannelFlow:
    """An upstream service flow as scheduler and modem are both told of it.

    Attributes:
        sid: Its number on the channel. It is the index that the pipeline's registers and the
            traffic manager's queue have, too: unique on all channels, and it stays as long as the
            service flow lives.
        modem: Number of its modem.
        reference: Its Service Flow Reference.
        sfid: Service Flow Identifier.
        scheduling: How it comes to grants: service, policy, intervals, sizes.
        priority: 0 to 7, 7 first.
        max_sustained_rate: bit/s; 0 is no limit.
        max_burst: Bytes.
        peak_rate: bit/s; 0 is no limit.
        min_reserved_rate: bit/s; 0 is none.
        assumed_packet_size: Bytes that a shorter frame counts for in the minimum rate.
    """

    sid: int
    modem: int
    reference: int
    sfid: int
    scheduling: Scheduling
    priority: int
    max_sustained_rate: int
    max_burst: int
    peak_rate: int
    min_reserved_rate: int
    assumed_packet_size: int


@dataclass(frozen=True)
class UpstreamChannelPlan:
    """An upstream channel with a request/grant MAC, and the service flows on it.

    Attributes:
        name: Its name in the topology.
        number: Number of the channel in MAPs, from 1.
        device: Name of the switch whose queues its grants let go.
        port: The port of that switch.
        profile: All of its numbers.
        overrides: Numbers in which it differs from the profile of its name, by their dotted names.
        flows: Its service flows, by ascending SID.
        map_traffic: Downstream capacity that its MAPs take; None: nothing.
    """

    name: str
    number: int
    device: str
    port: int
    profile: Profile
    overrides: Mapping[str, Number]
    flows: tuple[ChannelFlow, ...]
    map_traffic: MapTraffic | None = None
