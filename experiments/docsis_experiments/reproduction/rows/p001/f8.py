# SPDX-License-Identifier: Apache-2.0
"""001-F8, F9: how often sessions meet in a flow queue, with and without a serial search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from docsis_experiments.figures.laws import GROUP, collision
from docsis_experiments.reproduction.figure import Axis, Figure, Line, Made, Panel, Published
from docsis_experiments.reproduction.row import (
    Asked,
    Exact,
    Measured,
    Results,
    Row,
    Seeds,
    Work,
)
from docsis_experiments.reproduction.settings.p001_draws import (
    QUEUES,
    Hashed,
    draws,
    meetings,
    together,
)
from docsis_experiments.reproduction.settings.p001_readings import Reading, reading
from docsis_experiments.reproduction.settings.ratio import ratio

_PLAIN: Final = Hashed(search=False, sessions=(2, 3, 10, 20))

_SEARCHED: Final = (20, 35)
_GROUPS: Final = 64
_ALONE: Final = 10
"""Sessions of which two meet in a group, in the part about groups without a search."""

_READINGS: Final = (Reading.FIRST, Reading.GAME_APART)


def _plain(asked: Asked) -> Iterable[Work]:
    return draws(_PLAIN, asked)


def _figure_8(asked: Asked, results: Results) -> Mapping[str, Measured]:
    del asked
    found = {n: meetings(results, _PLAIN.label, n) for n in _PLAIN.sessions}
    return {f"{n} sessions": together(of) for n, of in found.items() if of}


def _hashed(asked: Asked) -> int:
    """How many of the sessions are not hashed: the game, where it has a queue of its own."""
    return 1 if reading(asked, _READINGS) is Reading.GAME_APART else 0


def _both(asked: Asked) -> Iterable[Work]:
    less = _hashed(asked)
    # The plain draws are those of figure 8 where the numbers are.
    plain = Hashed(search=False, sessions=(_SEARCHED[0] - less,)) if less else _PLAIN
    yield from draws(plain, asked)
    yield from draws(Hashed(search=True, sessions=tuple(n - less for n in _SEARCHED)), asked)


def _figure_9(asked: Asked, results: Results) -> Mapping[str, Measured]:
    less = _hashed(asked)
    parts: dict[str, Measured] = {}
    for n in _SEARCHED:
        if found := meetings(results, "search", n - less):
            parts[f"{n} sessions"] = together(found)
    plain = meetings(results, "plain", _SEARCHED[0] - less)
    search = meetings(results, "search", _SEARCHED[0] - less)
    if seeds := sorted(plain.keys() & search.keys()):
        parts[f"plain over search {_SEARCHED[0]}"] = Seeds(
            {seed: ratio(_share(plain[seed]), _share(search[seed])) for seed in seeds}
        )
    parts[f"groups alone {_ALONE}"] = Exact(100 * collision(_ALONE, _GROUPS))
    return parts


def _share(hits_of: tuple[int, int]) -> float:
    hits, trials = hits_of
    return hits / trials


def _percent(found: Mapping[int, tuple[int, int]]) -> float:
    share = together(found)
    return 100 * share.hits / share.of


def _drawn(made: Made, hashed: Hashed, name: str) -> Line:
    found = {n: meetings(made.results, hashed.label, n) for n in hashed.sessions}
    points = [(float(n), _percent(of)) for n, of in found.items() if of]
    return Line(name, tuple(n for n, _ in points), tuple(y for _, y in points), shape="points")


def _law(name: str, room: int) -> Line:
    numbers = range(2, 51)
    return Line(
        name,
        tuple(map(float, numbers)),
        tuple(100 * collision(n, QUEUES // room, room) for n in numbers),
    )


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figures 8 and 9."""
    sessions = Axis("Sessions", low=0)
    probability = Axis("Probability of a collision (%)", low=0)
    plain = Published("published", (2, 3, 10, 20), (0.4, 1.2, 16.3, 53.3))
    if "001-F8" in made:
        lines = (_drawn(made["001-F8"], _PLAIN, "256 queues"), _law("law", 1))
        yield Figure(
            "001-8",
            "Probability of a collision with normal hashing",
            (Panel("", sessions, probability, lines, (plain,)),),
            "Draws through the pipeline's hash, and what follows from 256 queues.",
            ("001-F8",),
        )
    if "001-F9" in made:
        searched = Hashed(search=True, sessions=_SEARCHED)
        lines = (_drawn(made["001-F9"], searched, "64 groups of 4"), _law("law", GROUP))
        said = Published("published", (20, 35), (0.05, 1))
        yield Figure(
            "001-9",
            "Probability of a collision with serial searching",
            (Panel("", sessions, probability, lines, (said,)),),
            "Draws through the pipeline's hash and search, and what follows from 64 groups of 4.",
            ("001-F9",),
        )


ROWS: Final[tuple[Row, ...]] = (
    Row("001-F8", _plain, _figure_8),
    Row("001-F9", _both, _figure_9, readings=len(_READINGS)),
)
