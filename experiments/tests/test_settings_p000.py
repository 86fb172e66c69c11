# SPDX-License-Identifier: Apache-2.0
"""The home, loads and queue managers of 000."""

from __future__ import annotations

import json
from collections import Counter
from typing import Final

import pytest

from docsis_experiments.experiment.plan import service_flow
from docsis_experiments.reproduction.row import TRIAL_SEEDS, Asked, Level
from docsis_experiments.reproduction.settings import p000_hash as hashes
from docsis_experiments.reproduction.settings import p000_population as population
from docsis_experiments.reproduction.settings.p000_loads import LOADS, Congestion, Files, traffic
from docsis_experiments.reproduction.settings.p000_managers import Manager, managed, multiplier
from docsis_experiments.reproduction.settings.p000_network import (
    SERVICE_2018,
    Mac,
    home,
)
from docsis_experiments.reproduction.settings.p000_readings import FIRST, READINGS, Reading
from docsis_experiments.reproduction.settings.p000_rf import Rf, channel
from docsis_experiments.reproduction.settings.session_hash import queue
from docsis_experiments.runs.unit import Unit

TABLE_1: Final = {
    # uploads at each round trip, web users, sessions, CBR, torrents
    1: (0, 1, 1, 0, 0),
    2: (1, 1, 1, 0, 0),
    3: (3, 1, 1, 0, 0),
    4: (3, 1, 1, 1, 0),
    5: (1, 1, 1, 0, 0),
    6: (3, 4, 4, 0, 0),
    7: (3, 4, 4, 1, 0),
    8: (5, 4, 4, 1, 0),
    9: (3, 4, 1, 0, 100),
}


@pytest.mark.parametrize("number", LOADS)
def test_loads_are_those_of_table_1(number: int) -> None:
    groups = traffic(LOADS[number], Files.KEPT, Congestion.RENO, "300 ms")
    counts: Counter[str] = Counter()
    for group in groups:
        counts[group["kind"]] += group.get("count", 1)
    uploads, web, sessions, cbr, torrents = TABLE_1[number]
    assert counts == Counter(transfer=2 * uploads, web=web, voip=sessions, cbr=cbr, ledbat=torrents)
    names = [group["name"] for group in groups]
    assert len(set(names)) == len(names)


def test_reading_of_torrents_changes_load_9_alone() -> None:
    other = READINGS["ledbat-100ms"]

    def runs(reading: Reading) -> dict[str, Unit]:
        asked = Asked(Level.FULL, 1, (1,))
        return {run.label: run.unit for run in population.works(asked, reading, [Manager.CD])}

    first, second = runs(FIRST), runs(other)
    changed = {label for label, unit in first.items() if second[label] != unit}
    assert changed == {f"codel load 9 {rf}" for rf in Rf}
    for units, target in ((first, "25 ms"), (second, "100 ms")):
        [torrents] = [
            group
            for group in json.loads(units["codel load 9 none"].scenario)["traffic"]
            if group["kind"] == "ledbat"
        ]
        assert torrents["target"] == target


def test_service_is_that_of_section_2() -> None:
    topology = home(Mac.PAPER, SERVICE_2018, web_ms=60)
    up, down = (service_flow(topology, way) for way in ("upstream", "downstream"))
    assert (up.max_sustained_rate, up.peak_rate, up.max_burst) == (200_000_000, 250_000_000, 30e6)
    assert (down.max_sustained_rate, down.peak_rate) == (1_000_000_000, 1_500_000_000)
    assert (down.max_burst, down.buffer_size) == (330_000_000, 250_000)
    assert topology.tier is not None
    assert topology.tier.upstream.initial_tokens is None, "the bucket is full at the start"
    assert topology.upstream_channels is not None
    assert [one.profile for one in topology.upstream_channels] == ["cablelabs-2014"]
    assert home(Mac.NONE).upstream_channels is None


def test_population_has_36_conditions_and_study_eight() -> None:
    assert len(population.ALL) == 36
    assert set(population.OF_STUDY) < set(population.ALL)
    assert len(population.OF_STUDY) == 8
    assert channel(Rf.HEAVY)["channel"]["levels"] == [
        "100 Mbps",
        "120 Mbps",
        "180 Mbps",
        "200 Mbps",
    ]
    assert not channel(Rf.NONE)


def test_population_starts_with_a_full_bucket_and_measures_a_cycle() -> None:
    asked = Asked(Level.STUDY, 1, (1,))
    [*runs] = population.works(asked, FIRST, [Manager.CD])
    scenario = runs[1].unit.loaded.scenario
    assert scenario.channel is not None
    steps = scenario.channel.steps(scenario.measured / 1e9)
    assert [at for at, _ in steps] == [10.0 * step for step in range(12)]
    assert scenario.ramp_up_seconds == 10
    assert (scenario.tcp.profile, scenario.tcp.usual_congestion_control) == ("rfc", "reno")
    assert scenario.tcp.first_window == 4
    assert scenario.tcp.acknowledgements == "every-segment"
    assert scenario.tcp.least_timeout == 200_000_000, "ns-2's, or slow start never restarts"


def test_flow_queues_get_another_hash_with_each_seed() -> None:
    odd = [multiplier(seed) for seed in range(1000)]
    assert len(set(odd)) == len(odd)
    assert all(each % 2 for each in odd)
    for manager in (Manager.SC, Manager.SP):
        one, other = (managed(manager, seed).flow_queues for seed in (1, 2))
        assert one is not None
        assert other is not None
        assert one.queues == other.queues == 32
        assert one.multiplier != other.multiplier
    assert managed(Manager.CD, 1) == managed(Manager.CD, 2)


def test_game_meets_uploads_as_often_as_chance_has_it() -> None:
    asked = Asked(Level.SMOKE, 1, (901,))
    [run, _] = population.works(asked, FIRST, [Manager.SC])
    [call], uploads = hashes.sessions(run.unit.loaded)
    assert len(uploads) == 2
    of = 20_000
    met = sum(
        queue(call, odd, 32) in {queue(one, odd, 32) for one in uploads}
        for odd in map(multiplier, range(of))
    )
    chance = 1 - (31 / 32) ** 2
    assert met / of == pytest.approx(chance, abs=4 * (chance / of) ** 0.5)


def test_hashes_put_the_game_where_it_has_to_be() -> None:
    asked = Asked(Level.SMOKE, 1, (901,))
    [run, _] = population.works(asked, FIRST, [Manager.SC])
    loaded = run.unit.loaded
    [call], [first, second] = hashes.sessions(loaded)
    for seed in (901, 902):
        odd = hashes.alone(loaded, 32, seed)
        places = [queue(one, odd, 32) for one in (call, first, second)]
        assert places[0] not in places[1:]
        odd = hashes.together(loaded, 32, seed)
        places = [queue(one, odd, 32) for one in (call, first, second)]
        assert places[0] == places[1] != places[2]
    assert hashes.alone(loaded, 32, 901) != hashes.alone(loaded, 32, 902)


def test_reading_with_the_game_alone_changes_the_hash_alone() -> None:
    asked = Asked(Level.SMOKE, 1, (901,))
    seeded, alone = (
        json.loads(next(population.works(asked, reading, [Manager.SC])).unit.scenario)
        for reading in (FIRST, READINGS["game-alone"])
    )
    queues = [one["runs"][0]["manager"].pop("flow_queues") for one in (seeded, alone)]
    assert seeded == alone
    assert [one["queues"] for one in queues] == [32, 32]


def test_each_condition_has_a_hash_of_its_own_which_all_managers_share() -> None:
    seeds = {
        population.hash_seed(condition, seed)
        for condition in population.ALL
        for seed in (*range(1, 61), *TRIAL_SEEDS)
    }
    assert len(seeds) == len(population.ALL) * 65
    of: dict[Manager, set[int]] = {}
    for manager in (Manager.SC, Manager.SP):
        runs = list(population.works(Asked(Level.STUDY, 1, (901,)), FIRST, [manager]))
        of[manager] = {
            json.loads(run.unit.scenario)["runs"][0]["manager"]["flow_queues"]["multiplier"]
            for run in runs
        }
        assert len(of[manager]) == len(runs) == len(population.OF_STUDY)
    assert of[Manager.SC] == of[Manager.SP]
