# SPDX-License-Identifier: Apache-2.0
"""Rows of 000's figures 7 to 10 and 16, with reports that the switch never made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from results_given import about, given

from docsis_experiments.reproduction.row import Asked, Draws, Exact, Level, Seeds, Share
from docsis_experiments.reproduction.rows.p000 import f7, f16
from docsis_experiments.reproduction.settings.p000_draws import drops_of
from docsis_testbed import p4build, switch_report
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import P4_BUILD

ROWS: Final = {row.id: row for module in (f7, f16) for row in module.ROWS}
ASKED: Final = Asked(Level.FULL, 1, (1, 2))


def option(draws: Draws, name: str) -> str:
    return draws.arguments[draws.arguments.index(name) + 1]


def report(
    draws: Draws, runs: Mapping[int, int], blocks: Mapping[int, int], rate: float
) -> Mapping[str, Any]:
    frames = int(option(draws, "--frames"))
    one = {
        "drop_prob": float(option(draws, "--drop-prob")),
        "frames": frames,
        "dropped": round(frames * rate),
        "run_lengths": sorted(map(list, runs.items())),
        "drops_in_1000": sorted(map(list, blocks.items())),
    }
    return {"results": [one]}


def test_figures_7_and_8_are_of_one_seed_with_as_many_runs_and_blocks_as_registered() -> None:
    row = ROWS["000-F7"]
    [work] = row.works(ASKED)
    assert isinstance(work, Draws)
    assert option(work, "--queue-manager") == "pie"
    assert int(option(work, "--frames")) == 100_000_000
    there = given(row, ASKED, draws=lambda one: report(one, {1: 10, 95: 30, 201: 10}, {5: 1}, 0.01))
    assert row.parts(ASKED, there) == {
        "mean run": Exact(about((10 + 95 * 30 + 2010) / 50)),
        "runs to 10": Exact(about(20)),
        "mode": Exact(91.0),
    }
    blocks = {4: 1, 5: 1, 10: 6, 14: 1, 15: 1}
    row = ROWS["000-F8"]
    there = given(row, ASKED, draws=lambda one: report(one, {1: 1}, blocks, 0.01))
    found = row.parts(ASKED, there)
    assert found["off by half"] == Exact(about(30))
    assert found["mean drops"] == Exact(about(9.8))
    assert found["variance"] == Exact(about(10.16))


def test_figure_9_pools_runs_of_all_seeds() -> None:
    row = ROWS["000-F9"]
    runs = {1: {86: 3, 850: 1}, 2: {85: 1, 200: 3}}
    there = given(row, ASKED, draws=lambda one: report(one, runs[one.seed], {5: 1}, 0.005))
    assert row.parts(ASKED, there) == {
        "smallest run": Exact(85.0),
        "largest run": Exact(850.0),
        "mean run": Seeds({1: 277.0, 2: 171.25}),
        "share at 850": Share(1, 8, (1, 2)),
    }


def test_figure_10_compares_blocks_within_a_seed() -> None:
    row = ROWS["000-F10"]
    off = {
        "bernoulli": {5: 15, 10: 85},
        # 5.41 are expected: 2 and 9 are off by half, 3 and 8 are not.
        "de-randomised": {2: 1, 3: 40, 8: 58, 9: 1},
        # Ten are expected.
        "mean of ten": {5: 1, 10: 98, 15: 0, 14: 1},
    }
    there = given(row, ASKED, draws=lambda one: report(one, {1: 1}, off[one.label], 0.01))
    found = row.parts(ASKED, there)
    assert found["ratio at 0.01"] == Seeds({1: about(7.5), 2: about(7.5)})
    assert found["ratio at 0.0185"] == Seeds({1: about(15), 2: about(15)})
    assert found["off by half bernoulli"] == Seeds({1: about(15), 2: about(15)})


def test_figure_16_tells_deviations_and_the_edges_of_the_gap() -> None:
    row = ROWS["000-F16"]

    def draws(one: Draws) -> Mapping[str, Any]:
        p = float(option(one, "--drop-prob"))
        if one.label != "large p":
            # 1% above the law.
            return report(one, {1: 1}, {0: 1}, 1.01 * 0.541 * p)
        parts = [report(one, {1: 1}, {0: 1}, rate)["results"] for rate in (0.3, 0.46, 0.85, 0.86)]
        return {"results": [point for part in parts for point in part]}

    there = given(row, ASKED, draws=draws)
    found = row.parts(ASKED, there)
    assert isinstance(found["mean deviation"], Seeds)
    assert found["mean deviation"].values[1] == pytest.approx(1, abs=0.2)
    assert isinstance(found["effective over set at 0.001"], Seeds)
    assert found["effective over set at 0.001"].values[2] == pytest.approx(0.5464, abs=0.001)
    assert found["lower edge"] == Seeds(dict.fromkeys((1, 2), about(0.46, abs=0.0001)))
    assert found["upper edge"] == Seeds(dict.fromkeys((1, 2), about(0.85, abs=0.0001)))
    [first, _] = [one for one in row.works(ASKED) if one.label == "large p"]
    assert isinstance(first, Draws)
    assert first.arguments.count("--drop-prob") == 200


def test_draws_are_what_the_switch_understands() -> None:
    p4build.require_current()
    asked = Asked(Level.SMOKE, 1, (901,))
    [work] = ROWS["000-F9"].works(asked)
    assert isinstance(work, Draws)
    try:
        found = switch_report.run("sample", *work.arguments, "--program", str(P4_BUILD / "cm.json"))
    except TestbedError as error:
        pytest.skip(str(error))
    [drops] = drops_of(found)
    assert min(run for run, _ in drops.runs) >= 85
    assert max(run for run, _ in drops.runs) <= 850
    assert drops.rate == pytest.approx(0.00541, rel=0.1)
