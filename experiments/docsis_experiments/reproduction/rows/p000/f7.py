# SPDX-License-Identifier: Apache-2.0
"""Figures 7 to 10: runs between drops, and drops in a thousand packets, at p = 0.01."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from docsis_experiments.reproduction.row import (
    Asked,
    Draws,
    Exact,
    Level,
    Measured,
    Results,
    Row,
    Seeds,
    Share,
)
from docsis_experiments.reproduction.settings.p000_draws import (
    BLOCK,
    DERANDOMISED,
    EFFECTIVE,
    PLAIN,
    Drops,
    draws,
    drops_of,
    frames_for,
)

P: Final = 0.01
"""drop_prob of figures 7 to 10."""
P_OF_TEN: Final = 0.0185
"""drop_prob whose effective probability is 0.01, so that ten drops are expected."""
TEN: Final = 10.0

RUNS: Final = 1_000_000
"""Of figures 7 and 9, all seeds together."""
BLOCKS: Final = 100_000
"""Of figures 8 and 10, all seeds together."""
SEEDS: Final = 20
"""Of figures 9 and 10."""

_SHORT: Final = 10
_FIRST: Final = 100
_LARGEST: Final = 850


def _one(label: str, asked: Asked, results: Results) -> dict[int, Drops]:
    found = results.draws(label)
    return {seed: drops_of(found[seed])[0] for seed in asked.seeds if seed in found}


def _plain(asked: Asked) -> Iterator[Draws]:
    # Enough for figure 7's runs and for figure 8's blocks alike.
    frames = max(frames_for(RUNS, P, PLAIN), BLOCK * BLOCKS)
    seed = asked.seeds[0]
    yield draws("bernoulli", PLAIN, [P], frames, asked.level, seed)


def _runs(asked: Asked, results: Results) -> Mapping[str, Measured]:
    for drops in _one("bernoulli", asked, results).values():
        count = sum(times for _, times in drops.runs)
        short = sum(times for run, times in drops.runs if run <= _SHORT)
        return {
            "mean run": Exact(drops.mean_run),
            "runs to 10": Exact(100 * short / count),
            "mode": Exact(float(_mode(drops))),
        }
    return {}


def _mode(drops: Drops) -> int:
    """The shortest of the ten lengths in a row that are most frequent, of the first hundred.

    Length 1 has 1% of a million runs and length 2 has 0.99%, which chance exchanges in one of four
    samples; tens are told apart for sure.
    """
    tens = [0] * (_FIRST // _SHORT)
    for run, times in drops.runs:
        if run <= _FIRST:
            tens[(run - 1) // _SHORT] += times
    return 1 + _SHORT * tens.index(max(tens))


def _blocks(asked: Asked, results: Results) -> Mapping[str, Measured]:
    for drops in _one("bernoulli", asked, results).values():
        return {
            "mean drops": Exact(drops.mean_block),
            "off by half": Exact(100 * drops.off_by_half(TEN)),
            "variance": Exact(drops.variance_of_blocks),
        }
    return {}


def _derandomised(asked: Asked) -> Iterator[Draws]:
    for seed in asked.seeds:
        yield _at_p(asked.level, seed)


def _at_p(level: Level, seed: int) -> Draws:
    frames = frames_for(RUNS / SEEDS, P, DERANDOMISED)
    return draws("de-randomised", DERANDOMISED, [P], frames, level, seed)


def _bounded_runs(asked: Asked, results: Results) -> Mapping[str, Measured]:
    found = _one("de-randomised", asked, results)
    if not found:
        return {}
    lengths = [run for drops in found.values() for run, _ in drops.runs]
    counted = [pair for drops in found.values() for pair in drops.runs]
    longest = sum(times for run, times in counted if run == _LARGEST)
    return {
        "smallest run": Exact(float(min(lengths))),
        "largest run": Exact(float(max(lengths))),
        "mean run": Seeds({seed: drops.mean_run for seed, drops in found.items()}),
        "share at 850": Share(longest, sum(times for _, times in counted), tuple(found)),
    }


def _all(asked: Asked) -> Iterator[Draws]:
    frames = BLOCK * BLOCKS // SEEDS
    for seed in asked.seeds:
        yield draws("bernoulli", PLAIN, [P], frames, asked.level, seed)
        yield _at_p(asked.level, seed)
        yield draws("mean of ten", DERANDOMISED, [P_OF_TEN], frames, asked.level, seed)


def _excursions(asked: Asked, results: Results) -> Mapping[str, Measured]:
    shares = {
        "bernoulli": _off_by_half("bernoulli", TEN, asked, results),
        "de-randomised": _off_by_half("de-randomised", EFFECTIVE * TEN, asked, results),
        "mean of ten": _off_by_half("mean of ten", TEN, asked, results),
    }
    found: dict[str, Measured] = {
        f"off by half {name}": Seeds({seed: 100 * share for seed, share in shares[name].items()})
        for name in ("bernoulli", "de-randomised")
        if shares[name]
    }
    for name, other in (("0.01", "de-randomised"), ("0.0185", "mean of ten")):
        ratios = {
            seed: share / shares[other][seed]
            for seed, share in shares["bernoulli"].items()
            if shares[other].get(seed)
        }
        if ratios:
            found[f"ratio at {name}"] = Seeds(ratios)
    return found


def _off_by_half(label: str, expected: float, asked: Asked, results: Results) -> dict[int, float]:
    found = _one(label, asked, results)
    return {seed: drops.off_by_half(expected) for seed, drops in found.items()}


ROWS: Final = (
    Row("000-F7", _plain, _runs, study_seeds=3),
    Row("000-F8", _plain, _blocks, study_seeds=3),
    Row("000-F9", _derandomised, _bounded_runs, study_seeds=5),
    Row("000-F10", _all, _excursions, study_seeds=5),
)
