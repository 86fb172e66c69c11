# SPDX-License-Identifier: Apache-2.0
"""A few cheap rows of 001 from their works to their parts, at smoke and in virtual time."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from test_p001_rows import ROWS, Made, number

from docsis_experiments.reproduction.row import Asked, Computation, Level, Run, Share
from docsis_experiments.reproduction.settings.p001_draws import meetings, together
from docsis_experiments.reproduction.settings.p001_outcomes import mean_ms
from docsis_experiments.runs.play import play

pytestmark = pytest.mark.long

ASKED = Asked(Level.SMOKE, 1, (901,))


def played(name: str, folder: Path) -> Made:
    results = Made()
    for work in ROWS[name].works(ASKED):
        if isinstance(work, Run):
            outcome = play(work.unit, folder)
            assert not outcome.withheld
            results.outcomes.setdefault(work.label, {})[work.unit.seed] = outcome
        elif isinstance(work, Computation):
            results.computations.setdefault(work.label, {})[work.seed] = work.compute(work.seed)
    return results


def test_a_full_queue_takes_two_seconds(tmp_path: Path) -> None:
    found = ROWS["001-P1"].parts(ASKED, played("001-P1", tmp_path))
    # A definition: it holds at any seed.
    assert number(found["full queue"]) == pytest.approx(2, abs=0.05)


def test_a_forced_collision_is_one_in_the_pipeline(tmp_path: Path) -> None:
    results = played("001-F7", tmp_path)
    [forced] = [label for label in results.outcomes if label.startswith("sfq-forced 400")]
    outcome = results.runs(forced)[901]
    # In a queue of its own it would wait for a round of ten frames, 24 ms, at the most.
    assert mean_ms(outcome, "game") > 100


def test_the_curve_is_the_pipelines(tmp_path: Path) -> None:
    found = ROWS["001-F10"].parts(ASKED, played("001-F10", tmp_path))
    assert number(found["points off the curve"]) == 0


def test_drop_tail_runs_are_measured(tmp_path: Path) -> None:
    found = ROWS["001-H1"].parts(ASKED, played("001-H1", tmp_path))
    assert set(found) == {"clustered drops", "timeouts per lost packet"}
    assert not math.isnan(number(found["timeouts per lost packet"]))
    assert together(meetings(Made(), "plain", 2)) == Share(0, 0)
