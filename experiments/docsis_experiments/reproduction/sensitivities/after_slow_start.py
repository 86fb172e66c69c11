# SPDX-License-Identifier: Apache-2.0
"""What full DOCSIS-PIE does to figure 6 of 000 when slow start has filled the buffer.

    python -m docsis_experiments.reproduction.sensitivities.after_slow_start [JOBS]

The two uploads with a round trip of 20 ms are played with full DOCSIS-PIE, which is a reading of
row F6b, with the PIE that decides, and with CoDel-DT, on trial seeds. What PIE carries from 2 to
7 s stands beside the packets that it removed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.row import TRIAL_SEEDS, Asked, Level, Run
from docsis_experiments.reproduction.settings import p000_transfers as transfers
from docsis_experiments.reproduction.settings.p000_managers import Manager, PieOf2014
from docsis_experiments.reproduction.settings.p000_readings import FIRST
from docsis_experiments.reproduction.settings.p000_told import value_of
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes
from docsis_experiments.runs.outcome import Outcome

ASKED: Final = Asked(Level.FULL, 1, TRIAL_SEEDS)
PIES: Final = (PieOf2014.DOCSIS, PieOf2014.FIRST)
SINCE, UNTIL = 2, 7
"""From when to when A(t) is compared, seconds, both included: the row's span."""

_ROUND_TRIP_MS: Final = 20
_PAIR: Final = (Manager.PIE, Manager.CT)


@dataclass(frozen=True)
class Cut:
    """A seed.

    Attributes:
        pie: Which PIE.
        seed: The seed.
        ratio: A(t) with PIE over that with CoDel-DT, mean from SINCE to UNTIL.
        removed: Packets that PIE removed by its probability in the whole run.
        did_not_fit: Packets that the buffer had no room for.
    """

    pie: PieOf2014
    seed: int
    ratio: float
    removed: int
    did_not_fit: int

    @property
    def words(self) -> str:
        """A line for people."""
        return (
            f"{self.pie}, seed {self.seed}: {self.ratio:.3f} of CoDel-DT's from {SINCE} to "
            f"{UNTIL} s; {self.removed} packets removed, {self.did_not_fit} did not fit"
        )


def works(pie: PieOf2014) -> Sequence[Run]:
    """The runs with a PIE and with CoDel-DT; their labels do not name the PIE."""
    return list(transfers.works(ASKED, replace(FIRST, pie=pie), _PAIR, (_ROUND_TRIP_MS,)))


def cuts(pie: PieOf2014, found: Mapping[tuple[str, int], Outcome]) -> Iterator[Cut]:
    """What became of each seed.

    Args:
        pie: Which PIE.
        found: The outcomes of `works(pie)`, by label and seed.
    """
    for seed in ASKED.seeds:
        played, beside = (
            found[transfers.Transfers(manager, _ROUND_TRIP_MS).label, seed] for manager in _PAIR
        )
        ratio = fmean(
            _payload(played, t) / _payload(beside, t)
            for t in transfers.TIMES
            if SINCE <= t <= UNTIL
        )
        counted = played.counters
        yield Cut(pie, seed, ratio, counted["sf_drop_aqm"], counted["sf_drop_buffer_full"])


def _payload(outcome: Outcome, t: float) -> float:
    """A(t), Mbit/s."""
    return value_of(outcome, "goodput", [transfers.GROUP], during=(0, t))


def main(jobs: int) -> None:
    """Plays them, and tells of each seed."""
    shelf = Shelf()
    for pie in PIES:
        for cut in cuts(pie, outcomes(works(pie), shelf, jobs)):
            print(cut.words, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
