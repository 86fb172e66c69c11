# SPDX-License-Identifier: Apache-2.0
"""001-F13: LRED at 1 Mbps, which cannot reach its goal of 50 ms.

The figure is against the buffer, and its mean is read where the buffer is the largest, as figures
6, 12, 15 and 16 are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Made, Panel, Published, over_seeds
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_figures import ONE_MEGABIT
from docsis_experiments.reproduction.settings.p001_levels import LARGEST
from docsis_experiments.reproduction.settings.p001_managers import PMAX, lred_goal_50
from docsis_experiments.reproduction.settings.p001_outcomes import loss_percent, mean_ms
from docsis_experiments.reproduction.settings.p001_readings import Reading, propagation_ms
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting

_READINGS: Final = (
    Reading.FIRST,
    Reading.PMIN_5,
    Reading.ACK_PER_SEGMENT,
    Reading.L0,
    Reading.L2,
)


def _point(pmax: float, which: Reading) -> Setting:
    pmin = 5 if which is Reading.PMIN_5 else 1
    return Setting(
        f"lred-50 {pmin}-{pmax:g} percent",
        LARGEST,
        management=lred_goal_50(pmin, pmax),
        rate=ONE_MEGABIT,
    )


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level
    return [_point(pmax, which) for pmax in PMAX]


def _measure(made: Measuring) -> None:
    for pmax in PMAX:
        point = [_point(pmax, made.reading)]
        made.part(f"mean pmax {pmax:g}", point, lambda found: made.latency_ms(found[0]))
        made.part(f"loss pmax {pmax:g}", point, lambda found: loss_percent(found[0]))


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Makes figure 13: the largest buffer, under each Pmax."""
    if "001-F13" not in made:
        return
    found = {pmax: made["001-F13"].results.runs(_point(pmax, Reading.FIRST).work) for pmax in PMAX}
    added = propagation_ms(Reading.FIRST, 50)
    latency = over_seeds(
        "mean latency",
        [(p, {seed: mean_ms(o) + added for seed, o in of.items()}) for p, of in found.items()],
        shape="points",
    )
    loss = over_seeds(
        "loss",
        [(p, {seed: loss_percent(o) for seed, o in of.items()}) for p, of in found.items()],
        shape="points",
    )
    pmax = Axis("Pmax (%)", low=0)
    yield Figure(
        "001-13",
        "Latency and loss, LRED with a goal of 50 ms, 1 Mbps, 960 ms of buffer",
        (
            Panel(
                "(a) latency",
                pmax,
                Axis("Mean latency (ms)", low=0),
                (latency,),
                (Published("published, near 100 ms", low=85, high=115),),
            ),
            Panel(
                "(b) loss",
                pmax,
                Axis("Lost packets (%)", low=0),
                (loss,),
                (Published("published, over 10%", low=10),),
            ),
        ),
        "The paper does not state Pmin, Pmax and MAXth: ours are 1%, on the axis, and 100 ms. It "
        "draws against the buffer.",
        ("001-F13",),
    )


ROWS: Final[tuple[Row, ...]] = (row("001-F13", _READINGS, _settings, _measure),)
