# SPDX-License-Identifier: Apache-2.0
"""Shows how the deviations of row 002-E3S change with the length of the bins and the first 10 s.

    python -m docsis_experiments.reproduction.sensitivities.two_tiers [JOBS]

The slides give the deviation of a tier 2 download and of a tier 1 download of like round trip, and
neither the bins' length nor whether they begin when the download does. The row has bins of 10 s
from its start on, and in the first of them it is still in slow start. Here are other bins, and all
of them again without the first 10 s. Both are of the study's 600 s, on two trial seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.reproduction.row import TRIAL_SEEDS, Asked, Level, Run
from docsis_experiments.reproduction.settings.p002_outcomes import goodput_mbps, measured
from docsis_experiments.reproduction.settings.p002_quantities import Span, deviation, goodput
from docsis_experiments.reproduction.settings.p002_readings import Reading
from docsis_experiments.reproduction.settings.p002_traffic import TIER2
from docsis_experiments.reproduction.settings.p002_units import Experiment, Setting, runs
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes

SEEDS: Final = TRIAL_SEEDS[:2]

_BINS_S: Final = (1, 5, 10, 20, 30, 50, 100)
_FIRST_S: Final = 10


@dataclass(frozen=True)
class Binned(Setting):
    """Row E3S's setting, with the deviations of many bins."""

    @property
    def work(self) -> str:
        """Tells the setting from all others."""
        return f"{super().work}, many bins"

    @property
    def two(self) -> tuple[str, str]:
        """The downloads that are compared, tier 1 first."""
        return self.downloads[self.middle - 1], TIER2

    def spans(self, level: Level) -> tuple[Span, Span]:
        """While the tier 2 download is there, and the same without its beginning."""
        start, end = self.times(level).middle
        return (start, end), (start + _FIRST_S, end)

    def quantities(self, level: Level, which: Reading) -> Iterable[Quantity]:
        """Means, and deviations in bins."""
        del which
        for span in self.spans(level):
            for group in self.two:
                yield goodput(group, span)
                yield from (deviation(group, span, seconds) for seconds in _BINS_S)


VARIANT: Final = Binned("codel", 9, Experiment.TIERS)


def works() -> Sequence[Run]:
    """The runs of both seeds."""
    return list(runs([VARIANT], Asked(Level.STUDY, 1, SEEDS), Reading.FIRST))


def main(jobs: int) -> None:
    """Plays them, and tells means and deviations of both downloads."""
    found = outcomes(works(), Shelf(), jobs)
    own = [found[VARIANT.work, seed] for seed in SEEDS]
    for span, called in zip(VARIANT.spans(Level.STUDY), ("all of it", "later"), strict=True):
        for group in VARIANT.two:
            means = " and ".join(f"{goodput_mbps(one, group, span):.2f}" for one in own)
            print(f"{called}, {group}: mean {means} Mbit/s", flush=True)
            for seconds in _BINS_S:
                of_bins = deviation(group, span, seconds)
                both = " and ".join(f"{measured(one, of_bins):.2f}" for one in own)
                print(f"    bins of {seconds} s: deviation {both} Mbit/s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
