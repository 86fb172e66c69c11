# SPDX-License-Identifier: Apache-2.0
"""Appendix C: both bucket inequalities hold for every frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from docsis_experiments.reproduction.row import (
    Asked,
    Computation,
    Exact,
    Level,
    Measured,
    Results,
    Row,
)
from docsis_experiments.reproduction.settings.p000_buckets import PACKETS, checked

FRAMES: Final = 100_000_000
"""Frames of all worlds together."""

_WORLDS: Final = {Level.SMOKE: 1, Level.STUDY: 20, Level.FULL: 13 * FRAMES // (10 * PACKETS)}
"""More than frames need that are sent: a fifth may find the buffer full, and never leaves."""


def _works(asked: Asked) -> Iterator[Computation]:
    for number in range(_WORLDS[asked.level]):
        yield Computation(_label(number), partial(checked, world=number), asked.seeds[0])


def _label(number: int) -> str:
    return f"world {number}"


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    seed = asked.seeds[0]
    worlds = [results.computed(_label(number)) for number in range(_WORLDS[asked.level])]
    # None of them says anything of all the frames before all are there.
    if not all(seed in world for world in worlds):
        return {}
    if asked.level is Level.FULL and sum(world[seed]["packets"] for world in worlds) < FRAMES:
        raise ValueError(f"fewer than {FRAMES} frames left")
    return {"violations": Exact(sum(world[seed]["violations"] for world in worlds))}


ROWS: Final = (Row("000-C1", _works, _parts),)
