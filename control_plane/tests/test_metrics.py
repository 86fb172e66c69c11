# SPDX-License-Identifier: Apache-2.0
"""The metrics: what they say, how they are served, and that the dashboard's are among them."""

import asyncio
import json
import os
import re
import socket
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from channel_states import state
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from docsis_control import priority
from docsis_control.mac.channel_state import FlowName, channel_from
from docsis_control.metrics import serving_metrics
from docsis_control.metrics.bounded_server import CONNECTIONS
from docsis_control.metrics.families import families
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.priority import lower_thread, paced
from docsis_control.status.collect import Collector as StatusMaker
from docsis_control.status.model import Lateness, Link, Status, Traffic, decode

LATENESS = Lateness(
    events=120_000, p50_ms=0.004, p99_ms=0.125, max_ms=2.5, bound_ms=20.0, jumps=1, jumped_ms=3.5
)

LINK = Link(
    name="cpe1", port=2, loss_ppm=5_000, jitter_ms=0,
    lost_from_host=Traffic(packets=7, octets=700), lost_to_host=None,
)  # fmt: skip


def _status() -> Status:
    """The document of the other tests; one switch tells lateness, a lossy link and a channel."""
    status = decode((Path(__file__).parent / "data" / "status.json").read_bytes())
    modems, cmts = status.devices
    channel = channel_from(
        state().SerializeToString(), lambda _device, _queue: FlowName("cm1", 1, "primary upstream")
    )
    return replace(
        status,
        devices=(replace(modems, lateness=LATENESS, links=(LINK,)), cmts),
        upstream_channels=(channel,),
    )


STATUS = _status()
DASHBOARD = Path(__file__).parents[1] / "dashboards" / "docsis-p4.json"
UP = {"modem": "cm1", "sfid": "1", "reference": "1", "direction": "upstream"}
DOWN = {"modem": "cm1", "sfid": "2", "reference": "11", "direction": "downstream"}
GROUP = {"modem": "", "sfid": "3", "reference": "0", "direction": "downstream"}
ON_CHANNEL = {"channel": "us1", "modem": "cm1", "sfid": "1", "sid": "1"}
REST = {"classifier": "", "priority": "", "match": ""}
RULE = {"classifier": "3", "priority": "20"}


class Exported:
    """Metrics as Prometheus sees them: parsed from the text."""

    def __init__(self, text: str) -> None:
        self.families: dict[str, Metric] = {
            family.name: family for family in text_string_to_metric_families(text)
        }
        self.samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float | None:
        return self.samples.get((name, frozenset(labels.items())))

    def labels(self, name: str) -> set[str]:
        """Labels of the samples of that name; KeyError when there are none."""
        found = [dict(labels) for sample, labels in self.samples if sample == name]
        if not found:
            raise KeyError(name)
        return set(found[0])


class _Fixed(Collector):
    def __init__(self, status: Status) -> None:
        self.status = status

    def collect(self) -> Iterator[Metric]:
        return families(self.status)


@pytest.fixture(scope="module")
def exported() -> Exported:
    registry = CollectorRegistry()
    registry.register(_Fixed(STATUS))
    return Exported(generate_latest(registry).decode())


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("docsis_service_flow_received_packets_total", UP, 1100),
        ("docsis_service_flow_forwarded_bytes_total", UP, 1_500_000),
        ("docsis_service_flow_dropped_packets_total", {**UP, "reason": "aqm"}, 70),
        ("docsis_service_flow_dropped_bytes_total", {**UP, "reason": "buffer_full"}, 4_500),
        ("docsis_service_flow_dropped_packets_total", {**UP, "reason": "policed"}, 2),
        ("docsis_service_flow_controller_silent_packets_total", UP, 5),
        ("docsis_service_flow_queue_bytes", UP, 36_336),
        ("docsis_service_flow_queue_delay_seconds", UP, 0.0145),
        ("docsis_service_flow_msr_tokens_bytes", UP, 1200.5),
        ("docsis_service_flow_aqm_drop_prob", UP, 0.0625),
        ("docsis_service_flow_aqm_state", {**UP, "state": "ACTIVE"}, 1),
        ("docsis_service_flow_aqm_state", {**UP, "state": "INACTIVE"}, 0),
        ("docsis_service_flow_max_sustained_rate_bytes_per_second", UP, 2_500_000),
        ("docsis_service_flow_peak_rate_bytes_per_second", UP, 3_125_000),
        ("docsis_service_flow_min_reserved_rate_bytes_per_second", UP, 250_000),
        ("docsis_service_flow_traffic_priority", DOWN, 3),
        ("docsis_service_flow_delayed_packets_total", UP, 900),
        ("docsis_service_flow_resynchronized_total", UP, 2),
        ("docsis_service_flow_buffer_bytes", GROUP, 256_000),
        ("docsis_channel_rate_bytes_per_second", {"direction": "upstream"}, 12_500_000),
        ("docsis_service_flow_aqm_latency_target_seconds", UP, 0.01),
        ("docsis_classifier_matched_packets_total", {**UP, **REST}, 1000),
        (
            "docsis_classifier_matched_bytes_total",
            {
                **UP,
                **RULE,
                "match": "ip.protocol=udp ip.destination_address=10.0.0.101 "
                "ip.destination_port_start=5000 ip.destination_port_end=5010",
            },
            21_800,
        ),
        ("docsis_device_connected", {"device": "cmts1"}, 0),
        ("docsis_device_reconnects_total", {"device": "cmts1"}, 1),
        (
            "docsis_device_without_flow_dropped_packets_total",
            {"device": "cm1", "reason": "malformed"},
            3,
        ),
        ("docsis_control_loop_cycles_total", {"device": "cm1"}, 3700),
        ("docsis_control_loop_missed_total", {"device": "cm1"}, 2),
        ("docsis_control_loop_lateness_seconds", {"device": "cm1", "statistic": "max"}, 0.00325),
        ("docsis_device_lateness_seconds", {"device": "cm1", "statistic": "p99"}, 0.000125),
        ("docsis_device_time_jumps_total", {"device": "cm1"}, 1),
        (
            "docsis_link_lost_bytes_total",
            {"device": "cm1", "host": "cpe1", "direction": "from_host"},
            700,
        ),
        ("docsis_upstream_channel_maps_total", {"channel": "us1"}, 30600),
        ("docsis_upstream_channel_minislots_wasted_total", {"channel": "us1"}, 40_000),
        ("docsis_upstream_channel_requests_collided_total", {"channel": "us1"}, 2100),
        ("docsis_upstream_channel_request_to_grant_seconds_count", {"channel": "us1"}, 4),
        ("docsis_upstream_channel_request_to_grant_seconds_sum", {"channel": "us1"}, 0.02),
        (
            "docsis_upstream_channel_request_to_grant_quantile_seconds",
            {"channel": "us1", "statistic": "p99"},
            0.009,
        ),
        ("docsis_upstream_flow_requests_lost_total", ON_CHANNEL, 2100),
        ("docsis_upstream_flow_minislots_used_total", ON_CHANNEL, 960_000),
        (
            "docsis_controller_info",
            {"topology": "residential", "tier": "cable-20", "aqm": "docsis-pie"},
            1,
        ),
        ("docsis_controller_start_time_seconds", {}, 1795277638.75),
    ],
)
def test_values(exported: Exported, name: str, labels: dict[str, str], value: float) -> None:
    assert exported.value(name, **labels) == pytest.approx(value)


def test_what_is_not_known_is_not_there(exported: Exported) -> None:
    assert exported.value("docsis_service_flow_received_packets_total", **DOWN) is None
    assert exported.value("docsis_service_flow_queue_bytes", **DOWN) is None
    assert exported.value("docsis_service_flow_delayed_packets_total", **DOWN) is None
    # Nor is a limit that there is not, nor what an inactive classifier took.
    assert exported.value("docsis_service_flow_peak_rate_bytes_per_second", **DOWN) is None
    rules = [dict(labels) for name, labels in exported.samples if name.startswith("docsis_class")]
    assert {rule["classifier"] for rule in rules} == {"3", ""}
    assert exported.value("docsis_service_flow_aqm_latency_target_seconds", **DOWN) is None
    assert exported.value("docsis_control_loop_cycles_total", device="cmts1") is None
    assert exported.value("docsis_device_time_jumps_total", device="cmts1") is None


def test_names_keep_prometheus_conventions(exported: Exported) -> None:
    for name, family in exported.families.items():
        assert re.fullmatch("docsis_[a-z0-9_]+", name)
        assert not re.search("_(ms|us|kb|mbps|bits|octets)(_|$)", name), "base units only"
        assert family.documentation.endswith(".")
        if family.type == "counter":
            assert all(sample.name.endswith("_total") for sample in family.samples)
        else:
            assert not name.endswith("_total")


def queries() -> list[str]:
    """Every PromQL expression of the dashboard, those of its variables included."""
    dashboard = json.loads(DASHBOARD.read_text())
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return found + [
        variable["query"]["query"]
        for variable in dashboard["templating"]["list"]
        if variable["type"] == "query"
    ]


@pytest.mark.parametrize("query", queries())
def test_the_dashboard_asks_for_what_is_exported(exported: Exported, query: str) -> None:
    names = re.findall(r"\bdocsis_[a-z0-9_]+", query)
    assert names
    for name in names:
        labels = exported.labels(name)
        for chosen in re.findall(name + r"\{([^}]*)\}", query):
            assert set(re.findall(r"(\w+)=", chosen)) <= labels
        for group in re.findall(r"by \(([^)]*)\)", query):
            assert set(group.split(", ")) <= labels
    for label in re.findall(r"label_values\(\w+, (\w+)\)", query):
        assert label in exported.labels(names[0])


def test_the_dashboards_legends_name_labels(exported: Exported) -> None:
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            (name, *_) = re.findall(r"\bdocsis_[a-z0-9_]+", target["expr"])
            used = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert used <= exported.labels(name)


def test_the_dashboards_panels_do_not_overlap() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not own & cells
        cells |= own


async def scrape(port: int) -> Exported:
    def get() -> Exported:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            return Exported(answer.read().decode())

    return await asyncio.to_thread(get)


async def test_a_controllers_metrics_are_served(running: Any) -> None:
    async with running() as system:
        system.modem.counters["sf_received", 1] = (110, 110_000)
        maker = StatusMaker(system.controller)
        async with serving_metrics(maker.status, 0) as port:
            metrics = await scrape(port)
            assert metrics.value("docsis_controller_scrape_success") == 1
            assert metrics.value("docsis_service_flow_received_bytes_total", **UP) == 110_440
            # Only this machine is served.
            with socket.socket() as other:
                other.settimeout(2)
                assert other.connect_ex(("127.0.0.2", port)) != 0
        with socket.socket() as closed:
            assert closed.connect_ex(("127.0.0.1", port)) != 0


async def test_clients_that_say_nothing_take_few_threads() -> None:
    async def get() -> Status:
        return STATUS

    def answered(port: int) -> bool:
        """Whether a connection is not closed at once."""
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            try:
                return client.recv(1) != b""
            except ConnectionResetError:
                return False

    before = threading.active_count()
    async with serving_metrics(get, 0) as port:
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        try:
            # In the order in which they came, so all of the silent ones have been looked at.
            assert not await asyncio.to_thread(answered, port)
            # The server's own, each connection's, and the one that asked.
            assert threading.active_count() <= before + 1 + CONNECTIONS + 1
        finally:
            for each in silent:
                each.close()
        for _ in range(400):
            if await asyncio.to_thread(answered, port):
                break
        else:
            pytest.fail("places are not given back")


async def test_a_scrape_that_fails_says_so() -> None:
    async def get() -> Status:
        raise P4RuntimeError("Read failed", grpc.StatusCode.INTERNAL)

    async with serving_metrics(get, 0) as port:
        metrics = await scrape(port)
    assert set(metrics.families) == {"docsis_controller_scrape_success"}
    assert metrics.value("docsis_controller_scrape_success") == 0


async def test_a_port_that_is_taken_is_told() -> None:
    async def get() -> Status:
        return STATUS

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(RuntimeError, match=rf"127\.0\.0\.1:{port}: .*in use.*--metrics-port"):
            async with serving_metrics(get, port):
                pass


def test_views_go_after_the_loop() -> None:
    """A thread that makes a view gets a lower priority than the loop in a real-time process."""
    found: list[int] = []

    def view() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(6))
        except OSError:
            return
        lower_thread()
        found.append(os.sched_getparam(0).sched_priority)

    thread = threading.Thread(target=view)
    thread.start()
    thread.join()
    if not found:
        pytest.skip("this machine permits no real-time priority")
    assert 0 < found[0] < 6
    # Elsewhere it changes nothing.
    before = os.sched_getscheduler(0)
    lower_thread()
    assert os.sched_getscheduler(0) == before


class Clock:
    """A clock that only work and pauses move, in the place of the module `time`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.mark.parametrize(("item_seconds", "items_a_turn"), [(0.001, 1), (0.00009, 5)])
def test_views_of_many_things_pause(
    item_seconds: float, items_a_turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each turn of work the thread sleeps, so another one can have the interpreter."""
    clock = Clock()
    monkeypatch.setattr(priority, "time", clock)
    for number, _ in enumerate(paced(range(50))):
        assert len(clock.pauses) == number // items_a_turn
        clock.now += item_seconds
    assert len(clock.pauses) == 50 // items_a_turn
    assert min(clock.pauses) > 0
    assert list(paced([])) == []
