# SPDX-License-Identifier: Apache-2.0
"""What a run keeps of its upstream channels: counters, and some MAPs that show something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from docsis_control.mac.channel_state import Names, channel_from
from docsis_control.status.upstream import UpstreamChannel, UpstreamMap

if TYPE_CHECKING:
    from docsis_experiments.stages.virtual.play import Play

LOOKS: Final = 12
"""Times in the measured part at which some MAPs of each channel are looked at."""

KEPT: Final = 16
"""MAPs of one look. The last of them are of time to come when it ends."""


class ChannelsSeen:
    """Looks at the channels of a play some times, and keeps the look that shows the most.

    Channels keep MAPs during a look alone: in between they cost what they cost without anybody.
    """

    def __init__(self, play: Play, channels: Sequence[str], names: Names) -> None:
        """Args: the play, names of its channels, and of service flows."""
        self._play = play
        self._channels = channels
        self._names = names
        self._best: dict[str, tuple[UpstreamMap, ...]] = {}

    def look(self, begin: float, seconds: float) -> None:
        """Has looks put into the timetable, evenly over a part of the run."""
        for name in self._channels:
            shape = self._state(name)
            frames = -(-shape.map_minislots // shape.minislots_per_frame)
            length = KEPT * frames * shape.frame_ps / 1e12
            for number in range(LOOKS):
                at = begin + seconds * (number + 0.5) / LOOKS
                if at + length < begin + seconds:
                    self._play.when(at, lambda name=name: self._begin(name))  # type: ignore[misc]
                    self._play.when(at + length, lambda name=name: self._end(name))  # type: ignore[misc]

    def channels(self) -> tuple[UpstreamChannel, ...]:
        """What they have done by now, with the MAPs that were kept."""
        return tuple(
            replace(self._state(name), last_maps=self._best.get(name, ()))
            for name in self._channels
        )

    def _begin(self, name: str) -> None:
        self._play.world.watch_channel(name, KEPT)

    def _end(self, name: str) -> None:
        state = self._state(name)
        self._play.world.watch_channel(name, 0)
        # What became of the rest is not known.
        maps = tuple(one for one in state.last_maps if one.end_ns <= state.time_ns)
        if told(maps) > told(self._best.get(name, ())):
            self._best[name] = maps

    def _state(self, name: str) -> UpstreamChannel:
        return channel_from(self._play.world.channel_state(name), self._names)


def told(maps: Sequence[UpstreamMap]) -> int:
    """How much there is to be seen of MAPs: grants, requests, and most of all collisions."""
    return sum(
        sum(one.usage == "grant" for one in each.elements)
        + each.requests_sent
        + 4 * each.requests_collided
        for each in maps
    )
