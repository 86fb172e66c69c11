# SPDX-License-Identifier: Apache-2.0
"""Browsing users and downloads: their keys, plans and draws, and what a world makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scenario_files
from test_tcp_and_starts import only

from docsis_control.config.errors import ConfigError
from docsis_experiments.experiment.draws import drawn
from docsis_experiments.experiment.loader import load
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.measurement.quantity import Quantity, measure
from docsis_experiments.stages.admission import check_senders
from docsis_experiments.stages.mininet.stage import SENDERS
from docsis_experiments.traffic.senders import Pareto, TcpDownloads, TimedPages
from docsis_testbed.errors import TestbedError

GAME = "  - {name: game, kind: game}\n"


def test_users_are_those_of_paper_004_unless_told_otherwise(tmp_path: Path) -> None:
    groups = (
        "  - {name: web, kind: browsing, count: 3, start_spread: 2 s}\n"
        "  - {name: p2p, kind: downloads, hosts: [cpe2], servers: [server2]}\n"
    )
    loaded = scenario_files.loaded(tmp_path, (GAME, groups))
    plan = plan_for(loaded.scenario, loaded.topology)
    web, p2p = plan.askers[:3], plan.askers[3]
    assert [(one.name, one.user, one.server, one.port) for one in web] == [
        ("web-1", "cpe1", "server1", 80),
        ("web-2", "cpe2", "server1", 80),
        ("web-3", "cpe1", "server1", 80),
    ]
    assert web[0].asks == TimedPages(
        objects=Pareto(3000, 1500),
        gap=Pareto(500_000_000, 1500),
        segments=Pareto(12_000, 1200),
        segment=None,
        pause=Pareto(10_000_000_000, 2000),
        connections=32,
        request=400,
    )
    assert (p2p.user, p2p.server, p2p.asks) == (
        "cpe2",
        "server2",
        TcpDownloads(4_000_000, 5_000_000_000, 400),
    )
    starts = [one.start for one in drawn(plan, 7).askers]
    assert len(set(starts[:3])) == 3
    assert all(0 <= start < 2 for start in starts[:3])
    assert starts[3] == p2p.start
    assert starts == [one.start for one in drawn(plan, 7).askers]


@pytest.mark.parametrize(
    ("group", "key", "words"),
    [
        ("{name: w, kind: browsing, mesh: true}", "mesh", "count of users"),
        ("{name: w, kind: browsing, count: 1001}", "count", "1000"),
        ("{name: w, kind: browsing, request: 1 B}", "request", "16 B to 100 KB"),
        ("{name: w, kind: browsing, segment: 0 B}", "segment", "1 B to 65535 B"),
        ("{name: w, kind: browsing, connections: 33}", "connections", "32"),
        ("{name: w, kind: browsing, pause: {mean: 2 s, shape: 1}}", "pause.shape", "than 1"),
        ("{name: w, kind: browsing, gap: {mean: 2 s, shape: 1.0001}}", "gap.shape", "no mean"),
        ("{name: w, kind: browsing, gap: {mean: 1 us, shape: 2}}", "gap.mean", "1 ms to an hour"),
        ("{name: w, kind: browsing, objects: {mean: 0.5, shape: 2}}", "objects.mean", "1"),
        ("{name: d, kind: downloads, mesh: true}", "mesh", "asks one server"),
        ("{name: d, kind: downloads, size: 0 B}", "size", "1 B to 1 GB"),
        ("{name: d, kind: downloads, idle: 2 h}", "idle", ""),
        ("{name: d, kind: downloads, idle: 1 us}", "idle", "1 ms to an hour"),
        ("{name: d, kind: downloads, request: 1 MB}", "request", "16 B to 100 KB"),
    ],
)
def test_what_cannot_be_is_told_by_its_key(
    group: str, key: str, words: str, tmp_path: Path
) -> None:
    file = scenario_files.write(tmp_path, (GAME, f"  - {group}\n"))
    with pytest.raises(ConfigError) as raised:
        load(file)
    [problem] = raised.value.problems
    assert problem.key == f"traffic.2.{key}"
    assert words in problem.message


def test_users_are_counted_apart_from_flows(tmp_path: Path) -> None:
    many = (
        "  - {name: web, kind: browsing, count: 900}\n"
        "  - {name: steady2, kind: cbr, rate: 1 Mbps, count: 190}\n"
    )
    loaded = scenario_files.loaded(tmp_path, (GAME, many))
    assert len(plan_for(loaded.scenario, loaded.topology).askers) == 900
    more = f"{many}  - {{name: p2p, kind: downloads, count: 101}}\n"
    with pytest.raises(ConfigError) as raised:
        load(scenario_files.write(tmp_path, (GAME, more)))
    assert "makes 1001 users" in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "sender"), [("browsing", "TimedPages"), ("downloads", "TcpDownloads")]
)
def test_mininet_refuses_them_by_name(kind: str, sender: str, tmp_path: Path) -> None:
    loaded = scenario_files.loaded(tmp_path, (GAME, f"  - {{name: one, kind: {kind}}}\n"))
    words = f"one is of the kind {kind}, whose {sender} Mininet cannot send"
    with pytest.raises(TestbedError, match=words):
        check_senders(loaded.scenario, "Mininet", SENDERS)


def test_users_browse_in_virtual_time(tmp_path: Path) -> None:
    web = (
        "{name: web, kind: browsing, count: 150, pause: {mean: 1 s, shape: 2}, "
        "objects: {mean: 1, shape: 5}, segments: {mean: 3, shape: 1.2}, segment: 1000 B}"
    )
    record = only(tmp_path, web)
    pages = record.pages["web"]
    loads = pages.loads(0.0, record.seconds)
    assert loads.size > 500
    # Two round trips of 20 ms, and no queue that would be worth mentioning.
    assert np.median(loads) == pytest.approx(0.04, rel=0.3)
    # All that came is whole segments of its own length.
    assert record.received["web"].flow_bytes["web-1"][-1] % 1000 == 0


def test_downloads_are_exponential_and_their_acknowledgements_are_told(tmp_path: Path) -> None:
    record = only(tmp_path, "{name: p2p, kind: downloads, count: 100, size: 20 KB, idle: 500 ms}")
    goodput = sum(record.received["p2p"].mbps(0, record.seconds))
    # A hundred users have 20 KB every half a second and the time of a download, some 0.1 s. The
    # error is that of 1,500 exponential draws: 2.6%, four times.
    assert goodput == pytest.approx(100 * 0.16 / 0.6, rel=0.2)
    flows = record.acknowledgements["p2p"]
    assert len(flows) == 100
    delays = np.concatenate([flow.delays for flow in flows])
    assert delays.size > 1000
    assert (delays > 0).all()
    metric = Quantity.model_validate({"metric": "compressed-acks", "of": ["p2p"]})
    assert 0 <= measure(metric, record) <= 100
    assert set(record.retransmitted["p2p"]) == set(record.received["p2p"].flow_bytes)
