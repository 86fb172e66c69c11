# SPDX-License-Identifier: Apache-2.0
"""The lines of 001's figures: a number against the buffer, and distributions of latency."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from docsis_experiments.reproduction.figure import Axis, Line, Made, Panel, Published, over_seeds
from docsis_experiments.reproduction.settings.p001_outcomes import (
    dropped_bits_a_second,
    goodput_mbps,
    mean_ms,
    names,
)
from docsis_experiments.reproduction.settings.p001_readings import Reading, propagation_ms
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.runs.outcome import PROBABILITIES, Outcome

BUFFER: Final = Axis("Buffer (ms)", low=0)
LATENCY: Final = Axis("Mean latency (ms)", low=0)
RATE: Final = Axis("Goodput (Mbit/s)", low=0)
LOSS: Final = Axis("Dropped (Mbit/s)", low=0)

_SAMPLES: Final = 200
"""Samples of a group's distribution, where several groups are put together."""


def latency_ms(which: str, round_trip_ms: float = 50) -> Callable[[Outcome], float]:
    """Mean latency of "game" or "uploads" under the reading that decides."""
    added = propagation_ms(Reading.FIRST, round_trip_ms)
    return lambda outcome: mean_ms(outcome, which) + added


def dropped_mbps(outcome: Outcome) -> float:
    """As the paper's lower traces have it."""
    return dropped_bits_a_second(outcome) / 1e6


def against_buffer(
    name: str,
    made: Made,
    point: Callable[[int], Setting],
    buffers: Iterable[int],
    value: Callable[[Outcome], float],
    preset: str = "",
) -> Line:
    """A line over buffers, of those that were run."""
    found = {buffer: made.results.runs(point(buffer).work) for buffer in buffers}
    return over_seeds(
        name,
        [
            (float(buffer), {seed: value(one) for seed, one in runs.items()})
            for buffer, runs in found.items()
            if runs
        ],
        preset=preset,
    )


def latency_and_rates(
    made: Made,
    point: Callable[[int], Setting],
    buffers: Sequence[int],
    published: Sequence[Published] = (),
) -> tuple[Panel, ...]:
    """Parts (a) and (b) of figures 2, 3, 5, 7, 11 and 14.

    Args:
        made: The results of a row that ran the points.
        point: Gives the point of a buffer.
        buffers: The buffers that are drawn.
        published: The published values of part (a).
    """
    latency = (
        against_buffer("FTP", made, point, buffers, latency_ms("uploads")),
        against_buffer("game", made, point, buffers, latency_ms("game")),
    )
    goodput = against_buffer("goodput", made, point, buffers, goodput_mbps)
    dropped = against_buffer("dropped", made, point, buffers, dropped_mbps)
    return (
        Panel("(a) latency", BUFFER, LATENCY, latency, tuple(published)),
        Panel("(b) throughput", BUFFER, RATE, (goodput,)),
        Panel("(b) loss", BUFFER, LOSS, (dropped,)),
    )


def distribution(name: str, made: Made, point: Setting, which: str, added_ms: float = 25) -> Line:
    """The share of packets within a latency, of all seeds' runs of a point together."""
    values: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []
    weights: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []
    at = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    for outcome in made.results.runs(point.work).values():
        for group in names(outcome, which):
            found = outcome.groups[group]
            if found.latency:
                values.append(np.interp(at, PROBABILITIES, found.latency))
                weights.append(np.full(_SAMPLES, found.values["packets"]))
    if not values:
        return Line(name, (), ())
    latency, weight = np.concatenate(values), np.concatenate(weights)
    order = np.argsort(latency, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    chosen = np.unique(np.searchsorted(share, PROBABILITIES[1:-1]).clip(0, share.size - 1))
    return Line(
        name,
        tuple(float(value) + added_ms for value in latency[order][chosen]),
        tuple(float(value) for value in share[chosen]),
    )


def within(title: str, lines: Iterable[Line], published: Sequence[Published] = ()) -> Panel:
    """A panel of distributions, as figures 6, 12, 15 and 16 have them."""
    return Panel(
        title,
        Axis("Latency (ms)", low=0),
        Axis("Share of packets", low=0, high=1),
        tuple(lines),
        tuple(published),
    )
