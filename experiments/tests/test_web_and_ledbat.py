# SPDX-License-Identifier: Apache-2.0
"""Web users and BitTorrent uploads: their keys, plans and draws, and what a world makes of them."""

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
from docsis_experiments.experiment.shared_rates import shared_rates
from docsis_experiments.measurement.metrics.page_load_time import METRIC
from docsis_experiments.measurement.record import Pages
from docsis_experiments.measurement.scope import Scope

GAME = "  - {name: game, kind: game}\n"


def test_a_web_user_s_origins_are_at_its_servers_in_turns(tmp_path: Path) -> None:
    web = "  - {name: web, kind: web, count: 2, servers: [server2, server1], origins: 3}\n"
    loaded = scenario_files.loaded(tmp_path, (GAME, web))
    one, two = plan_for(loaded.scenario, loaded.topology).users
    assert (one.name, one.user, two.name, two.user) == ("web-1", "cpe1", "web-2", "cpe2")
    assert one.servers == (("server2", 8080), ("server1", 8081), ("server2", 8082))
    assert (one.congestion_control, one.pages.page, one.pages.objects) == ("cubic", 7_000_000, 100)
    assert one.pages.variation_permille == 2000


def test_web_servers_of_another_congestion_control_have_ports_of_their_own(tmp_path: Path) -> None:
    web = "  - {name: NAME, kind: web, servers: [server1, server2], origins: 3, MORE}\n"
    groups = {
        "usual": "count: 2",
        "reno": "congestion_control: reno",
        "cubic": "congestion_control: cubic, pause: 1 s",
    }
    text = "".join(web.replace("NAME", name).replace("MORE", m) for name, m in groups.items())
    loaded = scenario_files.loaded(tmp_path, (GAME, text))
    users = plan_for(loaded.scenario, loaded.topology).users
    ports = {user.group: [port for _, port in user.servers] for user in users}
    # Those of one congestion control share their servers, as ever.
    assert ports["usual"] == ports["cubic"] == [8080, 8081, 8082]
    assert ports["reno"] == [8096, 8097, 8098]
    served = {(place, user.congestion_control) for user in users for place in user.servers}
    assert len(served) == len({place for place, _ in served})


@pytest.mark.parametrize(
    ("group", "key", "words"),
    [
        ("{name: w, kind: web, mesh: true}", "mesh", "count of users"),
        ("{name: w, kind: web, page: 60 KB}", "page", "70000 B of the HTML and 100 objects"),
        ("{name: w, kind: web, objects: 0}", "page", "0 objects"),
        ("{name: w, kind: web, html: 0 B}", "html", "a byte of HTML"),
        ("{name: w, kind: web, page: 2 GB}", "page", "1 GB at most"),
        ("{name: w, kind: web, count: 17}", "count", "there may be 16"),
        ("{name: w, kind: web, request: 1 B}", "request", "16 B to 100 KB"),
        ("{name: b, kind: ledbat, target: 101 ms}", "target", "at most 100 ms"),
        ("{name: b, kind: ledbat, target: 0 ms}", "target", "above 0"),
        ("{name: b, kind: ledbat, rate: 99 bps}", "rate", "for each of 100"),
        (
            "{name: b, kind: ledbat, round_trip: {at_least: 2 ms, at_most: 1 ms}}",
            "round_trip.at_most",
            "below 2 ms",
        ),
        (
            "{name: b, kind: ledbat, round_trip: {at_least: 19 ms, at_most: 1 s}}",
            "round_trip.at_least",
            "server1 has 20 ms already",
        ),
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


def test_round_trips_are_uniform_and_their_server_s_is_in_them(tmp_path: Path) -> None:
    trips = "round_trip: {at_least: 20 ms, at_most: 200 ms}"
    group = f"  - {{name: bits, kind: ledbat, rate: 10 Mbps, {trips}}}\n"
    loaded = scenario_files.loaded(tmp_path, (GAME, group))
    plan = plan_for(loaded.scenario, loaded.topology)
    delays = np.array(
        [
            planned.reply_delay
            for seed in range(20)
            for planned in drawn(plan, seed).flows
            if planned.group == "bits"
        ]
    )
    assert delays.shape == (2000, 2)
    assert (delays[:, 0] == delays[:, 1]).all()
    more = np.sort(delays[:, 0]) * 1e3
    assert more[0] >= 0
    assert more[-1] <= 180
    # Kolmogorov and Smirnov's distance, at 99.9%.
    distance = np.abs(more / 180 - (np.arange(more.size) + 0.5) / more.size).max()
    assert distance < 1.95 / np.sqrt(more.size)
    assert {planned.flow.rate for planned in plan.flows} == {0}
    # One client at each of the two hosts, which the group has in turns.
    assert shared_rates(plan.flows) == {
        ("bits", "cpe1"): 5_000_000,
        ("bits", "cpe2"): 5_000_000,
    }


def test_pages_load_in_virtual_time(tmp_path: Path) -> None:
    web = "{name: web, kind: web, page: 1 MB, objects: 20, pause: 500 ms, servers: [server1]}"
    record = only(tmp_path, web)
    pages = record.pages["web"]
    loads = pages.loads(0.0, record.seconds)
    # A megabyte at up to 120 Mbit/s, and four round trips of 20 ms at least.
    assert loads.size >= 4
    assert (loads > 0.08).all()
    assert (loads < 2).all()
    assert METRIC.value(Scope(("web",), "p50"), record) == np.percentile(loads, 50)
    mbps = sum(record.received["web"].mbps(0, 10))
    assert mbps * 10 / 8 == pytest.approx(loads.size, abs=1)
    record.write(tmp_path)
    assert (tmp_path / "pages.csv").read_text().startswith("group,began_s,complete_s\nweb,")


def test_uploads_keep_to_their_rate_and_yield(tmp_path: Path) -> None:
    trips = "round_trip: {at_least: 20 ms, at_most: 60 ms}"
    capped = only(tmp_path, f"{{name: bits, kind: ledbat, count: 20, rate: 4 Mbps, {trips}}}")
    assert sum(capped.received["bits"].mbps(1, 9)) == pytest.approx(4, rel=0.02)
    # A window grows by a segment in a round trip: what a distant upload cannot use of the rate, the
    # near ones have.
    one = "{name: bits, kind: ledbat, count: 8, rate: 1500 kbps, hosts: [cpe1], "
    far = only(tmp_path, one + "round_trip: {at_least: 20 ms, at_most: 1 s}}")
    mbps = far.received["bits"].mbps(5, 9)
    part = 1.5 / 8
    assert min(mbps) < part < 2 * part < max(mbps)
    assert sum(mbps) < 1.02 * 1.5
    both = "{name: bits, kind: ledbat, count: 2}\n  - {name: ftp, kind: transfer}"
    shared = only(tmp_path, both)
    # The buffer of 100 ms is four targets.
    assert sum(shared.received["bits"].mbps(2, 10)) < 0.4 * sum(shared.received["ftp"].mbps(2, 10))


def test_a_page_counts_where_it_ends() -> None:
    pages = Pages(np.array([-2.0, 3.0, 8.0, 9.0]), np.array([1.0, 4.0, 11.0, np.nan]))
    assert list(pages.loads(0.0, 10.0)) == [3.0, 1.0]
