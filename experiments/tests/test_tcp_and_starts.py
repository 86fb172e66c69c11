# SPDX-License-Identifier: Apache-2.0
"""How an experiment's TCP works, and when its flows start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenario_files
from pydantic import ValidationError

from docsis_experiments.experiment.draws import drawn
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.experiment.tcp import Tcp
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.stages.mininet.tcp import check_tcp, tcp_metrics
from docsis_experiments.stages.virtual import run as virtual
from docsis_experiments.stages.virtual.machine import MEASURED
from docsis_experiments.stages.virtual.traffic import tcp_options
from docsis_testbed.errors import TestbedError

FTP = "{name: ftp, kind: transfer, count: 3, servers: [server1, server2]}"


def test_each_part_of_tcp_may_be_left_out() -> None:
    usual = {
        "profile": "linux",
        "acknowledgements": "delayed",
        "least_timeout_ns": None,
        "receive_window": None,
    }
    assert tcp_options(Tcp()) == {**usual, "initial_window": 10, "segment": 1448}
    assert Tcp().usual_congestion_control == "cubic"
    rfc = Tcp.model_validate({"profile": "rfc", "acknowledgements": "every-segment"})
    assert tcp_options(rfc) == {
        "profile": "rfc",
        "acknowledgements": "every-segment",
        "initial_window": 3,
        "segment": 1448,
        "least_timeout_ns": None,
        "receive_window": None,
    }
    assert rfc.usual_congestion_control == "reno"
    given = Tcp.model_validate(
        {"profile": "rfc", "congestion_control": "cubic", "initial_window": 4, "segment": "536 B"}
    )
    assert (given.usual_congestion_control, given.first_window, given.payload) == ("cubic", 4, 524)


def test_linux_has_what_routes_can_say_and_the_rest_is_refused_by_name() -> None:
    assert tcp_metrics(Tcp()) is None
    given = Tcp.model_validate(
        {
            "initial_window": 4,
            "segment": "536 B",
            "acknowledgements": "every-segment",
            "least_timeout": "300 ms",
        }
    )
    check_tcp(given)
    metrics = tcp_metrics(given)
    assert metrics is not None
    assert metrics.as_route() == {
        "initcwnd": 4,
        "quickack": 1,
        "advmss": 536,
        "rto_min": 300,
    }
    with pytest.raises(TestbedError, match=r"tcp\.profile: Mininet's hosts .* the profile rfc"):
        check_tcp(Tcp(profile="rfc"))
    with pytest.raises(TestbedError, match=r"tcp\.receive_window: .*; use --virtual"):
        check_tcp(Tcp.model_validate({"receive_window": "8 KB"}))


@pytest.mark.parametrize("window", ["2047 B", "1073741825 B", "0 B"])
def test_a_receive_window_has_bounds(window: str) -> None:
    assert Tcp.model_validate({"receive_window": "8 KB"}).receive_window == 8000
    with pytest.raises(ValidationError, match=f"2048 B to 1073741824 B, not {window}"):
        Tcp.model_validate({"receive_window": window})


def test_a_group_has_the_congestion_control_of_the_experiment_or_its_own(tmp_path: Path) -> None:
    loaded = scenario_files.loaded(
        tmp_path,
        ("measured: 10 s", "measured: 10 s\ntcp: {congestion_control: reno}"),
        (FTP, FTP.replace("count: 3", "count: 3, congestion_control: cubic")),
    )
    plan = plan_for(loaded.scenario, loaded.topology)
    found = {planned.group: planned.flow.congestion_control for planned in plan.flows}
    assert (found["ftp"], found["game"]) == ("cubic", "reno")


def test_starts_are_uniform_and_the_seed_s(tmp_path: Path) -> None:
    spread = FTP.replace("count: 3", "count: 100, start: 2 s, start_spread: 4 s")
    loaded = scenario_files.loaded(tmp_path, (FTP, spread))
    plan = plan_for(loaded.scenario, loaded.topology)
    seeds = [
        np.array([p.flow.start for p in drawn(plan, seed).flows if p.group == "ftp"])
        for seed in range(1, 21)
    ]
    starts = np.concatenate(seeds) - 4.0
    assert ((starts >= 0) & (starts < 4)).all()
    # Kolmogorov and Smirnov's distance, at 99.9% for 2000 draws.
    distance = np.abs(np.sort(starts) / 4 - (np.arange(starts.size) + 0.5) / starts.size).max()
    assert distance < 1.95 / np.sqrt(starts.size)
    assert abs(np.corrcoef(seeds[0], seeds[1])[0, 1]) < 0.4
    assert drawn(plan, 3) == drawn(plan, 3)
    # What has no spread starts when it did.
    others = [p for p in plan.flows if p.group != "ftp"]
    assert others == [p for p in drawn(plan, 3).flows if p.group != "ftp"]
    # Another group changes no draw of this one.
    fewer = scenario_files.loaded(tmp_path, (FTP, spread), ("  - {name: game, kind: game}\n", ""))
    again = drawn(plan_for(fewer.scenario, fewer.topology), 1)
    assert [p.flow.start for p in again.flows if p.group == "ftp"] == list(seeds[0])


def played(loaded: Loaded, folder: Path) -> RunRecord:
    """The first run of a scenario in a world of its own."""
    scenario = loaded.scenario
    folder.mkdir(exist_ok=True)
    return virtual.measure(
        scenario,
        scenario.all_runs[0],
        plan_for(scenario, loaded.topology),
        loaded.topology,
        seed=1,
        machine=MEASURED,
        folder=folder,
        progress=lambda *_: None,
    )


def only(tmp_path: Path, group: str, *changes: tuple[str, str]) -> RunRecord:
    """A run in which one group sends."""
    text = scenario_files.TEXT
    traffic = text[text.index("  - {name: call") : text.index("expectations:")]
    expectations = text[text.index("expectations:") :]
    loaded = scenario_files.loaded(
        tmp_path, (traffic, f"  - {group}\n"), (expectations, ""), *changes
    )
    return played(loaded, tmp_path / "run")


def goodput(record: RunRecord, start: float, end: float) -> float:
    return sum(record.received["ftp"].mbps(start, end))


def test_a_kept_connection_and_a_rate_in_virtual_time(tmp_path: Path) -> None:
    slow = only(tmp_path, "{name: ftp, kind: transfer, count: 2, rate: 2 Mbps}")
    assert goodput(slow, 1, 9) == pytest.approx(4, rel=0.01)
    # A file of 1 MB is there in less than a second, and the next one comes two seconds later.
    kept = "{name: ftp, kind: transfer, size: 1 MB, pause: 2 s, connection: kept}"
    [received] = only(tmp_path, kept).received["ftp"].flow_bytes.values()
    # Each file has 2 s of the 15 s, and a third of a second at 25 Mbit/s and less.
    assert 5 <= received[-1] / 1e6 <= 7


def test_what_comes_in_the_first_tenth_of_a_second_counts(tmp_path: Path) -> None:
    group = "{name: ftp, kind: transfer, rate: 2 Mbps}"
    record = only(
        tmp_path, group, ("ramp_up: 2 s", "ramp_up: 0 s"), ("measured: 10 s", "measured: 1 s")
    )
    [received] = record.received["ftp"].flow_bytes.values()
    time_s = record.received["ftp"].time_s
    assert (time_s[0], received[0]) == (0, 0)
    assert np.interp(0.1, time_s, received) > 0
    assert goodput(record, 0, 1) == pytest.approx(np.interp(1, time_s, received) * 8e-6)


@pytest.mark.parametrize(
    "change",
    [
        "{profile: rfc}",
        "{acknowledgements: every-segment}",
        "{segment: 1000 B}",
        "{profile: rfc, least_timeout: 200 ms}",
        "{initial_window: 2}",
        "{receive_window: 32 KB}",
        "{congestion_control: reno}",
    ],
)
def test_each_part_of_tcp_reaches_the_world(change: str, tmp_path: Path) -> None:
    assert changes_the_run("{name: ftp, kind: transfer}", change, tmp_path)


LOAD = "{name: load, kind: every-service-flow, transport: tcp}"


@pytest.mark.parametrize(
    "change",
    [
        "{profile: rfc}",
        "{acknowledgements: every-segment}",
        "{segment: 500 B}",
        "{profile: rfc, least_timeout: 200 ms}",
        "{initial_window: 2}",
        "{receive_window: 32 KB}",
    ],
)
def test_the_load_of_all_service_flows_has_the_experiment_s_tcp(
    change: str, tmp_path: Path
) -> None:
    assert changes_the_run(LOAD, change, tmp_path)


@pytest.mark.parametrize("change", ["{congestion_control: reno}", "{segment: 1000 B}"])
def test_the_load_of_all_service_flows_has_cubic_and_frames_of_its_own(
    change: str, tmp_path: Path
) -> None:
    assert not changes_the_run(LOAD, change, tmp_path)


def changes_the_run(group: str, tcp: str, tmp_path: Path) -> bool:
    """Whether a run in which one group sends is another one with the key `tcp`."""

    def digest(*changes: tuple[str, str]) -> Any:
        shorter = ("measured: 10 s", "measured: 1 s")
        return only(tmp_path, group, shorter, *changes).digest

    key = ("direction: upstream", f"direction: upstream\ntcp: {tcp}")
    return bool(digest() != digest(key))
