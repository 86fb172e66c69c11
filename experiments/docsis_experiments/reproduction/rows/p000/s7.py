# SPDX-License-Identifier: Apache-2.0
"""Section 7: what request and grant add, and what PIE's estimator makes of bursts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from docsis_control.mac.profiles import CABLELABS_2014, named
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
from docsis_experiments.reproduction.settings.p000_managers import Manager, managed
from docsis_experiments.reproduction.settings.p000_network import (
    NEAR,
    SERVICE_2018,
    UPLOADER,
    Mac,
    home,
)
from docsis_experiments.reproduction.settings.p000_units import quantity
from docsis_experiments.runs.outcome import PROBABILITIES

PROBE: Final = ["probe"]
_LABEL: Final = "lone packets"

_FRAMES: Final = 10_000
_RATE: Final = 525_000
_FRAME: Final = 1518
"""A frame every 23.1 ms, which meets MAPs of 2.025 ms at any moment."""


def _works(asked: Asked) -> Iterable[Run]:
    case = alone.Case(
        _LABEL,
        managed(Manager.DP, 0),
        home(Mac.TESTBED, SERVICE_2018, populated=False),
        [
            {
                "name": PROBE[0],
                "kind": "cbr",
                "rate": f"{_RATE} bps",
                "frame": f"{_FRAME} B",
                "hosts": [UPLOADER],
                "servers": [NEAR],
            }
        ],
        [quantity("latency", PROBE, "mean")],
        1,
        math.ceil(_FRAMES * _FRAME * 8 / _RATE),
    )
    return alone.works(asked, [case])


def access_delay_ms(probability: float) -> float:
    """A quantile of (U + 2 + U') T, U and U' even in 0 to 1, and T the MAP time of K1's model.

    The part below 2 T + x T has x^2 / 2 of the probability for x up to 1, and by symmetry beyond.
    """
    map_ms = named(CABLELABS_2014).map_length / 1e6
    if probability <= 0.5:
        return map_ms * (2 + math.sqrt(2 * probability))
    return map_ms * (4 - math.sqrt(2 * (1 - probability)))


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    found: dict[str, Measured] = {
        "least of model": Exact(access_delay_ms(0)),
        "largest of model": Exact(access_delay_ms(1)),
        "mean of model": Exact(access_delay_ms(0.5)),
        "p90 of model": Exact(access_delay_ms(0.9)),
    }
    tables = {
        seed: outcome.groups[PROBE[0]].latency
        for seed, outcome in results.runs(_LABEL).items()
        if seed in asked.seeds and outcome.groups[PROBE[0]].latency
    }
    if tables:
        for name, probability in (("p5", 0.05), ("p95", 0.95)):
            at = PROBABILITIES.index(probability)
            found[f"{name} own mac"] = Seeds({seed: of[at] for seed, of in tables.items()})
        found["mean own mac"] = Seeds(
            alone.values(asked, results, _LABEL, "latency", PROBE, "mean")
        )
    return found


ROWS: Final = (Row("000-S7a", _works, _parts),)
