# SPDX-License-Identifier: Apache-2.0
"""The frames of a call meet MAPs at any moment, which the seed decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scenario_files

from docsis_control.queue_managers.names import Preset
from docsis_experiments.experiment.draws import drawn
from docsis_experiments.experiment.plan import Plan, PlannedCall, plan_for
from docsis_experiments.experiment.tcp import Tcp
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_experiments.stages.virtual.play import column, playing
from docsis_experiments.stages.virtual.traffic import start
from docsis_experiments.traffic.senders import CALL_INTERVAL_MS

MAP_MS = 2
SEEDS = range(1, 1001)


def calls(names: str) -> Plan:
    return Plan(
        flows=(),
        calls=tuple(
            PlannedCall("game", name, "cpe1", "server1", 19_000 + number, 0.0)
            for number, name in enumerate(names)
        ),
        ramp_up_seconds=0.0,
        measured_seconds=1.0,
        one_in=1,
    )


def test_phases_in_a_map_are_uniform_over_seeds() -> None:
    starts = np.array([drawn(calls("a"), seed).calls[0].start for seed in SEEDS])
    assert (starts >= 0).all()
    assert (starts < CALL_INTERVAL_MS / 1e3).all()
    counts, _ = np.histogram(1e3 * starts % MAP_MS, bins=10, range=(0, MAP_MS))
    # Chi-squared with 9 degrees of freedom: above 27.9 in one of 1,000 such draws. Seeds are fixed.
    assert ((counts - 100) ** 2 / 100).sum() < 27.9, counts


def test_calls_of_a_run_have_phases_of_their_own_and_the_same_beside_others() -> None:
    alone, both = drawn(calls("b"), 1).calls, drawn(calls("ab"), 1).calls
    assert alone[0].start == both[1].start != both[0].start


def test_the_seed_decides_in_whole_experiments(tmp_path: Path) -> None:
    loaded = scenario_files.loaded(tmp_path)
    plan = plan_for(loaded.scenario, loaded.topology)
    first, again, other = (drawn(plan, seed).calls[0].start for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("start_ms", [0.0, 0.731, 19.25])
def test_first_frame_leaves_at_its_time(tmp_path: Path, start_ms: float) -> None:
    loaded = scenario_files.loaded(tmp_path)
    plan = calls("a")
    plan = replace(plan, calls=(replace(plan.calls[0], start=start_ms / 1e3),))
    with playing(
        loaded.topology,
        Preset.DROP_TAIL,
        seed=1,
        machine=EXACT,
        folder=tmp_path / "played",
        progress=lambda *_: None,
    ) as play:
        number = start(play, plan, Tcp()).calls[plan.calls[0]]
        play.run_until("all", 1.1)
        sent_ns = column(play.world.probe_records(number)[0])
        origin_ns = play.origin_ns
    expected_ms = start_ms + CALL_INTERVAL_MS * np.arange(len(sent_ns))
    assert len(sent_ns) > 1000 / CALL_INTERVAL_MS
    assert (sent_ns - origin_ns) / 1e6 == pytest.approx(expected_ms)
