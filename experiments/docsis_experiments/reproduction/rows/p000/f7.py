# SPDX-License-Identifier: Apache-2.0
"""Figures 7 to 10: runs between drops, and drops in a thousand packets, at p = 0.01."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.figure import Figure, Line, Made, Published
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
from docsis_experiments.reproduction.settings import p000_frequencies as frequencies
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
"""Runs for figures 7 and 9, all seeds together."""
BLOCKS: Final = 100_000
"""Blocks for figures 8 and 10, all seeds together."""
SEEDS: Final = 20
"""Seeds for figures 9 and 10."""

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


_SHORTEST: Final = 85
_BLOCKS_DRAWN: Final = range(31)
_RUNS_DRAWN: Final = range(1, 601)
_TOGETHER: Final = 10
"""Lengths of runs in a row that are one point of figures 7 and 9."""


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figures 7 to 10."""
    for name, label, draw in (
        ("000-F7", "bernoulli", _figure_7),
        ("000-F8", "bernoulli", _figure_8),
        ("000-F9", "de-randomised", _figure_9),
    ):
        if name in made and (drops := _drops(made[name], label)):
            yield draw(drops)
    if "000-F10" in made and _drops(made["000-F10"], "bernoulli"):
        yield _figure_10(made["000-F10"])


def _drops(made: Made, label: str) -> list[Drops]:
    """The drops of all seeds."""
    return list(_one(label, made.asked, made.results).values())


def _runs_of(drops: Iterable[Drops]) -> list[tuple[int, int]]:
    return [counted for one in drops for counted in one.runs]


def _blocks_of(drops: Iterable[Drops]) -> list[tuple[int, int]]:
    return [counted for one in drops for counted in one.blocks]


def _upright(name: str, x: float, top: float) -> Published:
    return Published(name, (x, x), (0, top), joined=True)


def _figure_7(drops: list[Drops]) -> Figure:
    lines = (
        frequencies.frequencies("pipeline", _runs_of(drops), _RUNS_DRAWN, _TOGETHER),
        frequencies.geometric(P, _RUNS_DRAWN),
    )
    published = [
        _upright("published, mean: 100", 1 / P, 100 * P),
        Published("published, mode: 1", (1,), (100 * P,)),
    ]
    return Figure(
        "000-7",
        "Run length of independent drops, p = 0.01",
        (frequencies.panel(frequencies.RUN, lines, published),),
        f"Frames through the compiled pipeline; a point is the mean of {_TOGETHER} lengths.",
        ("000-F7",),
    )


def _figure_8(drops: list[Drops]) -> Figure:
    lines = (
        frequencies.frequencies("pipeline", _blocks_of(drops), _BLOCKS_DRAWN, bars=True),
        frequencies.binomial(BLOCK, P, _BLOCKS_DRAWN),
    )
    published = [_upright("published, mean: 10", TEN, _TOP_OF_BLOCKS)]
    return Figure(
        "000-8",
        "Independent drops in a thousand frames, p = 0.01",
        (frequencies.panel(frequencies.DROPS, lines, published),),
        "Frames through the compiled pipeline. The text says that half as many drops or half as "
        "many again are common.",
        ("000-F8",),
    )


_TOP_OF_BLOCKS: Final = 13.0
"""Percent of the most frequent number of drops, about."""


def _figure_9(drops: list[Drops]) -> Figure:
    counted = _runs_of(drops)
    between = range(_SHORTEST, _LARGEST)
    forced = frequencies.frequencies(
        "pipeline, forced drop", counted, range(_LARGEST, _LARGEST + 1)
    )
    lines = (
        frequencies.frequencies("pipeline", counted, between, _TOGETHER),
        replace(forced, shape="points"),
        frequencies.bounded(P, _SHORTEST, _LARGEST),
    )
    published = [
        _upright(f"published, from 0.85/p to 8.5/p: {_SHORTEST} to {_LARGEST}", end, 200 * P)
        for end in (_SHORTEST, _LARGEST)
    ]
    return Figure(
        "000-9",
        "Run length of de-randomised drops, p = 0.01",
        (frequencies.panel(frequencies.RUN, lines, published, logarithmic=True),),
        "Frames through the compiled pipeline, whose run lengths are bounded: at the longest a "
        f"drop is forced. A point is the mean of {_TOGETHER} lengths. The scale is logarithmic, so "
        "that the forced drops can be seen.",
        ("000-F9",),
    )


def _figure_10(made: Made) -> Figure:
    lines: list[Line] = []
    for name, label in (
        ("de-randomised, p = 0.01", "de-randomised"),
        (f"de-randomised, p = {P_OF_TEN} (ten drops)", "mean of ten"),
        ("independent, p = 0.01", "bernoulli"),
    ):
        blocks = _blocks_of(_drops(made, label))
        lines.append(frequencies.frequencies(name, blocks, _BLOCKS_DRAWN, bars=True))
    return Figure(
        "000-10",
        "De-randomised drops in a thousand frames",
        (frequencies.panel(frequencies.DROPS, lines, ()),),
        "The same as figure 8 with bounded run lengths. The text says that excursions are much "
        "rarer; it gives no values.",
        ("000-F10",),
    )


ROWS: Final = (
    Row("000-F7", _plain, _runs, study_seeds=3),
    Row("000-F8", _plain, _blocks, study_seeds=3),
    Row("000-F9", _derandomised, _bounded_runs, study_seeds=5),
    Row("000-F10", _all, _excursions, study_seeds=5),
)
