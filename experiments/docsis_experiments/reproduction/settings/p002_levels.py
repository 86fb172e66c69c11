# SPDX-License-Identifier: Apache-2.0
"""Numbers of flows, and times of 002's runs, at each level (catalogue, sections 5 and 13).

Runs of 2000 s are looked at from 100 s on, and what comes and goes is there from 500 to 1500 s. A
shorter run has the same shares of its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from docsis_experiments.reproduction.row import Level

FLOWS: Final = (1, 3, 5, 7, 9, 11)
"""FTP flows: n."""

LARGEST: Final = FLOWS[-1]

_STUDY_FLOWS: Final = (1, 5, 9, 11)

TIERED: Final = (9, 11)
"""The flows of EXP3's table."""

OVERLOADED: Final = (5, 9)
"""The flows of row E4."""

OVERLOADED_IN_MININET: Final = (5,)


@dataclass(frozen=True)
class Times:
    """The times of a run, in seconds.

    Attributes:
        all: From its start to its end.
    """

    all: int

    @property
    def ramp_up(self) -> int:
        """No part of what is measured: a twentieth."""
        return self.all // 20

    @property
    def measured(self) -> int:
        """The rest."""
        return self.all - self.ramp_up

    @property
    def middle(self) -> tuple[int, int]:
        """When what comes and goes is there: half of the run, in seconds of the measured time."""
        return self.all // 4 - self.ramp_up, 3 * self.all // 4 - self.ramp_up

    @property
    def competing(self) -> tuple[int, int]:
        """When the download beside a video is there, 600 to 1200 s of 2000 s, in seconds of the
        measured time.

        Of 600 s it is 180 to 360 s: there are 150 s of the video alone before, 180 s beside the
        download where row NF looks at 30, and 240 s after it where row NF looks at 60.
        """
        return 3 * self.all // 10 - self.ramp_up, 3 * self.all // 5 - self.ramp_up

    @property
    def bins(self) -> tuple[tuple[int, int], ...]:
        """Parts of the measured time that a figure over time has a value of."""
        length = self.all // _BINS
        return tuple((at, at + length) for at in range(0, self.measured, length))


_BINS: Final = 40
"""Bins of a run; two of them are no part of the measured time."""

_TIMES: Final[Mapping[Level, Times]] = {
    Level.SMOKE: Times(40),
    Level.STUDY: Times(600),
    Level.FULL: Times(2000),
}

IN_MININET: Final = Times(300)
"""Row E4: 300 s (catalogue, section 13)."""


def times(level: Level) -> Times:
    """The times of all runs in virtual time."""
    return _TIMES[level]


def flows(level: Level, least: int = 1) -> tuple[int, ...]:
    """The numbers of FTP flows that a level has, from a least one on."""
    chosen = FLOWS if level is Level.FULL else _STUDY_FLOWS
    return tuple(number for number in chosen if number >= least)
