# SPDX-License-Identifier: Apache-2.0
"""Drops of the compiled pipeline at a probability that stays as it is (000, section 8)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from docsis_experiments.reproduction.row import Draws, Level

PLAIN: Final = "pie"
"""Drops that remember nothing."""
DERANDOMISED: Final = "docsis-pie"

BLOCK: Final = 1000
"""Frames whose drops are counted together."""

EFFECTIVE: Final = 0.541
"""Effective over set probability below 0.1 (appendix B)."""

_LESS_AT_SMOKE: Final = 100
_MOST_FRAMES: Final = 200_000_000


@dataclass(frozen=True)
class Drops:
    """The fates of the frames at one probability.

    Attributes:
        drop_prob: As it was set.
        frames: How many came.
        dropped: How many of them were dropped.
        runs: Frames from one drop to the next, that one included, and how often.
        blocks: Drops in a thousand frames in a row, and how often.
    """

    drop_prob: float
    frames: int
    dropped: int
    runs: tuple[tuple[int, int], ...]
    blocks: tuple[tuple[int, int], ...]

    @property
    def rate(self) -> float:
        """The effective probability."""
        return self.dropped / self.frames

    @property
    def mean_run(self) -> float:
        """Frames."""
        return _mean(self.runs)

    @property
    def mean_block(self) -> float:
        """Drops in a thousand."""
        return _mean(self.blocks)

    @property
    def variance_of_blocks(self) -> float:
        """The variance of the drops in a thousand."""
        mean = self.mean_block
        count = sum(times for _, times in self.blocks)
        return sum(times * (drops - mean) ** 2 for drops, times in self.blocks) / count

    def off_by_half(self, expected: float) -> float:
        """Share of blocks whose drops are off by half of what is expected, or by more."""
        count = sum(times for _, times in self.blocks)
        off = sum(t for drops, t in self.blocks if abs(drops - expected) >= expected / 2)
        return off / count


def _mean(counted: Iterable[tuple[int, int]]) -> float:
    pairs = list(counted)
    return sum(value * times for value, times in pairs) / sum(times for _, times in pairs)


def draws(
    label: str,
    manager: Literal["pie", "docsis-pie"],
    probabilities: Sequence[float],
    frames: int,
    level: Level,
    seed: int,
) -> Draws:
    """Frames of 1024 bytes through the pipeline at each probability, fewer of them at smoke."""
    if level is Level.SMOKE:
        frames = math.ceil(frames / _LESS_AT_SMOKE)
    given = [word for p in probabilities for word in ("--drop-prob", repr(p))]
    arguments = (
        "drops", "--queue-manager", manager, "--frames", str(min(frames, _MOST_FRAMES)),
        "--seed", str(seed), *given,
    )  # fmt: skip
    return Draws(label, arguments, seed)


def frames_for(runs: float, p: float, manager: Literal["pie", "docsis-pie"]) -> int:
    """Frames that have about so many runs: as many as drops."""
    return math.ceil(runs / (p if manager == PLAIN else EFFECTIVE * p))


def drops_of(report: Mapping[str, object]) -> list[Drops]:
    """Reads a report of the switch, by probability."""
    return [
        Drops(
            each["drop_prob"],
            each["frames"],
            each["dropped"],
            tuple((run, times) for run, times in each["run_lengths"]),
            tuple((drops, times) for drops, times in each["drops_in_1000"]),
        )
        for each in cast("list[dict[str, Any]]", report["results"])
    ]
