# SPDX-License-Identifier: Apache-2.0
"""The live page of a run with traffic, in a browser: started, switched and looked at from there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_browser import Page, browser, live_page, needs_browser
from running_system import Running, running_system

from docsis_control.plan import PRIMARY_SERVICE_FLOW, Role
from docsis_control.topology.loader import load_topology
from docsis_experiments.stages.mininet.counters import counters
from docsis_experiments.stages.mininet.traffic.on_demand import traffic_on_demand
from docsis_testbed.host_traffic import Order, TrafficError, TrafficKind, ask_traffic
from docsis_testbed.paths import RUN_STATE, TOPOLOGIES

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

TOPOLOGY = load_topology(TOPOLOGIES / "residential.yaml")
COUNTERS = {
    "dropped_aqm": "sf_drop_aqm",
    "dropped_buffer_full": "sf_drop_buffer_full",
    "dropped_policed": "sf_drop_policed",
}


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with (
        running_system(TOPOLOGY, tmp_path_factory.mktemp("live")) as running,
        traffic_on_demand(running.testbed),
    ):
        yield running
    for service in ("controller", "health", "changes", "traffic"):
        assert list(RUN_STATE.glob(f"{service}-*.sock")) == []
    # The transfers write to /dev/null instead of to files. It has to stay a device.
    assert Path(os.devnull).is_char_device()


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with browser(tmp_path) as made:
        yield made


def stop_all() -> None:
    for one in ask_traffic(Order(do="list")):
        ask_traffic(Order(do="stop", id=one["id"]))


@needs_browser
def test_an_upload_is_started_switched_traced_and_stopped(system: Running, page: Page) -> None:
    last = "live.store.rows.at(-1).f[1]"
    with live_page("--pid", str(system.controller)) as live:
        page.look(live.address)
        for number in range(1, 4):
            page.click('[data-start="upload"]')
            page.until(f"live.store.traffic.length === {number}")
        # It fills the queue, and the law drops.
        page.until(f"{last}[live.store.columns.sent_bps] > 10e6")
        page.until(f"{last}[live.store.columns.dropped_aqm] > 0")
        page.until("Math.max(...live.shown().drop_prob) > 0")

        # One of the packets that the law has dropped is read.
        for _ in range(10):
            page.click("#catch")
            page.until("!document.getElementById('catch').disabled")
            if page.js("live.store.drops.length"):
                break
        page.click("#drops button")
        page.until("document.getElementById('trace').open")
        assert "sf_drop_aqm" in page.text("#trace-title")
        assert "sf_drop_aqm.count(" in page.text("#trace-text")
        assert page.js("live.store.drops[0].index") == PRIMARY_SERVICE_FLOW
        page.click("#trace button")

        page.do("document.getElementById('preset').value = 'drop-tail'")
        page.click("#manage")
        page.until("live.store.detail.service_flows[0].queue_manager === 'drop-tail'")
        page.until("live.shownMarks().text.includes('Drop tail')")
        # What the switch takes effect on: no law any more, and a queue far above the target.
        page.until(f"{last}[live.store.columns.drop_prob] === null")
        page.until(f"{last}[live.store.columns.delay_ms] > 100")

        for number in (2, 1, 0):
            page.click('[data-stop="upload"]')
            page.until(f"live.store.traffic.length === {number}")
        page.until(
            "live.store.rows.slice(-5).every((row) => row.f[1][live.store.columns.sent_bps] === 0 "
            "&& row.f[1][live.store.columns.backlog_bytes] === 0)"
        )
        shown = page.values(1)
        registers = counters((TOPOLOGY.cable_modem), Role.CABLE_MODEM).packets(PRIMARY_SERVICE_FLOW)
        assert {name: shown[name] for name in COUNTERS} == {
            name: registers[counter] for name, counter in COUNTERS.items()
        }
        assert page.failures() == []


def test_calls_and_games_come_and_go(system: Running) -> None:
    try:
        for kind in (TrafficKind.CALL, TrafficKind.GAME, TrafficKind.DOWNLOAD):
            ask_traffic(Order(do="start", modem="cm1", kind=kind))
        running = ask_traffic(Order(do="list"))
        assert [one["kind"] for one in running] == ["call", "game", "download"]
        # The hosts of a modem take turns.
        assert [one["host"] for one in running] == ["cpe1", "cpe2", "cpe1"]
        with pytest.raises(TrafficError, match='has no modem "nobody"'):
            ask_traffic(Order(do="start", modem="nobody"))
        with pytest.raises(TrafficError, match="there is no traffic 99"):
            ask_traffic(Order(do="stop", id=99))
        for _ in range(2):
            ask_traffic(Order(do="start", modem="cm1", kind=TrafficKind.GAME))
        with pytest.raises(TrafficError, match="as many as ports"):
            ask_traffic(Order(do="start", modem="cm1", kind=TrafficKind.GAME))
    finally:
        stop_all()
    assert ask_traffic(Order(do="list")) == []
