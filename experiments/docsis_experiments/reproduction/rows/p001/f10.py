# SPDX-License-Identifier: Apache-2.0
"""001-F10, F10b: LRED's drop curve; its forms, of the queue's depth and of the wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from docsis_experiments.figures.laws import share_bounds
from docsis_experiments.reproduction.figure import Axis, Figure, Line, Made, Panel
from docsis_experiments.reproduction.row import (
    Asked,
    Computation,
    Exact,
    Level,
    Measured,
    Results,
    Row,
    Work,
)
from docsis_experiments.reproduction.settings.p001_curve import (
    MAX_THRESHOLD_MS,
    MIN_THRESHOLD_MS,
    POINTS,
    curve,
    law,
    point,
    short_curve,
    wait_ms,
)
from docsis_experiments.reproduction.settings.p001_levels import LARGEST
from docsis_experiments.reproduction.settings.p001_outcomes import mean_ms
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import MEGABIT, Setting
from docsis_experiments.reproduction.settings.ratio import ratio

_CURVE: Final = "drop curve"


def _works(asked: Asked) -> Iterable[Work]:
    compute = short_curve if asked.level is Level.SMOKE else curve
    yield Computation(_CURVE, compute, asked.seeds[0])


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    del asked
    found = [*results.computed(_CURVE).values()]
    if not found:
        return {}
    return {"points off the curve": Exact(sum(_off(found[0], n) for n in range(POINTS)))}


def _off(found: Mapping[str, float], number: int) -> bool:
    """Whether the law of a point lies outside the 99.9% interval of what was dropped there."""
    frames, dropped = round(found[f"frames {number}"]), found[f"dropped {number}"]
    low, high = share_bounds(dropped / frames, frames)
    # Without a drop the interval begins at 0, which the formula meets but for the last digit.
    return not (low if dropped else 0.0) <= law(number) <= high


_HALF: Final = 5 * MEGABIT // 2
"""bit/s that the channel carries: less than the service flow is configured with."""

_LATENCY: Final = Setting("lred", LARGEST)
_DEPTH: Final = Setting("lred-depth", LARGEST)
_LATENCY_AT_HALF: Final = Setting("lred", LARGEST, channel=_HALF)
_DEPTH_AT_HALF: Final = Setting("lred-depth", LARGEST, channel=_HALF)


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    return (_LATENCY, _DEPTH, _LATENCY_AT_HALF, _DEPTH_AT_HALF)


def _measure(made: Measuring) -> None:
    for name, pair in (
        ("depth over latency form", [_DEPTH, _LATENCY]),
        ("depth form at half rate", [_DEPTH_AT_HALF, _DEPTH]),
        ("latency form at half rate", [_LATENCY_AT_HALF, _LATENCY]),
    ):
        made.part(name, pair, lambda found: ratio(*map(mean_ms, found)))


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 10c."""
    computed = [*made["001-F10"].results.computed(_CURVE).values()] if "001-F10" in made else []
    if not computed:
        return
    waits = tuple(wait_ms(point(n)) for n in range(POINTS))
    shares = (100 * computed[0][f"dropped {n}"] / computed[0][f"frames {n}"] for n in range(POINTS))
    law_of = tuple(100 * law(n) for n in range(POINTS))
    yield Figure(
        "001-10c",
        "Drop probability against the time that a frame has waited",
        (
            Panel(
                "",
                Axis("Wait (ms)", low=0),
                Axis("Dropped (%)", low=0),
                (
                    Line("pipeline", waits, tuple(shares), shape="points"),
                    Line("law", waits, law_of, shape="points"),
                ),
            ),
        ),
        f"MINth {MIN_THRESHOLD_MS:g} ms and MAXth {MAX_THRESHOLD_MS:g} ms, Pmin 1% and Pmax 5%: "
        "the paper's figure has no numbers.",
        ("001-F10",),
    )


ROWS: Final[tuple[Row, ...]] = (
    Row("001-F10", _works, _parts, study_seeds=1),
    row("001-F10b", TCP_ALONE, _settings, _measure),
)
