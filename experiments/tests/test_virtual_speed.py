# SPDX-License-Identifier: Apache-2.0
"""The bench of virtual time tells what it measured; how fast that is no test can say."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from rich.console import Console

from docsis_control.plan import GROUP_MODEM, QUEUES
from docsis_control.provisioning import deploy
from docsis_experiments.stages.mininet.counters import CounterQuery
from docsis_experiments.stages.virtual import speed
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_experiments.stages.virtual.play import playing
from docsis_experiments.stages.virtual.speed_cases import CASES, MANAGER
from docsis_testbed.errors import TestbedError

READ = "/p4.v1.P4Runtime/Read"


def test_a_case_runs_in_a_process_of_its_own_and_its_parts_add_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    [figures] = speed.run(["cable-20"], 2.0, Console(width=120))
    assert figures["virtual_seconds"] == 2.0
    assert figures["frames"] > 1000
    assert figures["events"] > figures["frames"]
    parts = figures["parts_seconds"]
    assert set(parts) == {"world", "calls", "law"}
    assert 0 < sum(parts.values()) <= figures["cpu_seconds"]
    assert 20 < figures["peak_mb"] < 1000
    [again] = speed.run(["cable-20"], 2.0, Console(width=120))
    assert again["digest"] == figures["digest"]
    assert "four CUBIC uploads" in capsys.readouterr().out


def test_a_case_that_fails_says_why() -> None:
    with pytest.raises(TestbedError, match="the bench of nothing failed: KeyError: 'nothing'"):
        speed.run(["nothing"], 1.0, Console())


def test_all_512_service_flows_of_the_neighbourhood_are_busy_all_the_time(tmp_path: Path) -> None:
    case = CASES["64-modems"]
    topology = case.topology()
    deployment = deploy(topology, MANAGER)
    with playing(
        topology, MANAGER, seed=1, machine=EXACT, folder=tmp_path, progress=lambda *_: None
    ) as play:
        case.load(play, topology, 1.0)

        def received() -> dict[tuple[str, int], int]:
            found: dict[tuple[str, int], int] = {}
            for direction, role in QUEUES.items():
                device = deployment.device(role)
                flows = [f.index for f in device.service_flows if f.modem != GROUP_MODEM]
                query = CounterQuery(device.device_id, role)
                answers = play.world.call(device.name, READ, query.request(flows, ["sf_received"]))
                for index, counts in query.counts(answers).items():
                    found[direction, index] = counts["sf_received"].packets
            return found

        seen = [received()]
        for seconds in (0.4, 0.7, 1.0):
            play.run_until("measuring", seconds)
            seen.append(received())
    assert len(seen[0]) == 512
    for before, after in itertools.pairwise(seen):
        assert [flow for flow in before if after[flow] == before[flow]] == []
