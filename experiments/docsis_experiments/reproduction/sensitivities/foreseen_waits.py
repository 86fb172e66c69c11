# SPDX-License-Identifier: Apache-2.0
"""How much the MAC's bursts matter for figure 6 of 000, in which PIE is compared with CoDel-DT.

    python -m docsis_experiments.reproduction.sensitivities.foreseen_waits [JOBS]

PIE and CoDel-DT foresee how long a packet is going to wait by the rate at which the queue empties
(000, section 4.3), and a modem that sends a grant at the rate of the line makes that look fast.
With a forecast that is right CoDel-DT would decide as CoDel does, which measures waits. The runs of
figure 6 with the three are played behind the MAC that decides and without one, on trial seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.row import TRIAL_SEEDS, Asked, Level, Run
from docsis_experiments.reproduction.settings import p000_transfers as transfers
from docsis_experiments.reproduction.settings.p000_managers import Manager
from docsis_experiments.reproduction.settings.p000_network import Mac
from docsis_experiments.reproduction.settings.p000_readings import FIRST
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes
from docsis_experiments.runs.outcome import Outcome

ASKED: Final = Asked(Level.FULL, 1, TRIAL_SEEDS[:3])
MACS: Final = {Mac.PAPER: "behind the MAC", Mac.NONE: "without a MAC"}
PAIRS: Final = ((Manager.CT, Manager.CD), (Manager.PIE, Manager.CT))
SPANS: Final = ((1, 1), (2, 7), (7, 18), (18, 25), (25, 25))
"""From when to when A(t) is compared, seconds, both included."""

_MANAGERS: Final = (Manager.CD, Manager.CT, Manager.PIE)


@dataclass(frozen=True)
class Ratio:
    """The payload that a manager had carried over that of another, mean over seeds.

    Attributes:
        mac: Between modem and CMTS.
        round_trip_ms: The round trip of both uploads.
        pair: The manager, and the other.
        values: By span.
    """

    mac: Mac
    round_trip_ms: int
    pair: tuple[Manager, Manager]
    values: Mapping[tuple[int, int], float]

    @property
    def words(self) -> str:
        """A line for people."""
        one, other = self.pair
        told = ", ".join(
            f"{value:.3f} {f'at {since} s' if since == until else f'from {since} to {until} s'}"
            for (since, until), value in self.values.items()
        )
        return f"{self.round_trip_ms} ms {MACS[self.mac]}, {one} over {other}: {told}"


def works(mac: Mac) -> Sequence[Run]:
    """The runs behind a MAC; their labels do not name it."""
    reading = replace(FIRST, mac=mac)
    return list(transfers.works(ASKED, reading, _MANAGERS, transfers.ROUND_TRIPS_MS))


def ratios(mac: Mac, found: Mapping[tuple[str, int], Outcome]) -> Iterator[Ratio]:
    """Computes the ratios from the runs with one MAC.

    Args:
        mac: The MAC between modem and CMTS.
        found: The outcomes of `works(mac)`, by label and seed.
    """
    for round_trip_ms in transfers.ROUND_TRIPS_MS:
        for one, other in PAIRS:
            spans = {
                span: fmean(
                    _payload(found, one, round_trip_ms, seed, t)
                    / _payload(found, other, round_trip_ms, seed, t)
                    for seed in ASKED.seeds
                    for t in transfers.TIMES
                    if span[0] <= t <= span[1]
                )
                for span in SPANS
            }
            yield Ratio(mac, round_trip_ms, (one, other), spans)


def _payload(
    found: Mapping[tuple[str, int], Outcome],
    manager: Manager,
    round_trip_ms: int,
    seed: int,
    t: float,
) -> float:
    """A(t), Mbit/s."""
    outcome = found[transfers.Transfers(manager, round_trip_ms).label, seed]
    return transfers.throughput(outcome, t)


def main(jobs: int) -> None:
    """Plays them, and tells the ratios."""
    shelf = Shelf()
    for mac in MACS:
        for ratio in ratios(mac, outcomes(works(mac), shelf, jobs)):
            print(ratio.words, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
