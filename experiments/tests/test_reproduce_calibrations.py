# SPDX-License-Identifier: Apache-2.0
"""Calibrations on trial seeds: the search, and what it plays."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_experiments.reproduction import trials
from docsis_experiments.reproduction.calibrations.web_round_trip import (
    ROUND_TRIPS_MS,
    nearest,
    works,
)
from docsis_experiments.reproduction.making import Done
from docsis_experiments.reproduction.row import TRIAL_SEEDS, Asked, Level, Run
from docsis_experiments.reproduction.rows.p000 import f1, f6, s43
from docsis_experiments.reproduction.rows.p002.e3 import ROWS as EXP3
from docsis_experiments.reproduction.rows.p002.nf import ROWS
from docsis_experiments.reproduction.sensitivities import (
    after_slow_start,
    collisions,
    foreseen_waits,
    game_latency,
    inelastic_torrents,
    one_video,
    slow_game,
    two_tiers,
)
from docsis_experiments.reproduction.settings import p000_transfers
from docsis_experiments.reproduction.settings.p000_managers import Manager
from docsis_experiments.reproduction.settings.p000_network import Mac
from docsis_experiments.reproduction.settings.p002_levels import times
from docsis_experiments.reproduction.settings.p002_quantities import BINS_S, deviation
from docsis_experiments.reproduction.settings.p002_readings import Reading
from docsis_experiments.reproduction.settings.p002_traffic import TIER2
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.runs.store import Store
from docsis_testbed.errors import TestbedError


@given(
    st.lists(st.floats(0, 10), min_size=7, max_size=7, unique=True).map(sorted), st.floats(0, 10)
)
def test_the_search_finds_what_trying_all_finds(values: list[float], wanted: float) -> None:
    of = dict(zip(ROUND_TRIPS_MS, values, strict=True))
    found = nearest(of.__getitem__, ROUND_TRIPS_MS, wanted)
    assert abs(of[found.round_trip_ms] - wanted) == min(abs(one - wanted) for one in values)
    assert len(found.percentiles) <= 3


def test_trial_seeds_alone_are_played_with_pie_under_the_conditions_of_a_study() -> None:
    runs = works(60)
    assert {run.unit.seed for run in runs} == set(TRIAL_SEEDS[:3])
    assert {run.unit.label for run in runs} == {Manager.PIE.value}
    assert len({run.label for run in runs}) == 8
    assert {run.unit for run in runs}.isdisjoint(run.unit for run in works(80))


def test_sensitivity_runs_are_different_and_on_trial_seeds() -> None:
    runs = game_latency.works()
    assert {run.unit.seed for run in runs} == set(game_latency.SEEDS) <= set(TRIAL_SEEDS)
    assert len({(run.unit, run.label) for run in runs}) == len(runs)
    assert len({run.unit for run in runs}) == len(runs) == 2 * len(game_latency.VARIANTS)


def test_at_a_tenth_of_the_rates_the_game_has_what_mininet_plays() -> None:
    runs = slow_game.works()
    assert {run.unit.seed for run in runs} == set(slow_game.SEEDS) <= set(TRIAL_SEEDS)
    assert len({run.unit for run in runs}) == len(runs) == 6 * len(slow_game.MANAGERS)
    [row] = (one for one in f1.ROWS if one.mininet)
    assert row.mininet is not None
    asked = Asked(Level.FULL, 1, slow_game.SEEDS)
    played = {work.unit for work in row.mininet(asked) if isinstance(work, Run)}
    slow = {run.unit for run in runs if "Mininet" in run.label}
    assert len(slow) == len(runs) // 2
    assert slow <= played


def test_without_a_mac_figure_6_is_what_the_rows_play_but_for_the_mac() -> None:
    behind, without = (foreseen_waits.works(mac) for mac in foreseen_waits.MACS)
    assert {run.unit.seed for run in (*behind, *without)} <= set(TRIAL_SEEDS)
    assert len(behind) == len(without) == len({run.unit for run in (*behind, *without)}) / 2
    registered = {
        work.unit
        for row in f6.ROWS
        for work in row.works(foreseen_waits.ASKED)
        if isinstance(work, Run) and work.label.split()[0] in ("codel", "codel-dt", "pie")
    }
    assert registered
    # CoDel at 100 ms is in no row.
    assert registered <= {run.unit for run in behind}


def test_ratios_of_equal_runs_are_1_in_every_span(monkeypatch: pytest.MonkeyPatch) -> None:
    def payload(*of: object) -> float:
        manager, seed, t = of[1], of[3], of[4]
        assert isinstance(seed, int)
        assert isinstance(t, float)
        return (2.0 if manager is Manager.CT and t < 2 else 1.0) * t * seed

    monkeypatch.setattr(foreseen_waits, "_payload", payload)
    found = list(foreseen_waits.ratios(Mac.NONE, {}))
    assert len(found) == 8
    dt_over_codel, pie_over_dt = found[0], found[1]
    assert list(dt_over_codel.values.values()) == [2, 1, 1, 1, 1]
    assert list(pie_over_dt.values.values()) == [0.5, 1, 1, 1, 1]
    assert dt_over_codel.words == (
        "20 ms without a MAC, codel-dt over codel: 2.000 at 1 s, 1.000 from 2 to 7 s, "
        "1.000 from 7 to 18 s, 1.000 from 18 to 25 s, 1.000 at 25 s"
    )


def test_after_slow_start_are_the_runs_of_rows_on_trial_seeds() -> None:
    docsis, first = (after_slow_start.works(reading) for reading in after_slow_start.COMPARED)
    assert {run.unit.seed for run in (*docsis, *first)} == set(TRIAL_SEEDS)
    [row] = (row for row in f6.ROWS if row.id == "000-F6b")
    for reading, runs in ((4, docsis), (1, first)):
        asked = replace(after_slow_start.ASKED, reading=reading)
        played = {work.unit for work in row.works(asked) if isinstance(work, Run)}
        assert {run.unit for run in runs} == played


def test_drops_stand_beside_what_was_carried_in_the_span(monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome(manager: Manager, seed: int) -> Any:
        counters = {"sf_drop_aqm": seed, "sf_drop_buffer_full": 7}
        return SimpleNamespace(manager=manager, counters=counters)

    def throughput(of: Any, t: float) -> float:
        # Outside the span PIE has ten times as much.
        return (0.5 if 2 <= t <= 7 else 10) * t if of.manager is Manager.PIE else t

    monkeypatch.setattr(p000_transfers, "throughput", throughput)
    found = {
        (f"{manager} 20 ms", seed): outcome(manager, seed)
        for manager in (Manager.PIE, Manager.CT)
        for seed in TRIAL_SEEDS
    }
    told = [one.words for one in after_slow_start.drops(after_slow_start.COMPARED[0], found)]
    assert len(told) == len(TRIAL_SEEDS)
    assert told[0] == (
        "docsis-pie, seed 901: 901 early drops, 7 buffer-full drops, 50% of CoDel-DT's throughput "
        "from 2 to 7 s"
    )


def test_what_is_beside_the_uploads_is_changed_in_the_row_s_own_runs() -> None:
    torrents, stream, nothing = map(inelastic_torrents.works, inelastic_torrents.Beside)
    [row] = s43.ROWS
    asked = Asked(Level.FULL, 1, TRIAL_SEEDS)
    played = {work.unit for work in row.works(asked) if isinstance(work, Run)}
    assert len({run.unit for run in (*torrents, *stream, *nothing)}) == 3 * 2 * len(TRIAL_SEEDS)
    assert {run.unit for run in torrents} <= played
    assert not played & {run.unit for run in (*stream, *nothing)}


def test_losses_are_told_with_their_ratio_seed_by_seed() -> None:
    def outcome(lost: int) -> Any:
        counters = {"sf_received": 1000, "sf_drop_aqm": lost, "sf_drop_buffer_full": 0}
        return SimpleNamespace(counters=counters)

    found = {
        (f"{manager} load 9", seed): outcome(20 if manager is Manager.CT else seed - 891)
        for manager in (Manager.CT, Manager.CD)
        for seed in TRIAL_SEEDS
    }
    told = inelastic_torrents.losses(inelastic_torrents.Beside.STREAM, found)
    assert told.words == (
        "beside a constant stream: CoDel-DT loses 2.00% and CoDel 1.20%, the ratio is 1.69 and in "
        "the seeds 1.43 to 2.00"
    )


def test_collisions_are_looked_for_on_trial_seeds_and_each_variant_is_its_own_run() -> None:
    runs = collisions.works()
    assert {run.unit.seed for run in runs} == set(collisions.SEEDS) <= set(TRIAL_SEEDS)
    assert len({(run.label, run.unit.seed) for run in runs}) == len(runs)
    assert len({run.unit for run in runs}) == 2 * len(collisions.VARIANTS) * len(collisions.MODEMS)


def test_the_variants_of_one_video_are_the_row_behind_other_queues() -> None:
    runs = one_video.works()
    assert {run.unit.seed for run in runs} == set(one_video.SEEDS) <= set(TRIAL_SEEDS)
    assert len({run.unit for run in runs}) == len(runs) == 2 * len(one_video.VARIANTS)
    [nf] = ROWS
    asked = Asked(Level.STUDY, 1, one_video.SEEDS)
    registered = {work.unit for work in nf.works(asked) if isinstance(work, Run)}
    assert registered
    assert registered <= {run.unit for run in runs}


def test_the_deviations_in_other_bins_are_of_what_the_row_plays() -> None:
    runs = two_tiers.works()
    assert {run.unit.seed for run in runs} == set(two_tiers.SEEDS) <= set(TRIAL_SEEDS)
    [over_time] = [row for row in EXP3 if row.id == "002-E3S"]
    asked = Asked(Level.STUDY, 1, two_tiers.SEEDS)
    registered = [work.unit for work in over_time.works(asked) if isinstance(work, Run)]
    assert [replace(run.unit, quantities=()) for run in runs] == [
        replace(unit, quantities=()) for unit in registered
    ]
    of_the_row = deviation(TIER2, times(Level.STUDY).middle, BINS_S[Reading.FIRST]).key
    assert all(of_the_row in unit.quantities for unit in (runs[0].unit, registered[0]))


def test_what_a_trial_plays_is_kept_and_a_failure_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[str] = []

    def fails(jobs: int) -> Callable[[Sequence[Run]], Generator[Done, None, None]]:
        del jobs

        def play(missing: Sequence[Run]) -> Generator[Done, None, None]:
            for run in missing:
                played.append(run.label)
                yield Done(run, None, "the world ended", None)

        return play

    monkeypatch.setattr(trials, "Processes", fails)
    with pytest.raises(TestbedError, match="a trial failed, so all end: the world ended"):
        trials.outcomes(game_latency.works()[:2], Shelf(Store(tmp_path)), 1)
    assert len(played) == 1
