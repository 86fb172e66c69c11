# SPDX-License-Identifier: Apache-2.0
"""The records of a run's upstream channels: counters, and some MAPs that show something."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from docsis_control.status.upstream import UpstreamChannel, UpstreamMap

LOOKS: Final = 12
"""Times in the measured part at which some MAPs of each channel are looked at."""

KEPT: Final = 16
"""MAPs of one look. The last of them are of time to come when it ends."""


class ChannelLooks:
    """Looks at channels; of each channel the MAPs that show the most are kept."""

    def __init__(self) -> None:
        self._best: dict[str, tuple[UpstreamMap, ...]] = {}

    def add(self, channel: UpstreamChannel) -> None:
        """Another look at a channel, with its last MAPs."""
        # What becomes of the rest is not known yet.
        maps = tuple(one for one in channel.last_maps if one.end_ns <= channel.time_ns)
        if told(maps) > told(self._best.get(channel.name, ())):
            self._best[channel.name] = maps

    def with_maps(self, channels: Iterable[UpstreamChannel]) -> tuple[UpstreamChannel, ...]:
        """The same channels, each with the MAPs that were kept."""
        return tuple(
            replace(channel, last_maps=self._best.get(channel.name, ())) for channel in channels
        )


def times(seconds: float) -> list[float]:
    """When to look, evenly over so many seconds."""
    return [seconds * (number + 0.5) / LOOKS for number in range(LOOKS)]


def told(maps: Sequence[UpstreamMap]) -> int:
    """How much there is to be seen of MAPs: grants, requests, and most of all collisions."""
    return sum(
        sum(one.usage == "grant" for one in each.elements)
        + each.requests_sent
        + 4 * each.requests_collided
        for each in maps
    )
