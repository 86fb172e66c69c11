# SPDX-License-Identifier: Apache-2.0
"""The queue of exercise 4 as it should be, and as it is with typical mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Frames = Sequence[tuple[float, int]]
Admit = Callable[[float, float, float], bool]


def admit(backlog: float, length: float, limit: float) -> bool:
    """Whether a frame may enter."""
    return backlog + length <= limit


def departures(
    frames: Frames,
    limit: float,
    rate: float,
    *,
    admitted: Admit = admit,
    drains: bool = True,
    waits_for_link: bool = True,
    waits_for_frame: bool = True,
    in_frames: bool = False,
) -> list[float | None]:
    """When each frame's last bit leaves; None of one that is dropped.

    Args:
        frames: Arrival, seconds, and length, bytes.
        limit: Bytes that may wait.
        rate: bit/s.
        admitted: Who is let in.
        drains: Whether frames that have left make room.
        waits_for_link: Whether a frame waits for the one before it.
        waits_for_frame: Whether the link waits for a frame that has not come yet.
        in_frames: Whether the queue is counted in frames.
    """
    left: list[float | None] = []
    waiting: list[tuple[float, int]] = []
    free = 0.0
    for arrival, length in frames:
        if drains:
            waiting = [one for one in waiting if one[0] > arrival]
        backlog = len(waiting) if in_frames else sum(size for _, size in waiting)
        if not admitted(backlog, length, limit):
            left.append(None)
            continue
        begin = arrival if not waits_for_link else max(free, arrival) if waits_for_frame else free
        free = begin + length * 8 / rate
        waiting.append((free, length))
        left.append(free)
    return left
