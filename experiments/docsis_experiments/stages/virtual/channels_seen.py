# SPDX-License-Identifier: Apache-2.0
"""Looks at the upstream channels of a world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docsis_control.mac.channel_state import Names, channel_from
from docsis_control.status.upstream import UpstreamChannel
from docsis_experiments.measurement.channel_looks import KEPT, ChannelLooks, times

if TYPE_CHECKING:
    from docsis_experiments.stages.virtual.play import Play


class ChannelsSeen:
    """Looks at the channels of a play some times.

    Channels keep MAPs during a look alone: in between they cost what they cost without anybody.
    """

    def __init__(self, play: Play, channels: Sequence[str], names: Names) -> None:
        """Args: the play, names of its channels, and of service flows."""
        self._play = play
        self._channels = channels
        self._names = names
        self._looks = ChannelLooks()

    def look(self, begin: float, seconds: float) -> None:
        """Has looks put into the timetable, evenly over a part of the run."""
        for name in self._channels:
            shape = self._state(name)
            frames = -(-shape.map_minislots // shape.minislots_per_frame)
            length = KEPT * frames * shape.frame_ps / 1e12
            for at in times(seconds):
                if at + length < seconds:
                    start = begin + at
                    self._play.when(start, lambda name=name: self._begin(name))  # type: ignore[misc]
                    self._play.when(start + length, lambda name=name: self._end(name))  # type: ignore[misc]

    def channels(self) -> tuple[UpstreamChannel, ...]:
        """Reads the channels' counters as of now, with the MAPs that were kept."""
        return self._looks.with_maps(self._state(name) for name in self._channels)

    def _begin(self, name: str) -> None:
        self._play.world.watch_channel(name, KEPT)

    def _end(self, name: str) -> None:
        state = self._state(name)
        self._play.world.watch_channel(name, 0)
        self._looks.add(state)

    def _state(self, name: str) -> UpstreamChannel:
        return channel_from(self._play.world.channel_state(name), self._names)
