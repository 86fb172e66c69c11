# SPDX-License-Identifier: Apache-2.0
"""Section 5.3: how long one TCP needs to recover from a drop at 200 Mbit/s and 200 ms.

The drop is forced by a buffer that is full when 3600 frames are under way; the window then grows
until it is full again. So the time from drop to drop is the time to recover, and the game's
latency, which is that of the buffer, shows when it falls.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
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
from docsis_experiments.reproduction.settings.p000_loads import GAMES, Congestion, games
from docsis_experiments.reproduction.settings.p000_network import (
    NEAR,
    SERVICE_2018,
    UPLOADER,
    home,
)
from docsis_experiments.reproduction.settings.p000_readings import Reading, chosen
from docsis_experiments.reproduction.settings.p000_told import ratio
from docsis_experiments.reproduction.settings.p000_units import quantity

RATE: Final = 200_000_000
ROUND_TRIP_MS: Final = 200
PRODUCT_BYTES: Final = RATE * ROUND_TRIP_MS // 8000
FRAME: Final = 1518
UNDER_WAY: Final = 3600
"""Frames at which the drop is forced."""

_SEGMENT_WITH_HEADERS: Final = 1500
_STEADY: Final = replace(SERVICE_2018, sustained=RATE, peak=RATE)
"""One rate: the peak rate's bucket holds a frame, so the depth of the other makes no difference."""

READINGS: Final = ("own-mac", "no-mac")


def _case(reading: Reading, congestion: Congestion, ramp_up: float, measured: float) -> alone.Case:
    return alone.Case(
        congestion.value,
        from_mapping(
            {"algorithm": "drop-tail", "buffer": f"{UNDER_WAY * FRAME - PRODUCT_BYTES} B"}
        ),
        home(reading.mac, _STEADY, transfers_ms=(ROUND_TRIP_MS,), populated=False),
        [
            {"name": "upload", "kind": "transfer", "hosts": [UPLOADER], "servers": [NEAR]},
            *games(1),
        ],
        [quantity("latency-cycle", GAMES[:1]), quantity("goodput", ["upload"])],
        ramp_up,
        measured,
        smoke=10.0,
        congestion=congestion,
    )


@functools.cache
def _cases(reading: Reading) -> tuple[alone.Case, alone.Case]:
    """Reno's and CUBIC's. A cycle of Reno is six minutes: 25 have three of its falls."""
    return (
        _case(reading, Congestion.RENO, 240, 1500),
        _case(reading, Congestion.CUBIC, 60, 300),
    )


def _works(asked: Asked) -> Iterable[Run]:
    return alone.works(asked, _cases(chosen(READINGS, asked)))


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    reno, cubic = (
        alone.values(asked, results, case.label, "latency-cycle", GAMES[:1])
        for case in _cases(chosen(READINGS, asked))
    )
    found: dict[str, Measured] = {
        "bandwidth-delay product": Exact(PRODUCT_BYTES / 1e6),
        "packets": Exact(PRODUCT_BYTES / _SEGMENT_WITH_HEADERS),
    }
    if reno:
        found["reno recovery"] = Seeds(reno)
    if reno and cubic:
        found["cubic over reno"] = ratio(cubic, reno)
    return found


ROWS: Final = (Row("000-F6g", _works, _parts, readings=len(READINGS) + 1),)
