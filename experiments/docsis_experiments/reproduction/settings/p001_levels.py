# SPDX-License-Identifier: Apache-2.0
"""Buffers and times of 001's runs at each level (catalogue, sections 4 and 13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from docsis_experiments.reproduction.row import Level

BUFFERS: Final = (
    10, 20, 30, 40, 50, 60, 80, 100, 125, 150,
    200, 250, 300, 400, 500, 600, 700, 800, 900, 960,
)  # fmt: skip
"""Milliseconds at the sustained rate; the paper has twenty and does not list them."""

LARGEST: Final = BUFFERS[-1]

_STUDY_BUFFERS: Final = (20, 50, 100, 200, 400, 960)

PLATEAU: Final = 100
"""Milliseconds: from this buffer on goodput is nearly constant (row F2b)."""


@dataclass(frozen=True)
class Times:
    """The times of a run, in seconds; the ramp-up is no part of the measured time."""

    ramp_up: int
    measured: int


_TIMES: Final[Mapping[Level, Times]] = {
    Level.SMOKE: Times(6, 10),
    # 600 s and 2000 s in all, less 60.
    Level.STUDY: Times(60, 540),
    Level.FULL: Times(60, 1940),
}


def times(level: Level) -> Times:
    """The times of most runs."""
    return _TIMES[level]


def buffers(level: Level, least: int = 0, most: int = LARGEST) -> tuple[int, ...]:
    """The buffers that a level has, within bounds that are included."""
    chosen = BUFFERS if level is Level.FULL else _STUDY_BUFFERS
    return tuple(buffer for buffer in chosen if least <= buffer <= most)


def knee_buffers(level: Level) -> tuple[int, ...]:
    """All of them, without which a knee is not found; at `smoke` those of the study."""
    return _STUDY_BUFFERS if level is Level.SMOKE else BUFFERS


IN_MININET: Final = Times(20, 120)
"""Rows that are marked with µ: 120 s (catalogue, section 13)."""

MININET_BUFFERS: Final = (100, 400, 960)
"""The same."""
