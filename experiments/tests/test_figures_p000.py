# SPDX-License-Identifier: Apache-2.0
"""Figures of 000, of outcomes and reports that nobody made."""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
from collections.abc import Mapping
from typing import Any, Final

import pytest
from results_given import Given, even, given, outcome

from docsis_control.config.units import parse_duration
from docsis_experiments.reproduction.figure import Figure, Line, Made
from docsis_experiments.reproduction.figure_data import as_data
from docsis_experiments.reproduction.page.drawing import picture
from docsis_experiments.reproduction.row import Asked, Draws, Level, Run
from docsis_experiments.reproduction.rows import p000
from docsis_experiments.reproduction.settings import p000_frequencies as frequencies
from docsis_experiments.reproduction.settings.p000_drawn import counted, one_each, pooled
from docsis_experiments.reproduction.settings.p000_managers import SEVEN, Manager
from docsis_experiments.reproduction.settings.p000_pooled import Table
from docsis_experiments.runs.outcome import PROBABILITIES, Outcome

ASKED: Final = Asked(Level.SMOKE, 1, (901, 902))

MODULES: Final = [
    importlib.import_module(f"{p000.__name__}.{module.name}")
    for module in pkgutil.iter_modules(p000.__path__)
]
DRAWING: Final = [module for module in MODULES if hasattr(module, "figures")]

LATEST: Final = {Manager.BB: 160.0, Manager.BC: 45.0, Manager.CD: 24.0}
"""Milliseconds up to which latencies are even; 12 of all others."""

NUMBERS: Final = (*range(1, 15), 16)
"""Figure 15's content is not known, and a rule looks at all others."""


def run(one: Run) -> Outcome:
    seed = one.unit.seed - 901
    names = [group["name"] for group in json.loads(one.unit.scenario)["traffic"]]
    latest = LATEST.get(Manager(one.unit.label), 12.0) if one.unit.label in [*Manager] else 12.0
    loses = one.unit.label == Manager.CD.value and " load 2" in one.label
    group = even(0.0, latest, loss=0.5 if loses else 0.0)

    def value(quantity: dict[str, Any]) -> float:
        match quantity["metric"]:
            case "pages-within":
                # Load times are even up to 3 s.
                return 100 * min(1.0, parse_duration(quantity["bound"]) / 3e9)
            case "goodput":
                return 200.0 + seed
            case "rate-estimate":
                return {"p50": 15.0, "p90": 90.0}[quantity["statistic"]] + seed
            case "loss":
                return 0.5 if loses else 0.0
        return 0.0

    return outcome(one.unit, dict.fromkeys(names, group), value)


def report(one: Draws) -> Mapping[str, object]:
    probabilities = [
        float(p)
        for name, p in zip(one.arguments, one.arguments[1:], strict=False)
        if name == "--drop-prob"
    ]
    return {
        "results": [
            {
                "drop_prob": p,
                "frames": 100_000,
                "dropped": round(54_100 * p),
                "run_lengths": [[100, 6], [200, 3], [850, 1]],
                "drops_in_1000": [[9, 1], [10, 3]],
            }
            for p in probabilities
        ]
    }


def _figures() -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    for module in DRAWING:
        made = {
            row.id: Made(ASKED, given(row, ASKED, run, report, lambda _: {})) for row in module.ROWS
        }
        for figure in module.figures(made):
            assert figure.id not in found
            found[figure.id] = figure
    return found


@pytest.fixture(scope="module", name="drawn")
def _drawn() -> dict[str, Figure]:
    return _figures()


def line(figure: Figure, name: str, panel: int = 0) -> Line:
    [found] = [one for one in figure.panels[panel].lines if one.name == name]
    return found


def within(found: Line, share: float) -> float:
    """The value at which a distribution has a share."""
    return next(x for x, y in zip(found.x, found.y, strict=True) if y >= share)


def test_every_figure_of_the_paper_that_is_known_is_drawn(drawn: dict[str, Figure]) -> None:
    assert sorted(drawn) == sorted(f"000-{number}" for number in NUMBERS)
    rows = {row.id for module in MODULES for row in module.ROWS}
    for figure in drawn.values():
        assert figure.rows
        assert set(figure.rows) <= rows
        assert figure.caption.endswith(".")


@pytest.mark.parametrize("number", NUMBERS)
def test_figure_can_be_put_on_a_page(number: int, drawn: dict[str, Figure]) -> None:
    found = as_data(drawn[f"000-{number}"])
    assert all(panel["lines"] for panel in found["panels"])
    json.dumps(found, allow_nan=False)
    assert picture(found).startswith(b"\x89PNG")


def test_rows_that_have_nothing_have_no_figure() -> None:
    for module in DRAWING:
        assert not list(module.figures({}))
        for row in module.ROWS:
            assert not list(module.figures({row.id: Made(ASKED, Given())}))


def test_figure_1_has_the_latencies_that_its_row_judges(drawn: dict[str, Figure]) -> None:
    figure = drawn["000-1"]
    # Latencies are even, and the game has 3 ms of path.
    assert within(line(figure, "Bufferbloat, 250 ms"), 0.9) == pytest.approx(144 + 3, abs=1)
    assert within(line(figure, "CoDel", panel=1), 0.5) == pytest.approx(12 + 3, abs=0.2)
    names = [one.name for one in figure.panels[0].lines]
    assert len(names) == len(set(names)) == len(SEVEN) + 1
    assert all(y == 0.9 for one in figure.panels[0].published for y in one.y)
    assert len(figure.panels[1].published) < len(figure.panels[0].published)


def test_figure_2_has_conditions_without_loss_at_its_left_end(drawn: dict[str, Figure]) -> None:
    figure = drawn["000-2"]
    codel, pie = line(figure, "CoDel"), line(figure, "PIE")
    # Two of four runs lose half a percent.
    steps = dict(zip(codel.x, codel.y, strict=True))
    assert steps[0.001] == 0.5
    assert steps[0.5] == 1
    assert (pie.x[1], pie.x[-1], pie.y[-1]) == (0.001, 100, 1)
    assert figure.panels[0].x.logarithmic


def test_figures_3_and_4_are_the_same_on_two_scales(drawn: dict[str, Figure]) -> None:
    third, fourth = drawn["000-3"], drawn["000-4"]
    assert line(third, "PIE") == line(fourth, "PIE")
    assert len(third.panels[0].lines) == len(fourth.panels[0].lines) + 1
    assert max(line(third, "PIE").x[:-1]) > 4.3


def test_figure_5_is_in_seconds(drawn: dict[str, Figure]) -> None:
    assert within(line(drawn["000-5"], "SFQ-PIE"), 0.9) == pytest.approx(2.7)


def test_figure_6_has_what_is_compared_at_each_round_trip(drawn: dict[str, Figure]) -> None:
    panels = drawn["000-6"].panels
    assert [len(panel.lines) for panel in panels] == [7, 7, 2, 5]
    assert [panel.title for panel in panels] == [f"round trip {n} ms" for n in (20, 50, 100, 200)]
    found = line(drawn["000-6"], "CoDel-DT", panel=2)
    assert (found.x[0], found.x[-1]) == (0.5, 100)
    assert found.y[0] == 200.5
    assert found.low[0] < found.y[0] < found.high[0]


def test_figures_7_to_10_have_shares_and_their_laws(drawn: dict[str, Figure]) -> None:
    runs = line(drawn["000-7"], "pipeline")
    # Six of ten in the ten lengths around 100.
    assert dict(zip(runs.x, runs.y, strict=True))[95.5] == pytest.approx(6)
    assert math.isnan(runs.y[0])
    blocks = line(drawn["000-8"], "pipeline")
    assert (blocks.shape, blocks.y[9], blocks.y[10]) == ("bars", 25, 75)
    assert sum(line(drawn["000-8"], "law").y) == pytest.approx(100, abs=1e-4)
    forced = line(drawn["000-9"], "pipeline, forced drop")
    assert (forced.x, forced.y, forced.shape) == ((850,), (10,), "points")
    free = line(drawn["000-9"], "pipeline")
    # Six of ten from 95 to 104, three from 195 to 204; forced drops are none of these.
    shares = dict(zip(free.x, free.y, strict=True))
    assert [shares[99.5], shares[199.5]] == pytest.approx([6, 3])
    assert math.isnan(free.y[-1])
    law = line(drawn["000-9"], "law")
    assert (law.x[0], law.x[-1]) == (85, 850)
    assert sum(law.y) == pytest.approx(100)
    # Catalogue, row F9: 0.046% at 850.
    assert law.y[-1] == pytest.approx(0.046, rel=0.01)
    assert len(drawn["000-10"].panels[0].lines) == 3
    assert sum(frequencies.geometric(0.01, range(1, 3000)).y) == pytest.approx(100)


def test_figures_11_to_14_have_the_rate_beside_its_estimate(drawn: dict[str, Figure]) -> None:
    for whole, detail in (("000-11", "000-12"), ("000-13", "000-14")):
        rate = line(drawn[whole], "actual rate")
        assert (rate.x[:4], rate.x[-1]) == ((0, 10, 20, 30), 120)
        assert rate.y[:4] == (12, 10, 12, 18)
        near = line(drawn[detail], "actual rate")
        assert (near.x, near.y) == ((25, 30, 35), (12, 18, 18))
        median = line(drawn[whole], "estimate, median of 1 s")
        assert (len(median.x), median.x[0], median.y[0]) == (120, 0.5, 15.5)
        often = line(drawn[detail], "estimate, 90% of 0.2 s")
        assert (len(often.x), often.x[0], often.y[-1]) == (50, 25.1, 90.5)


def test_figure_16_has_the_probabilities_as_they_were_set(drawn: dict[str, Figure]) -> None:
    found = line(drawn["000-16"], "pipeline")
    assert len(found.x) == 220
    assert list(found.x) == sorted(found.x)
    assert found.y[0] == pytest.approx(0.541 * 0.001, rel=0.01)


def test_distributions_of_runs_are_weighed() -> None:
    low, high = (tuple(at + 100 * p for p in PROBABILITIES) for at in (0.0, 1000.0))
    found = pooled(Manager.CD, [Table(low, 3.0), Table(high, 1.0), Table(low, 0.0)], 5.0)
    assert within(found, 0.75) == pytest.approx(100 + 5, abs=1)
    assert within(found, 0.755) > 1000
    assert list(found.x) == sorted(found.x)
    assert pooled(Manager.CD, []).x == ()


def test_one_value_a_condition_makes_steps() -> None:
    found = one_each(Manager.PIE, [3.0, math.nan, 1.0], most=4.0)
    assert (found.x, found.y) == ((1, 1, 3, 4), (0, 0.5, 1, 1))
    assert one_each(Manager.PIE, [math.nan]).x == ()
    assert counted(Manager.PIE, (1, 2), (1, 4)).y == (0.25, 1)
    assert counted(Manager.PIE, (1, 2), (0, 0)).x == ()
