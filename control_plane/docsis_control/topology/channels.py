# SPDX-License-Identifier: Apache-2.0
"""The shared channels of a topology: rates of the channel, and upstream channels by modem."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, Final, Literal

from pydantic import Field, field_validator

from docsis_control.config.models import MAX_RATE, Model
from docsis_control.config.units import DataRate, format_rate
from docsis_control.topology.downstream import DownstreamFraming, MapTraffic, Packets
from docsis_control.topology.elsewhere import LINKS
from docsis_control.topology.upstream_channels import UpstreamChannel

DownstreamQueues = Literal["per-service-flow", "shared"]

SHARED: Final[DownstreamQueues] = "shared"
"""One queue, with one queue manager, serves all downstream service flows."""


NO_SHARED_QUEUE: Final = (
    "has no queue that all downstream service flows share (channel.downstream_queues: shared), as "
    "its ports do not loop back; use the embedded switch, or per-service-flow"
)
"""Why a target refuses such a topology."""


class ChannelRates(Model):
    """The rates of the shared channel, in bit/s of Ethernet frames."""

    elsewhere: ClassVar[Mapping[str, str]] = LINKS

    upstream: DataRate | None = Field(
        default=None,
        description="Capacity from all modems to the CMTS; upstream channels have their own.",
    )
    downstream: DataRate = Field(description="Capacity from the CMTS to all modems.")
    downstream_framing: DownstreamFraming | None = Field(
        default=None,
        description="Packets that carry the frames, which the downstream's rate then counts; the "
        "frames alone unless given.",
    )
    downstream_queues: DownstreamQueues = Field(
        default="per-service-flow",
        description="Whether downstream service flows take turns on the channel, each with a queue "
        "and a queue manager of its own, or share one queue behind the rates of each.",
    )
    downstream_queue: Packets | None = Field(
        default=None,
        description="Frames of 1,522 bytes that a downstream queue holds where no size is given: "
        "the queue of a service flow without a buffer, and the shared queue; 250 ms unless given.",
    )
    map_traffic: MapTraffic | None = Field(
        default=None,
        description="Downstream capacity that MAPs of upstream channels take; none unless given.",
    )

    @field_validator("upstream", "downstream")
    @classmethod
    def _rate(cls, value: int | None) -> int | None:
        if value is not None and not 0 < value <= MAX_RATE:
            raise ValueError(
                f"a channel's rate must be above 0 and at most {MAX_RATE} bps, "
                f"not {format_rate(value)}"
            )
        return value


@lru_cache(maxsize=8)
def spread(
    channels: tuple[UpstreamChannel, ...], wanted: tuple[tuple[str, str | None], ...]
) -> Mapping[str, UpstreamChannel]:
    """The upstream channel of each modem, by the modem's name; empty where there are no channels.

    Modems that name none are spread evenly: one after the other, each gets the first of the
    channels with the fewest modems, those that are named counted.

    Args:
        channels: The topology's channels, with names of their own.
        wanted: Each modem's name, and that of its channel or None.
    """
    by_name = {channel.name: channel for channel in channels}
    if not by_name:
        return MappingProxyType({})
    modems = dict.fromkeys(by_name, 0)
    for _, name in wanted:
        if name is not None:
            modems[name] += 1
    found: dict[str, UpstreamChannel] = {}
    for modem, given in wanted:
        name = min(modems, key=modems.__getitem__) if given is None else given
        if given is None:
            modems[name] += 1
        found[modem] = by_name[name]
    # All who ask get the same.
    return MappingProxyType(found)
