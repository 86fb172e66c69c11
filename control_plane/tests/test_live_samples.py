# SPDX-License-Identifier: Apache-2.0
"""The live page's samples of registers, and the little memory that they take."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_devices import flow as planned_flow
from law_devices import readings

from docsis_control.law.docsis_pie import Status
from docsis_control.law.fixed_point import PROB_ONE
from docsis_control.law.service_flows import DeviceLaw
from docsis_control.plan import TOKENS_PER_BYTE
from docsis_control.queue_managers.managers.docsis_pie import DocsisPie
from docsis_control.status.health import Health, LoopHealth
from docsis_control.status.model import Quantiles, Scheduling, ServiceFlow, decode
from docsis_live.actions import ActionError, Manage, parse
from docsis_live.drops import Drops, packets, told
from docsis_live.guard import Guard
from docsis_live.history import MOST_BYTES, MOST_MODEMS, MOST_ROWS, History, Row, Rows
from docsis_live.hub import MOST_PAGES, MOST_UPDATE_BYTES, Hub
from docsis_live.loops import Judge
from docsis_live.sampler import Update
from docsis_live.samples import (
    COLUMNS,
    Books,
    aqm_state,
    delay_ms,
    drop_probability,
    tokens_bytes,
    values,
)
from docsis_live.system import System

STATUS = decode((Path(__file__).parent / "data" / "status.json").read_bytes())


def a_flow(**provisioned: Any) -> ServiceFlow:
    """An upstream service flow under DOCSIS-PIE, 20 (25) Mbit/s and 500 KB."""
    flow = next(
        flow
        for modem in STATUS.modems
        for flow in modem.service_flows
        if flow.aqm is not None and flow.direction == "upstream"
    )
    given_ = {
        "maximum_sustained_traffic_rate_bps": 20_000_000,
        "peak_traffic_rate_bps": 25_000_000,
        "maximum_traffic_burst_bytes": 500_000,
        "queue_manager": "docsis-pie",
        "aqm_enabled": True,
        **provisioned,
    }
    return replace(flow, provisioned=replace(flow.provisioned, **given_))


BEST_EFFORT = Scheduling(
    upstream_channel=None,
    scheduling_type="best-effort",
    request_transmission_policy=0,
    nominal_polling_interval_ms=None,
    tolerated_poll_jitter_ms=None,
    unsolicited_grant_size_bytes=None,
    nominal_grant_interval_ms=None,
    tolerated_grant_jitter_ms=None,
    grants_per_interval=None,
    guaranteed_grant_rate_bps=None,
    guaranteed_grant_interval_ms=None,
    maximum_concatenated_burst_bytes=1522,
    backoff_window_multiplier_eighths=8,
    bytes_requested_multiplier=4,
)


@given(
    backlog=st.integers(0, 10**7),
    tokens=st.integers(0, 10**7),
    msr=st.none() | st.integers(10**4, 10**9),
    peak=st.none() | st.integers(10**4, 10**9),
    channel=st.integers(10**6, 10**9),
    granted=st.booleans(),
)
def test_delay_and_tokens_are_those_of_the_law(
    backlog: int, tokens: int, msr: int | None, peak: int | None, channel: int, granted: bool
) -> None:
    planned = planned_flow(
        1, DocsisPie(), max_sustained_rate=msr or 0, peak_rate=peak or 0, max_burst=10**7,
        channel_rate=channel, granted=granted,
    )  # fmt: skip
    seen = readings(0, enqueued_bytes=[backlog], msr_tokens=[tokens * TOKENS_PER_BYTE])
    law = DeviceLaw([planned]).observe(seen)
    flow = a_flow(
        maximum_sustained_traffic_rate_bps=msr, peak_traffic_rate_bps=peak,
        maximum_traffic_burst_bytes=10**7,
        scheduling=replace(BEST_EFFORT, upstream_channel="us1" if granted else None),
    )  # fmt: skip
    row = values(
        flow, Books(1.0, backlog, 0), None, (tokens * TOKENS_PER_BYTE, 0, 0, 0, 0), [0] * 6,
        now_us=0, channel_bps=channel,
    )  # fmt: skip
    found = dict(zip(COLUMNS, row, strict=True))
    # Rounded to microseconds.
    assert found["delay_ms"] == pytest.approx(float(law.qdelay[0]) * 1e3, abs=0.000_51)
    assert found["tokens_bytes"] == (None if msr is None else law.msr_tokens[0])


@given(before=st.integers(0, 2**32 - 1), gained=st.integers(0, 2**31 - 1))
def test_counters_wrap_around(before: int, gained: int) -> None:
    first = Books(1.0, before, before)
    second = Books(1.5, (before + gained) % 2**32, before)
    assert second.backlog == gained
    assert second.offered_bps(first) == gained * 16
    assert second.sent_bps(first) == 0
    assert second.offered_bps(None) is None


def test_what_was_provisioned_afresh_has_no_rate() -> None:
    assert Books(2.0, 0, 0).sent_bps(Books(1.0, 5_000, 5_000)) is None
    assert Books(1.0, 9, 9).sent_bps(Books(1.0, 5, 5)) is None


def test_tokens_are_those_of_now() -> None:
    flow = a_flow()
    assert tokens_bytes(flow, 0, 1_000 * TOKENS_PER_BYTE, 5_000, None) == 1_000
    # 10 ms at 20 Mbit/s are 25 KB.
    assert tokens_bytes(flow, 0, 1_000 * TOKENS_PER_BYTE, 5_000, 15_000) == 26_000
    assert tokens_bytes(flow, 0, 0, 0, 10**9) == 500_000
    assert tokens_bytes(flow, 0, 1_000 * TOKENS_PER_BYTE, 15_000, 5_000) == 1_000
    unlimited = a_flow(maximum_sustained_traffic_rate_bps=None)
    assert tokens_bytes(unlimited, 0, 0, 0, 10) is None
    assert delay_ms(replace_peak(unlimited), 1_250, None, 10_000_000) == 1.0
    assert delay_ms(unlimited, 1_250, None, 10_000_000) == 0.4
    assert delay_ms(replace_peak(unlimited), 1_250, None, None) is None


def replace_peak(flow: ServiceFlow) -> ServiceFlow:
    """The same without a peak rate."""
    return replace(flow, provisioned=replace(flow.provisioned, peak_traffic_rate_bps=None))


def test_the_state_in_force_is_that_of_who_moved_last() -> None:
    flow = a_flow()
    quiescent, active = int(Status.QUIESCENT), int(Status.ACTIVE)
    assert aqm_state(flow, 7 << 2 | active, 6 << 2 | quiescent) == "ACTIVE"
    assert aqm_state(flow, 7 << 2 | active, 7 << 2 | quiescent) == "QUIESCENT"
    assert aqm_state(a_flow(queue_manager="pie"), 0, 0) is None
    assert drop_probability(flow, PROB_ONE // 8) == 0.125
    assert drop_probability(replace(flow, aqm=None), PROB_ONE) is None


def test_a_row_has_all_columns() -> None:
    row = values(
        a_flow(), Books(1.0, 3_000, 0), Books(0.0, 0, 0), (0, 0, 0, 0, 0), [1, 2, 3, 4, 5, 6],
        now_us=None, channel_bps=None,
    )  # fmt: skip
    named = dict(zip(COLUMNS, row, strict=True))
    assert named["offered_bps"] == 24_000
    assert named["delay_ms"] == 1.2
    assert named["dropped_other"] == 4 + 5 + 6


def test_history_is_bounded() -> None:
    rows = Rows()
    for number in range(MOST_ROWS + 10):
        rows.append(Row(number, number, b"%d" % number))
    assert len(rows) == MOST_ROWS
    got: list[int] = []
    following: int | None = 0
    while following is not None:
        text, following = rows.since(following, 1_000)
        assert len(text) <= 1_000
        got += json.loads(text)
    assert got == list(range(10, MOST_ROWS + 10))
    for number in range(20):
        rows.append(Row(10_000 + number, 0, bytes(MOST_BYTES // 4)))
    assert len(rows) == 4
    history = History()
    for name in "abcdef":
        history.follow(name)
    assert history.modems == tuple("abcdef"[-MOST_MODEMS:])
    history.follow("g", ("c", "d"))
    assert history.modems == tuple("cdfg")


@dataclass
class FakePage:
    """Takes messages, or not."""

    modem: str = ""
    behind: bool = False
    takes: bool = True
    got: list[dict[str, Any]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def __hash__(self) -> int:
        return id(self)

    def send(self, message: bytes) -> bool:
        if self.takes:
            self.got.append(json.loads(message))
            self.sizes.append(len(message))
        return self.takes


def test_an_update_is_never_longer_than_it_may_be() -> None:
    hub = Hub(lambda _: None)
    page = FakePage()
    hub.add(page)
    name = STATUS.modems[0].name
    hub.publish(Update(1, 0, System(STATUS), ""))
    assert hub.look_at(page, name)
    long = json.dumps("x" * 40_000).encode()
    parts = {"summary": long, "channels": long, "health": b'{"state":"green"}'}
    hub.publish(Update(2, 0, System(STATUS), "", {name: b'{"n":2}'}, parts))
    assert max(page.sizes) <= MOST_UPDATE_BYTES
    assert page.got[-1]["row"] == {"n": 2}
    assert "summary" in page.got[-1]
    assert "channels" not in page.got[-1]
    assert not hub.look_at(page, "nobody")


def test_every_page_has_a_modem_of_its_own() -> None:
    watched: list[tuple[str, ...]] = []
    hub = Hub(watched.append)
    modems = tuple(replace(STATUS.modems[0], name=f"m{number}") for number in range(12))
    system = System(replace(STATUS, modems=modems))
    hub.publish(Update(1, 0, system, ""))
    pages = [FakePage() for _ in range(MOST_PAGES)]
    for page, modem in zip(pages, modems, strict=False):
        hub.add(page)
        assert hub.look_at(page, modem.name)
    # The last page goes from modem to modem, and none of the others' makes room.
    for modem in modems[MOST_PAGES:]:
        assert hub.look_at(pages[-1], modem.name)
    assert {page.modem for page in pages} <= set(watched[-1])
    rows = dict.fromkeys(watched[-1], b'{"n":2}')
    hub.publish(Update(2, 0, system, "", rows))
    assert [page.got[-1].get("row") for page in pages] == [{"n": 2}] * MOST_PAGES
    assert len(watched[-1]) == MOST_PAGES
    for page in pages[1:]:
        hub.remove(page)
    assert hub.look_at(pages[0], "m11")
    assert len(watched[-1]) == MOST_MODEMS


def test_what_a_page_did_not_take_is_told_again() -> None:
    hub = Hub(lambda _: None)
    page = FakePage()
    hub.add(page)
    page.takes = False
    hub.mark("cm1", 1, "CoDel", 5)
    page.takes = True
    hub.publish(Update(1, 0, None, "gone"))
    assert [mark["text"] for mark in page.got[-1]["marks"]] == ["CoDel"]
    hub.publish(Update(2, 0, None, "gone"))
    assert "marks" not in page.got[-1]


def loop(missed: int, p99: float) -> Health:
    """The health of a controller with one loop."""
    times = Quantiles(p50=0.1, p99=p99, max=p99)
    return Health(
        pid=1, uptime_s=1.0, revision=0,
        loops=(
            LoopHealth(
                device="cm1", looped=True, cycles=1, missed=missed, reconnects=0,
                lateness_ms=times, cycle_ms=times,
            ),
        ),
    )  # fmt: skip


def test_amber_is_late_or_missed_or_in_trouble() -> None:
    judge = Judge()
    assert judge.judged(loop(5, 0.2), "")["state"] == "green"
    assert judge.judged(loop(6, 0.2), "")["why"] == "the loop of cm1 missed 1 updates in 10 s"
    for _ in range(10):
        judged = judge.judged(loop(6, 0.2), "")
    assert judged["state"] == "green"
    assert "1.50 ms late" in judge.judged(loop(6, 1.5), "")["why"]
    assert judge.judged(loop(6, 0.2), "cm1 does not answer")["state"] == "amber"


def test_the_guard() -> None:
    guard = Guard(8600, may_act=True)
    assert guard.refusal("127.0.0.1:8600", None) == ""
    assert guard.refusal("LOCALHOST:8600", "http://localhost:8600") == ""
    for host in ("", "127.0.0.1", "127.0.0.1:8601", "evil.example:8600", "127.0.0.1:8600.evil"):
        assert guard.refusal(host, None), host
    for origin in ("", "null", "http://127.0.0.1", "https://127.0.0.1:8600", "http://evil:8600"):
        assert guard.refusal("127.0.0.1:8600", origin), origin
    assert guard.token is not None
    assert guard.act_refusal(guard.token) == ""
    assert guard.act_refusal("ä") != ""
    assert Guard(1, may_act=False).act_refusal("") != ""
    assert Guard(1, may_act=True).token != guard.token


@given(st.binary(max_size=200))
def test_no_request_breaks_it(body: bytes) -> None:
    with pytest.raises(ActionError):
        parse(body)


def test_a_request() -> None:
    text = b'{"do":"manage","modem":"m","direction":"upstream","reference":1,"preset":"pie"}'
    assert isinstance(parse(text), Manage)


TRACE = """packet 363: 1514 bytes from port 2 at 310.252592470 s
  ingress
    include/classifier.p4:53: meta.service_flow = service_flow -> metadata_t.service_flow = 0x0012
    include/ingress.p4:66: sf_received.count((bit<32>)meta.service_flow)
    include/ingress.p4:124: if dropped != NOT_DROPPED -> true
    include/counters.p4:40: sf_drop_aqm.count((bit<32>)meta.service_flow)
  dropped by the ingress pipeline
"""


def test_a_trace_tells_reason_and_service_flow() -> None:
    assert told(TRACE) == ("sf_drop_aqm", 18)
    assert told("") == ("dropped", None)
    assert list(packets(f"{TRACE}{TRACE}")) == [TRACE, TRACE]
    assert list(packets("nothing of a packet")) == []
    drops = Drops()
    for _ in range(150):
        last = drops.add("cm1", TRACE * 200)
    assert len(drops.listed()) == 100
    assert drops.get(1) is None
    assert len(last.text) == 40_000


def test_a_status_without_a_device_is_asked_for_again() -> None:
    there = tuple(replace(device, connected=True) for device in STATUS.devices)
    whole = System(replace(STATUS, devices=there))
    gone = replace(there[0], connected=False)
    part = System(replace(STATUS, devices=(gone, *there[1:])))
    assert whole.is_that_of(STATUS.pid, 3)
    assert not whole.is_that_of(STATUS.pid, 4)
    assert not whole.is_that_of(STATUS.pid + 1, 3)
    assert not part.is_that_of(STATUS.pid, 3)
    assert part.key != whole.key
