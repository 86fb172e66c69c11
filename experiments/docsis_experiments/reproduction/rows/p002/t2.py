# SPDX-License-Identifier: Apache-2.0
"""002-T2: the max-min shares that EXP2 is held against, with five videos of at most 4.2 Mbps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from docsis_experiments.reproduction.row import (
    Asked,
    Computation,
    Exact,
    Measured,
    Results,
    Row,
    Work,
)
from docsis_experiments.reproduction.settings.p002_levels import FLOWS
from docsis_experiments.reproduction.settings.p002_outcomes import shares_beside_videos

_LABEL: Final = "shares"


def computed(seed: int) -> Mapping[str, float]:
    """Mbit/s of a download and of a video, by the number of downloads."""
    del seed
    found: dict[str, float] = {}
    for n in FLOWS:
        found[f"share n{n}"], found[f"video n{n}"] = shares_beside_videos(n)
    return found


def _works(asked: Asked) -> Iterable[Work]:
    if asked.reading == 1:
        yield Computation(_LABEL, computed)


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    del asked
    parts: dict[str, Measured] = {}
    for found in results.computed(_LABEL).values():
        parts |= {f"share n{n}": Exact(found[f"share n{n}"]) for n in FLOWS}
        parts["largest video share"] = Exact(max(found[f"video n{n}"] for n in FLOWS))
    return parts


ROWS: Final[tuple[Row, ...]] = (Row("002-T2", _works, _parts, study_seeds=1),)
