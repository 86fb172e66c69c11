# SPDX-License-Identifier: Apache-2.0
"""The causes of a video that does not give way in 002's row NF: the queue in front of it.

    python -m docsis_experiments.reproduction.sensitivities.one_video [JOBS]

The slides name no queue manager and no buffer for this experiment, so the row has those of the
others: drop tail and 2048 packets. These are 0.65 s at the 38 Mbit/s of the other experiments, and
4.1 s at the 6 Mbit/s of this one. Each variant is played as the row has it, on two trial seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from docsis_experiments.reproduction.row import TRIAL_SEEDS, Asked, Level, Run
from docsis_experiments.reproduction.settings.p002_levels import times
from docsis_experiments.reproduction.settings.p002_network import BUFFER, CAPACITY, FRAME
from docsis_experiments.reproduction.settings.p002_outcomes import goodput_mbps, measured
from docsis_experiments.reproduction.settings.p002_quantities import fall, time_back
from docsis_experiments.reproduction.settings.p002_readings import Reading
from docsis_experiments.reproduction.settings.p002_traffic import VIDEO
from docsis_experiments.reproduction.settings.p002_units import (
    ONE_VIDEO,
    Experiment,
    Setting,
    runs,
)
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes

SEEDS: Final = TRIAL_SEEDS[:2]

_PACKETS: Final = BUFFER // FRAME


@dataclass(frozen=True)
class Buffered(Setting):
    """A setting with another buffer.

    Attributes:
        packets: In the buffer.
    """

    packets: int = _PACKETS

    @property
    def work(self) -> str:
        """Tells the setting from all others."""
        return f"{super().work}, {self.packets} packets"

    @property
    def buffer(self) -> int:
        """Bytes."""
        return self.packets * FRAME


def _video(manager: str, packets: int = _PACKETS) -> Buffered:
    return Buffered(manager, 1, Experiment.ONE_VIDEO, packets=packets)


_AS_LONG: Final = _PACKETS * ONE_VIDEO // CAPACITY
"""Packets that take as long at 6 Mbit/s as 2048 packets at 38 Mbit/s."""

VARIANTS: Final[Mapping[str, Setting]] = {
    "drop tail, 2048 packets, as registered": _video("drop-tail"),
    **{
        f"drop tail, {packets} packets": _video("drop-tail", packets)
        for packets in (1024, 512, _AS_LONG, 100)
    },
    "Adaptive RED": _video("adaptive-red"),
    "CoDel": _video("codel"),
    "PIE": _video("pie"),
    "DRR": Setting("drr", 1, Experiment.ONE_VIDEO),
}


def works() -> Sequence[Run]:
    """The runs of both seeds."""
    return list(runs(VARIANTS.values(), Asked(Level.STUDY, 1, SEEDS), Reading.FIRST))


def main(jobs: int) -> None:
    """Plays them, and tells the row's two parts and the goodput beside the download."""
    found = outcomes(works(), Shelf(), jobs)
    at = times(Level.STUDY)
    start, end = at.competing
    beside = [during for during in at.bins if start <= during[0] and during[1] <= end]
    for name, variant in VARIANTS.items():
        own = [found[variant.work, seed] for seed in SEEDS]
        falls = " and ".join(f"{measured(one, fall(at.competing)):.1f}" for one in own)
        back = " and ".join(f"{measured(one, time_back(at.competing)):.1f}" for one in own)
        carried = " and ".join(
            f"{sum(goodput_mbps(one, VIDEO, during) for during in beside) / len(beside):.2f}"
            for one in own
        )
        print(
            f"{name}: the rate falls by {falls}% within 30 s and is back after {back} s; beside "
            f"the download the video has {carried} Mbit/s",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
