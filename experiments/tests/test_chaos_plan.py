# SPDX-License-Identifier: Apache-2.0
"""Plans of faults, and what judges a run under them: pure, whatever is drawn."""

from __future__ import annotations

import itertools
import json
from typing import Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docsis_experiments.chaos import books
from docsis_experiments.chaos.buckets import PEAK_BURST, Parameters, Watch
from docsis_experiments.chaos.faults import (
    CONTROLLER,
    SECOND,
    Fault,
    Kind,
    Part,
    Rhythm,
    Span,
    Target,
    alive,
    drawn,
    end_of,
)
from docsis_experiments.chaos.findings import Findings, Invariant, Report, summary, tally
from docsis_experiments.chaos.recovery import Recovery
from docsis_experiments.chaos.virtual.traffic import _shifts

SWITCH: Final = Target(Part.SWITCH, "cm1")
HOST: Final = Target(Part.HOST, "cpe1")
POSSIBLE: Final = {CONTROLLER: tuple(Kind), SWITCH: tuple(Kind), HOST: (Kind.KILL, Kind.SLOW)}

seeds = st.integers(0, 2**64 - 1)


@given(seeds, st.integers(1, 80))
def test_a_seed_is_a_plan_whose_targets_have_one_fault_at_a_time(seed: int, count: int) -> None:
    rhythm = Rhythm()
    plan = drawn(POSSIBLE, count, seed, rhythm)
    assert plan == drawn(POSSIBLE, count, seed, rhythm)
    assert [fault.number for fault in plan] == list(range(1, count + 1))
    assert [fault.start_ns for fault in plan] == sorted(fault.start_ns for fault in plan)
    for fault in plan:
        assert fault.kind in POSSIBLE[fault.target]
        assert rhythm.first <= fault.start_ns
        assert rhythm.shortest <= fault.length_ns <= rhythm.longest
        assert 0 < fault.size <= 1
    for target in POSSIBLE:
        mine = [fault for fault in plan if fault.target == target]
        for one, next_one in itertools.pairwise(mine):
            assert one.end_ns + rhythm.pause <= next_one.start_ns


def test_every_kind_of_every_target_comes() -> None:
    plan = drawn(POSSIBLE, 400, 7)
    assert {(fault.target, fault.kind) for fault in plan} == {
        (target, kind) for target, kinds in POSSIBLE.items() for kind in kinds
    }
    assert sum(tally(plan).values()) == 400


@given(seeds, st.integers(1, 40))
def test_lives_are_what_deaths_leave(seed: int, count: int) -> None:
    plan = drawn(POSSIBLE, count, seed)
    end = end_of(plan) + SECOND
    dead = [fault for fault in plan if fault.target == HOST and fault.kind is Kind.KILL]
    lives = alive(plan, HOST, end)
    assert len(lives) == len(dead) + 1
    assert sum(life.end - life.start for life in lives) == end - sum(f.length_ns for f in dead)


def test_a_node_is_dead_until_the_last_of_its_deaths_is_over() -> None:
    """A server that dies while its host is dead is back before it."""
    host, server = (Target(Part.HOST, name) for name in ("cpe1", "server1"))
    plan = [
        Fault(1, Kind.KILL, host, 3 * SECOND, 5 * SECOND, 1),
        Fault(2, Kind.KILL, server, 5 * SECOND, SECOND, 1),
    ]
    assert list(_shifts(plan, "cpe1", "server1", 12 * SECOND)) == [
        Span(0, 3 * SECOND),
        Span(8 * SECOND, 12 * SECOND),
    ]


def departures(times: list[int], lengths: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(times, np.int64), np.array(lengths, np.int64)


def worst_window(times: list[int], lengths: list[int], rate: int) -> float:
    """The largest excess over the rate of any window, bytes: every pair of frames is tried."""
    return max(
        sum(lengths[i : j + 1]) - (times[j] - times[i]) * rate / 8e9
        for i in range(len(times))
        for j in range(i, len(times))
    )


@given(
    st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(64, 1522)), min_size=1, max_size=60),
    st.integers(100_000, 20_000_000),
    st.integers(1522, 20_000),
    st.integers(1, 60),
)
def test_a_bucket_is_broken_where_any_window_has_too_much(
    frames: list[tuple[int, int]], rate: int, burst: int, parts: int
) -> None:
    times = np.cumsum([gap for gap, _ in frames]).tolist()
    lengths = [length for _, length in frames]
    watch = Watch(Parameters(rate, burst, 0))
    said: list[str] = []
    # However it is cut into parts.
    for start in range(0, len(times), parts):
        stop = start + parts
        said += watch.add(*departures(times[start:stop], lengths[start:stop]))
    excess = worst_window(times, lengths, rate) - burst
    assert bool(said) == (excess > 0)
    assert watch.frames == len(times)


def test_the_peak_rate_has_a_bucket_of_its_own_and_long_pauses_are_no_matter() -> None:
    hour = 3600 * SECOND
    ok = departures([0, hour, 2 * hour], [1522, 1522, 1522])
    assert Watch(Parameters(10**9, 1522, 10**9)).add(*ok) == []
    (words,) = Watch(Parameters(0, 0, 8_000_000)).add(*departures([0, 1000], [PEAK_BURST, 100]))
    assert words == (
        "1 frames left above the peak rate of 8 Mbit/s with 1522 bytes at once, by up to 99.0 bytes"
    )


def test_books_that_do_not_balance_say_so() -> None:
    balanced = {
        "received": 10, "entered": 2, "copied": 1,
        "sent": 6, "left": 2, "dropped": 3, "emptied": 1, "held": 1,
    }  # fmt: skip
    assert list(books.of_device("cm1", balanced)) == []
    (words,) = books.of_device("cm1", {**balanced, "dropped": 2})
    assert words.startswith(
        "cm1 has 13 frames that came and 12 that went or are there: received 10"
    )
    totals = {
        "sent": 10, "received": 5, "link_dropped": 0, "unconnected": 0,
        "lost": 1, "lost_inside": 1, "on_links": 0,
    }  # fmt: skip
    assert list(books.of_wires(totals, [balanced])) == []
    assert list(books.of_wires({**totals, "lost": 0}, [balanced]))
    assert list(books.of_deaths(totals, [balanced])) == []
    assert list(books.of_deaths(totals, []))
    counters = dict.fromkeys(("sf_received", *books.FATES), 0)
    counters |= {"sf_received": 9, "sf_forwarded": 5, "sf_drop_aqm": 2}
    assert list(books.of_service_flow("cm1, 1", counters, books.Waiting.exactly(2, 0, 0))) == []
    (words,) = books.of_service_flow("cm1, 1", counters, books.Waiting.exactly(1, 0, 0))
    assert words == (
        "cm1, 1 received 9 frames, of which 7 have a fate (forwarded 5, drop_aqm 2) and 1 wait or "
        "were lost in its queue"
    )


def followed(updates: set[int], ended: list[int], end: int, *, began: int = -1) -> Recovery:
    """What comes of looking every 20 ms while a fault begins and others end at some times."""
    recovery = Recovery("cm1")
    recovery.began()
    last = None
    for now in range(0, end, SECOND // 50):
        if now == began:
            recovery.began()
        if now in ended:
            recovery.ended(now)
        last = now if now in updates else last
        recovery.look(now, last)
    return recovery


def test_control_that_is_back_in_time_is_measured_and_one_that_is_not_is_told() -> None:
    every = range(0, 5 * SECOND, SECOND // 50)
    good = followed({now for now in every if now >= 1_100_000_000}, [SECOND], 5 * SECOND)
    assert list(good.failures()) == []
    assert good.times_ns == [100_000_000]
    assert good.settled(5 * SECOND)

    late = followed({now for now in every if now >= 2_500_000_000}, [SECOND], 5 * SECOND)
    (words,) = late.failures()
    assert words == "cm1: control is not back 1020 ms after the end of the fault at 1.000 s"
    assert late.times_ns == [1_500_000_000]

    stops = followed({now for now in every if now < 3 * SECOND}, [SECOND], 5 * SECOND)
    (words,) = stops.failures()
    assert words.startswith("cm1: no update for 260 ms")


def test_a_fault_that_another_one_follows_soon_is_not_judged() -> None:
    # The second one begins half a second after the first has ended, and goes on.
    busy = followed(set(), [SECOND], 5 * SECOND, began=SECOND * 3 // 2)
    assert list(busy.failures()) == []
    assert busy.times_ns == []
    assert not busy.settled(5 * SECOND)


def test_a_report_counts_what_did_not_hold_and_names_the_faults() -> None:
    fault = Fault(1, Kind.KILL, SWITCH, SECOND, SECOND, 0.5)
    findings = Findings([fault])
    assert findings.check(0, Invariant.PACKETS, [])
    assert not findings.check(2 * SECOND, Invariant.PACKETS, ["one", "two"])
    report = Report(
        "virtual", "residential", 1, 3.0, tally([fault]), 1, findings, {"cm1": []}, {}, {}
    )
    assert not report.holds
    document = json.loads(json.dumps(report.document()))
    assert document["invariants"]["packets"] == {
        "words": "every packet is counted once", "checks": 2, "failures": 2,
    }  # fmt: skip
    assert document["findings"][0]["during"] == ["fault 1: kill switch cm1 at 1.000 s for 1.000 s"]
    assert document["recoveries_ms"] == {"cm1": {"count": 0}}


def test_what_was_never_checked_does_not_hold() -> None:
    findings = Findings([])
    report = Report("virtual", "residential", 1, 3.0, {}, 0, findings, {}, {}, {})
    for invariant in Invariant:
        assert not report.holds
        findings.check(0, invariant, [])
    assert report.holds


def test_quantiles_are_times_that_there_were() -> None:
    assert summary([]) == {"count": 0}
    assert summary([240.0, 20.0]) == {"count": 2, "p50": 20.0, "p99": 240.0, "max": 240.0}
    hundred = summary([float(n) for n in range(1, 101)])
    assert hundred == {"count": 100, "p50": 50.0, "p99": 99.0, "max": 100.0}
