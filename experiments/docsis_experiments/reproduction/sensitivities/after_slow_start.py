# SPDX-License-Identifier: Apache-2.0
"""How many packets PIE drops in figure 6 of 000, and how much it carries just after slow start.

    python -m docsis_experiments.reproduction.sensitivities.after_slow_start [JOBS]

Slow start fills the buffer, and what PIE drops then decides how fast the uploads go on. Row F6b's
two uploads are played with full DOCSIS-PIE, with the PIE that decides, and with CoDel-DT to compare
them with, on trial seeds. Seeds differ much, so each is told by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.row import TRIAL_SEEDS, Asked, Level, Run
from docsis_experiments.reproduction.settings import p000_transfers as transfers
from docsis_experiments.reproduction.settings.p000_managers import Manager, PieOf2014
from docsis_experiments.reproduction.settings.p000_readings import FIRST, READINGS, Reading
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes
from docsis_experiments.runs.outcome import Outcome

ASKED: Final = Asked(Level.FULL, 1, TRIAL_SEEDS)
COMPARED: Final = (READINGS["full-docsis-pie"], FIRST)
SINCE, UNTIL = 2, 7
"""From when to when A(t) is compared, seconds, both included: the row's span."""

_ROUND_TRIP_MS: Final = 20
_PAIR: Final = (Manager.PIE, Manager.CT)


@dataclass(frozen=True)
class Drops:
    """The drops of a run with PIE, and its throughput.

    Attributes:
        pie: Which PIE.
        seed: The seed.
        early: Packets that it dropped by its probability, in the whole run.
        buffer_full: Packets for which the buffer had no room, in the whole run.
        ratio: A(t) with PIE over that with CoDel-DT, mean from SINCE to UNTIL.
    """

    pie: PieOf2014
    seed: int
    early: int
    buffer_full: int
    ratio: float

    @property
    def words(self) -> str:
        """A line for people."""
        return (
            f"{self.pie}, seed {self.seed}: {self.early} early drops, {self.buffer_full} "
            f"buffer-full drops, {100 * self.ratio:.0f}% of CoDel-DT's throughput from {SINCE} to "
            f"{UNTIL} s"
        )


def works(reading: Reading) -> Sequence[Run]:
    """The runs with a reading's PIE and with CoDel-DT; their labels do not name the reading."""
    return list(transfers.works(ASKED, reading, _PAIR, (_ROUND_TRIP_MS,)))


def drops(reading: Reading, found: Mapping[tuple[str, int], Outcome]) -> Iterator[Drops]:
    """Yields what PIE dropped, and what it carried beside CoDel-DT, seed by seed.

    Args:
        reading: The reading whose PIE was played.
        found: The outcomes of `works(reading)`, by label and seed.
    """
    for seed in ASKED.seeds:
        with_pie, with_codel_dt = (
            found[transfers.Transfers(manager, _ROUND_TRIP_MS).label, seed] for manager in _PAIR
        )
        ratio = fmean(
            transfers.throughput(with_pie, t) / transfers.throughput(with_codel_dt, t)
            for t in transfers.TIMES
            if SINCE <= t <= UNTIL
        )
        counters = with_pie.counters
        early, buffer_full = counters["sf_drop_aqm"], counters["sf_drop_buffer_full"]
        yield Drops(reading.pie, seed, early, buffer_full, ratio)


def main(jobs: int) -> None:
    """Plays them, and tells of each seed."""
    shelf = Shelf()
    for reading in COMPARED:
        for one in drops(reading, outcomes(works(reading), shelf, jobs)):
            print(one.words, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
