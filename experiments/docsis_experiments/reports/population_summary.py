# SPDX-License-Identifier: Apache-2.0
"""summary.json of a population, in the shape of population.schema.json."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from docsis_experiments.experiment.managers import label_of
from docsis_experiments.measurement.intervals import Interval
from docsis_experiments.populations import figures
from docsis_experiments.populations.drawing import own_ns
from docsis_experiments.populations.models import Arm, Population
from docsis_experiments.populations.table import ResultOfTest
from docsis_experiments.reports import document
from docsis_experiments.reports.document import finite
from docsis_experiments.reports.sweep_summary import estimate_figures

VERSION: Final = 1
"""Version of the summary's shape."""

_COMPARED: Final = ("mean", "max", "goodput")


def summarise(
    population: Population,
    tests: Sequence[ResultOfTest],
    failures: Sequence[str],
    versions: Mapping[str, str],
    *,
    seed: int,
    stage: Literal["virtual", "mininet"],
) -> dict[str, Any]:
    """The whole of summary.json, validated.

    Args:
        population: The subscribers that were tested, and how.
        tests: What came of it.
        failures: Tests that have no result, in words.
        versions: Version by program.
        seed: Seed of the population.
        stage: Where it was played.
    """
    by_arm = {arm.label: [one for one in tests if one.arm == arm.label] for arm in population.arms}
    found: dict[str, Any] = document.rounded(
        {
            "experiment": "population",
            "version": VERSION,
            "name": population.name,
            "title": population.title,
            "source": None if population.source is None else population.source.model_dump(),
            "stage": stage,
            "seed": seed,
            "tests": population.tests,
            "streams": population.uploads.streams,
            **{
                f"{key}_seconds": getattr(population, key) / 1e9
                for key in ("idle", "ramp_up", "measured", "timeout")
            },
            "channel_ms": own_ns(population) / 1e6,
            "round_trip_ms": {
                key: getattr(population.round_trip, key) / 1e6 for key in ("median", "p5", "p95")
            },
            "tiers": _tiers(population),
            "modems": [
                {
                    "name": modem.name,
                    "manager": label_of(modem.manager),
                    "buffer": None if modem.buffer is None else str(modem.buffer),
                }
                for modem in population.modems
            ],
            "bands": [band.words for band in population.bands],
            "failed": list(failures),
            "versions": dict(versions),
            "arms": [_arm(population, arm, by_arm[arm.label]) for arm in population.arms],
            "ratios": _ratios(population, by_arm),
        }
    )
    document.validate(found)
    return found


def _tiers(population: Population) -> list[dict[str, Any]]:
    whole = math.fsum(entry.share for entry in population.tiers)
    return [
        {
            "name": entry.tier.name,
            "upstream_mbps": entry.tier.upstream.maximum_sustained_traffic_rate / 1e6,
            "percent": 100 * entry.share / whole,
        }
        for entry in population.tiers
    ]


def _arm(population: Population, arm: Arm, tests: Sequence[ResultOfTest]) -> dict[str, Any]:
    whole = math.fsum(entry.share for entry in arm.modems)
    modems: dict[str, float] = {}
    for entry in arm.modems:
        modems[entry.modem] = modems.get(entry.modem, 0.0) + 100 * entry.share / whole
    return {
        "label": arm.label,
        "modems": modems,
        "all": _of(population, tests),
        "tiers": {
            entry.tier.name: _of(population, [one for one in tests if one.tier == entry.tier.name])
            for entry in population.tiers
        },
    }


def _of(population: Population, tests: Sequence[ResultOfTest]) -> dict[str, Any]:
    return {
        "tests": len(tests),
        "medians": {name: estimate_figures(figures.median(tests, name)) for name in figures.VALUES},
        "shares": {
            name: [_share(figures.share(tests, name, band)) for band in population.bands]
            for name in figures.OF_BANDS
        },
    }


def _share(one: figures.Share) -> dict[str, Any]:
    return {
        "hits": one.hits, "of": one.of, "percent": finite(one.percent), **_ends(one.interval)
    }  # fmt: skip


def _ends(interval: Interval | None) -> dict[str, float | None]:
    return {
        "low": None if interval is None else finite(interval.low),
        "high": None if interval is None else finite(interval.high),
    }


def _ratios(
    population: Population, by_arm: Mapping[str, Sequence[ResultOfTest]]
) -> list[dict[str, Any]]:
    first, *others = [arm.label for arm in population.arms]
    found = []
    for label in others:
        for name in _COMPARED:
            one = figures.ratio(by_arm[label], by_arm[first], name)
            found.append(
                {
                    "arm": label,
                    "over": first,
                    "value": name,
                    "tests": one.tests,
                    "ratio": finite(one.value),
                    **_ends(one.interval),
                }
            )
    return found
