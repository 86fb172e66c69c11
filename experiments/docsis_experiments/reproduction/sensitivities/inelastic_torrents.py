# SPDX-License-Identifier: Apache-2.0
"""How much more CoDel-DT drops than CoDel in row S43 of 000, where part of the load does not yield.

    python -m docsis_experiments.reproduction.sensitivities.inelastic_torrents [JOBS]

The torrents of load 9 share half of the line, and when one of them sends less, the others send
more. The row's load 9 is played on trial seeds, then with a constant stream of as many packets in
the torrents' place, and then without either, on half of the line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean
from typing import Final

from docsis_experiments.experiment.ramp_up import SEGMENT_BYTES
from docsis_experiments.reproduction.row import TRIAL_SEEDS, Level, Run
from docsis_experiments.reproduction.rows.p000 import s43
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings.p000_network import NEAR, TORRENTS, Mac, home
from docsis_experiments.reproduction.settings.p000_readings import FIRST
from docsis_experiments.reproduction.settings.p000_told import queue_loss_percent
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.traffic.senders import LARGEST_FRAME

LOAD: Final = 9
_HALF: Final = s43.RATE // 2


class Beside(StrEnum):
    """The traffic beside the uploads, the pages and the game."""

    TORRENTS = "torrents"
    STREAM = "a constant stream"
    NOTHING = "nothing, on half of the line"


@dataclass(frozen=True)
class Losses:
    """The packets that were dropped, in percent of those that arrived, by seed."""

    beside: Beside
    codel_dt: Mapping[int, float]
    codel: Mapping[int, float]

    @property
    def words(self) -> str:
        """A line for people."""
        ratios = [self.codel_dt[seed] / self.codel[seed] for seed in self.codel]
        return (
            f"beside {self.beside}: CoDel-DT loses {fmean(self.codel_dt.values()):.2f}% and CoDel "
            f"{fmean(self.codel.values()):.2f}%, the ratio is {fmean(ratios):.2f} and in the seeds "
            f"{min(ratios):.2f} to {max(ratios):.2f}"
        )


def cases(beside: Beside) -> Iterator[alone.Case]:
    """Yields the runs of load 9, but for their seeds."""
    for case in s43.cases(FIRST, LOAD):
        if beside is Beside.TORRENTS:
            yield case
            continue
        others = [group for group in case.traffic if group["name"] != TORRENTS]
        if beside is Beside.NOTHING:
            service = replace(s43.SERVICE, sustained=_HALF, peak=_HALF)
            network = home(Mac.NONE, service, web_ms=FIRST.web_ms)
            yield replace(case, traffic=others, topology=network)
            continue
        stream = {
            "name": TORRENTS,
            "kind": "cbr",
            # As much payload as the torrents have.
            "rate": f"{_HALF * LARGEST_FRAME // SEGMENT_BYTES} bps",
            "frame": f"{LARGEST_FRAME} B",
            "hosts": [TORRENTS],
            "servers": [NEAR],
        }
        yield replace(case, traffic=[*others, stream])


def works(beside: Beside) -> Sequence[Run]:
    """The runs; their labels do not name what is beside."""
    return [case.run(Level.FULL, seed) for seed in TRIAL_SEEDS for case in cases(beside)]


def losses(beside: Beside, found: Mapping[tuple[str, int], Outcome]) -> Losses:
    """Counts the dropped packets of the runs of `works(beside)`.

    Args:
        beside: What was played.
        found: The outcomes, by label and seed.
    """
    codel_dt, codel = (
        {seed: queue_loss_percent(found[s43.label(one, LOAD), seed]) for seed in TRIAL_SEEDS}
        for one in s43.MANAGERS
    )
    return Losses(beside, codel_dt, codel)


def main(jobs: int) -> None:
    """Plays them, and prints how much was dropped."""
    shelf = Shelf()
    for beside in Beside:
        print(losses(beside, outcomes(works(beside), shelf, jobs)).words, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
