# SPDX-License-Identifier: Apache-2.0
"""000's figure 5, and the count of pages that it is made of."""

from __future__ import annotations

import json
import math
from typing import Any, Final

import numpy as np
import pytest
import scenario_files
from results_given import Given, about, even, given, outcome

from docsis_control.config.units import parse_duration
from docsis_experiments.measurement.metrics.pages_within import pages_within
from docsis_experiments.measurement.record import Pages
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.reproduction.row import Asked, Level, Run, Seeds
from docsis_experiments.reproduction.rows.p000 import f5
from docsis_experiments.runs.outcome import Outcome

[ROW] = f5.ROWS
PLAIN_PIE: Final = Asked(Level.SMOKE, 7, (901,))

LONGEST: Final = {"drop-tail-250ms": 5.0, "drop-tail-50ms": 3.0, "codel": 2.2}


def test_pages_are_counted_up_to_the_bound() -> None:
    pages = Pages(np.array([0.0, 1.0, 2.0, 9.0]), np.array([1.0, 3.5, math.nan, 11.0]))
    run = scenario_files.record("tail", 10.0, pages={"web": pages, "more": pages})

    def within(bound_ms: float, *of: str) -> float:
        return pages_within(Scope(of, bound_ms=bound_ms), run)

    # The third never was complete, the fourth not within the measured time.
    assert within(999.0, "web") == 0
    assert within(1000.0, "web") == 1
    assert within(2500.0, "web") == 2
    assert within(600_000.0, "web", "more") == 4


def test_quantile_lies_between_bounds() -> None:
    assert f5.quantile((1, 2, 4), (0, 8, 10), 0.9) == pytest.approx(3)
    assert f5.quantile((1, 2, 4), (5, 8, 10), 0.25) == pytest.approx(0.5)
    assert math.isnan(f5.quantile((1, 2), (0, 0), 0.9))


def test_figure_5_pools_pages_and_compares_managers_within_a_seed() -> None:
    def run(one: Run) -> Outcome:
        longest = LONGEST.get(one.unit.label, 2.0)
        names = [group["name"] for group in json.loads(one.unit.scenario)["traffic"]]

        def value(quantity: dict[str, Any]) -> float:
            if quantity["metric"] != "pages-within":
                return 0.0
            # Load times are even up to the longest.
            seconds = parse_duration(quantity["bound"]) / 1e9
            return 100 * len(quantity["of"]) * min(1.0, seconds / longest)

        return outcome(one.unit, dict.fromkeys(names, even(0.0, 1.0)), value)

    found = ROW.parts(PLAIN_PIE, given(ROW, PLAIN_PIE, run))

    def of(value: float) -> Seeds:
        return Seeds({901: about(value)})

    assert found["p90 drop-tail-250ms"] == of(4.5)
    assert found["drop-tail-250ms over pie"] == of(2.5)
    assert found["drop-tail-50ms over pie"] == of(1.5)
    assert found["spread of aqms"] == of(0.9 * 0.2)
    assert not ROW.parts(PLAIN_PIE, Given())
