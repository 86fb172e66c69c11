# SPDX-License-Identifier: Apache-2.0
"""Appendix B: what the de-randomised drops do under loads that do not give way, and under TCP."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from docsis_control.queue_managers.document import from_mapping
from docsis_experiments.reproduction.row import (
    Asked,
    Exact,
    Measured,
    Results,
    Row,
    Run,
    Seeds,
)
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings.p000_loads import START_SPREAD
from docsis_experiments.reproduction.settings.p000_managers import Manager, managed
from docsis_experiments.reproduction.settings.p000_network import (
    DISTANT_MS,
    NEAR,
    TENTH,
    UPLOADER,
    Service,
    home,
)
from docsis_experiments.reproduction.settings.p000_readings import Reading, chosen
from docsis_experiments.reproduction.settings.p000_told import ratio
from docsis_experiments.reproduction.settings.p000_units import quantity

RATE: Final = 20_000_000
UNRESPONSIVE: Final = ["flood"]
UPLOADS: Final = ["uploads"]

_ONE_RATE: Final = replace(TENTH, sustained=RATE, peak=RATE)
"""The peak rate's bucket holds one frame, so the depth of the other makes no difference."""

READINGS_OF_B1: Final = ("own-mac", "no-mac")
"""The readings of row B1 from 2 on."""

RATES_KBPS: Final = (30, 45, 65, 95, 140, 200, 320, 500)
"""Rates of the uploads' service; between two, the loss is taken for linear in the rate's
logarithm."""
_BUFFER: Final = "64 KB"
"""250 ms are less than a frame at 30 kbit/s, and the losses are to be the AQM's."""

TEN_PERCENT: Final = 10.0

OVERLOAD: Final = 1.1
READINGS: Final = (
    "two-uploads",
    "cubic",
    "plain-pie",
    "full-docsis-pie",
    "own-mac",
    "no-mac",
)
"""The readings of row B2 from 2 on."""


def _unresponsive(reading: Reading) -> list[alone.Case]:
    docsis_pie = alone.Case(
        "docsis-pie",
        managed(Manager.DP, 0),
        home(reading.mac, _ONE_RATE, populated=False),
        [
            {
                # Frames of MEAN_PKTSIZE, for which p is drop_prob itself.
                "name": UNRESPONSIVE[0],
                "kind": "cbr",
                "rate": "50 Mbps",
                "frame": "1024 B",
                "hosts": [UPLOADER],
                "servers": [NEAR],
            }
        ],
        [
            quantity("drop-prob-deviation", UNRESPONSIVE),
            quantity("gap-crossings", UNRESPONSIVE),
            quantity("loss", UNRESPONSIVE),
        ],
        10,
        120,
    )
    # The same target, so that what differs is that drops remember nothing.
    pie = from_mapping({"algorithm": "pie", "target": "10 ms"})
    return [docsis_pie, docsis_pie.managed("pie", pie)]


def _works_of_datagrams(asked: Asked) -> Iterable[Run]:
    return alone.works(asked, _unresponsive(chosen(READINGS_OF_B1, asked)))


def _oscillation(asked: Asked, results: Results) -> Mapping[str, Measured]:
    docsis_pie, pie = (
        alone.values(asked, results, label, "drop-prob-deviation", UNRESPONSIVE)
        for label in ("docsis-pie", "pie")
    )
    found: dict[str, Measured] = {}
    if docsis_pie and pie:
        found["sd of p over pie"] = ratio(docsis_pie, pie)
    if docsis_pie:
        found["crossings of 0.85"] = Seeds(
            alone.values(asked, results, "docsis-pie", "gap-crossings", UNRESPONSIVE)
        )
    return found


def _slow(reading: Reading, kbps: int) -> alone.Case:
    service = Service(sustained=kbps * 1000, peak=kbps * 1000, burst=1522, buffer=_BUFFER)
    return alone.Case(
        f"{kbps} kbps",
        managed(Manager.PIE, 0, reading.pie),
        home(reading.mac, service, transfers_ms=(DISTANT_MS,), populated=False),
        [
            {
                "name": UPLOADS[0],
                "kind": "transfer",
                "count": reading.uploads,
                "hosts": [UPLOADER],
                "servers": [NEAR],
                "start_spread": START_SPREAD,
            }
        ],
        [quantity("loss", UPLOADS)],
        30,
        600,
        smoke=15.0,
        congestion=reading.congestion,
    )


def _works_of_tcp(asked: Asked) -> Iterable[Run]:
    reading = chosen(READINGS, asked)
    return alone.works(asked, (_slow(reading, kbps) for kbps in RATES_KBPS))


def _threshold(asked: Asked, results: Results) -> Mapping[str, Measured]:
    losses = [alone.values(asked, results, f"{kbps} kbps", "loss", UPLOADS) for kbps in RATES_KBPS]
    rates = {
        seed: rate_at(TEN_PERCENT, RATES_KBPS, [loss[seed] for loss in losses])
        for seed in asked.seeds
        if all(seed in loss for loss in losses)
    }
    found: dict[str, Measured] = {"udp loss at 1.1": Exact(100 * (1 - 1 / OVERLOAD))}
    if rates:
        found["rate at 10 percent loss"] = Seeds(rates)
    return found


def rate_at(percent: float, rates: Sequence[float], losses: Sequence[float]) -> float:
    """The highest rate at which the loss is that high, between the two next to it.

    Infinite where it is higher even at the last of the rates. Where it is lower at all of them, the
    rate is below the first, and nobody knows how far: that is the greatest number below the first,
    so that the mean over seeds errs towards the rates that were played.
    """
    if losses[-1] >= percent:
        return math.inf
    points = list(zip(rates, losses, strict=True))
    for (low, above), (high, below) in reversed(list(pairwise(points))):
        if above >= percent > below:
            share = (above - percent) / (above - below)
            return math.exp(math.log(low) + share * math.log(high / low))
    return math.nextafter(rates[0], 0)


ROWS: Final = (
    Row("000-B1", _works_of_datagrams, _oscillation, readings=len(READINGS_OF_B1) + 1),
    Row("000-B2", _works_of_tcp, _threshold, readings=len(READINGS) + 1),
)
