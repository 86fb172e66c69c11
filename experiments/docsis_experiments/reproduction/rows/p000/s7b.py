# SPDX-License-Identifier: Apache-2.0
"""Section 7: PIE's estimator reads the line rate, and does not foresee what the tokens do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from docsis_experiments.reproduction.row import (
    Asked,
    Computation,
    Measured,
    Results,
    Row,
    Run,
    Seeds,
)
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings.p000_cycles import above_twice
from docsis_experiments.reproduction.settings.p000_loads import GAMES, Files, games
from docsis_experiments.reproduction.settings.p000_managers import (
    Manager,
    PieOf2014,
    managed,
)
from docsis_experiments.reproduction.settings.p000_network import (
    NEAR,
    UPLOADER,
    home,
)
from docsis_experiments.reproduction.settings.p000_readings import FIRST, Reading, chosen
from docsis_experiments.reproduction.settings.p000_told import ratio
from docsis_experiments.reproduction.settings.p000_units import quantity

READINGS: Final = ("own-mac", "cubic")

_CYCLES: Final = "cycles"
_CHANGES: Final = "changes"
_FILE: Final = "400 MB"
_PAUSE: Final = "1.5 s"
"""At 250 Mbit/s a bucket of 30 MB lasts for 150 MB, and is full again 1.2 s after a file. An upload
that PIE keeps below the peak rate empties it later: at 216 Mbit/s at the end of 400 MB. With files
of 180 MB, which need 240 Mbit/s, 8 of 20 seeds never emptied it.

At a tenth of the rates, which K11 allows for screening alone, a grant is shorter than PIE's
measuring cycle of 16 KB, and the estimator cannot read the line's rate at all.
"""


def _case(reading: Reading) -> alone.Case:
    return alone.Case(
        _CHANGES,
        managed(Manager.PIE, 0, PieOf2014.RFC_8033),
        home(reading.mac, populated=False),
        [
            {
                "name": "files",
                "kind": "transfer",
                "hosts": [UPLOADER],
                "servers": [NEAR],
                "size": _FILE,
                "pause": _PAUSE,
                "connection": Files.KEPT.value,
            },
            *games(1),
        ],
        [quantity(f"prediction-error-{by}", GAMES[:1], "p50") for by in ("law", "tokens")],
        5,
        # Fifty changes, with 4.8 s at the peak rate, 10 s at the sustained rate and the pause.
        950,
        smoke=20.0,
        congestion=reading.congestion,
    )


def _works(asked: Asked) -> Iterator[Run | Computation]:
    reading = chosen(READINGS, asked)
    yield from alone.works(asked, [_case(reading)])
    if reading.mac is FIRST.mac:
        for seed in asked.seeds:
            yield Computation(_CYCLES, above_twice, seed)


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    law, tokens = (
        alone.values(asked, results, _CHANGES, f"prediction-error-{by}", GAMES[:1], "p50")
        for by in ("law", "tokens")
    )
    found: dict[str, Measured] = {}
    if law and tokens:
        found["error estimator over tokens"] = ratio(law, tokens)
    cycles = results.computed(_CYCLES)
    if cycles:
        shares = {seed: cycles[seed]["share"] for seed in asked.seeds if seed in cycles}
        found["cycles above twice"] = Seeds(shares)
    return found


ROWS: Final = (Row("000-S7b", _works, _parts, readings=len(READINGS) + 1),)
