# SPDX-License-Identifier: Apache-2.0
"""The population of 003's rows: that of topologies/populations/field-study.yaml, test by test.

A test holds the two together: an operator who changes the file changes no row. Test n of the file's
seed 1 is seed n of the rows, so whatever was played for one is there for the other. What the
catalogue leaves open was chosen before any run that counts (trial seeds, 23 November 2026):

channel    docsis-3.1 of docs/mac.md, the testbed's own MAC
bucket     20 KB, with a peak rate that is the sustained one: 003 tells of no peak. A bucket of less
           than a MAP would limit what a modem can ask for to less than its rate
streams    begin uniformly within 1 s (section 8, FTP)
idle       the mean of 3 s of requests in turn, of the same test
replies    a request without a reply for 1 s is followed by the next. A reply that comes later
           counts with its own time, or no maximum could be above 1 s; one that never comes has no
           part in mean and maximum

Tests at `study`: 300 an arm, 50 of each tier on the mean. A share of 1%, as published of figure 5,
has a Wilson interval up to 2.9% then, which is within the band that ends at 3%; of 200 it would end
at 3.6%, and the row would be undecided whatever came of it. One of 77% has half a width of 4.8
points, and the nearest end of its band is 12 away.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from docsis_experiments.populations.drawing import seed_of
from docsis_experiments.populations.models import Arm, Population
from docsis_experiments.populations.testing import planned_test
from docsis_experiments.reproduction.row import Asked, Level, Run

STUDY_TESTS: Final = 300
"""Tests of each arm at `study`: see above."""

SEED: Final = 1
"""Seed of the population."""

ONE_STREAM: Final = 2
"""The reading with one TCP stream instead of four."""

READINGS: Final = 2

TIERS_MBPS: Final = (5, 10, 15, 20, 35, 40)
"""In equal parts."""


class Modems(StrEnum):
    """The arms, as the rules call them."""

    AQM = "aqm"
    B1 = "b1"
    B2 = "b2"


LABELS: Final = {
    Modems.AQM: "with AQM",
    Modems.B1: "without, 250 ms",
    Modems.B2: "without, 625 KB",
}


def _tier(mbps: int) -> dict[str, Any]:
    return {
        "name": f"upload-{mbps}",
        "description": f"{mbps} Mbps upstream without a peak rate, for populations.",
        "upstream": {
            "maximum_sustained_traffic_rate": f"{mbps} Mbps",
            "peak_traffic_rate": f"{mbps} Mbps",
            "maximum_traffic_burst": "20 KB",
            "buffer": "250 ms",
            "aqm": {"enabled": True, "latency_target": "10 ms"},
        },
        "downstream": {
            "maximum_sustained_traffic_rate": "100 Mbps",
            "peak_traffic_rate": "150 Mbps",
            "maximum_traffic_burst": "33 MB",
            "buffer": "250 KB",
            "aqm": {"enabled": False},
        },
    }


@functools.cache
def population(level: Level, reading: int) -> Population:
    """The population of a level and a reading."""
    smoke = level is Level.SMOKE
    return Population.model_validate(
        {
            "name": "field-study",
            "title": "003",
            "upstream_channels": [{"name": "us1", "profile": "docsis-3.1"}],
            "tests": 2600,
            "idle": "500 ms" if smoke else "3 s",
            "ramp_up": "1 s" if smoke else "3 s",
            "measured": "2 s" if smoke else "7 s",
            "timeout": "1 s",
            "uploads": {
                "streams": 1 if reading == ONE_STREAM else 4,
                "congestion_control": "cubic",
                "start_spread": "1 s",
            },
            "round_trip": {"median": "14 ms", "p5": "8 ms", "p95": "25 ms"},
            "tiers": [{"tier": _tier(mbps), "share": 1} for mbps in TIERS_MBPS],
            "modems": [
                {"name": "docsis-pie", "manager": "docsis-pie"},
                {"name": "buffer-250ms", "manager": "drop-tail", "buffer": "250 ms"},
                {"name": "buffer-625kb", "manager": "drop-tail", "buffer": "625 KB"},
            ],
            "arms": [
                {"label": LABELS[Modems.AQM], "modems": [{"modem": "docsis-pie"}]},
                {"label": LABELS[Modems.B1], "modems": [{"modem": "buffer-250ms"}]},
                {"label": LABELS[Modems.B2], "modems": [{"modem": "buffer-625kb"}]},
            ],
            "bands": [
                {"at_least": "15 ms", "at_most": "30 ms"},
                {"at_least": "15 ms", "at_most": "45 ms"},
            ],
        }
    )


def arm_of(whole: Population, modems: Modems) -> Arm:
    """The arm of these modems."""
    return whole.arms[list(Modems).index(modems)]


def works(asked: Asked, arms: Iterable[Modems] = tuple(Modems)) -> Iterator[Run]:
    """The tests of some arms, those of one subscriber together."""
    whole, chosen = population(asked.level, asked.reading), list(arms)
    for number in asked.seeds:
        for modems in chosen:
            test = planned_test(whole, arm_of(whole, modems), SEED, number)
            yield Run(modems.value, test.unit)


def works_in_mininet(asked: Asked) -> Iterator[Run]:
    """The same with the kernel's TCP, whatever the level."""
    return works(replace(asked, level=Level.FULL))


def number_of(seed: int) -> int:
    """The test that a run's seed is of."""
    return seed - seed_of(SEED, 0)
