# SPDX-License-Identifier: Apache-2.0
"""Quantities of runs that were made up, and what is held against them."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenario_files
from hypothesis import given
from hypothesis import strategies as st

from docsis_experiments.judging import judge
from docsis_experiments.judging.parts import slope
from docsis_experiments.measurement.metrics.fairness import jain
from docsis_experiments.measurement.metrics.recovery import recovery
from docsis_experiments.measurement.quantity import Quantity, absence, measure
from docsis_experiments.measurement.record import Packets, Received


def quantity(metric: str, *of: str, **more: Any) -> Quantity:
    return Quantity.model_validate({"metric": metric, "of": list(of), **more})


def test_latency_is_of_what_was_sent_in_the_measured_time() -> None:
    sent = np.array([-1.0, 0.0, 5.0, 9.99, 10.0])
    packets = Packets(sent, np.array([900.0, 10.0, np.nan, 30.0, 900.0]))
    run = scenario_files.record("a", 1, packets={"call": packets})
    assert measure(quantity("latency", "call"), run) == 20.0
    assert measure(quantity("latency", "call", statistic="max"), run) == 30.0
    assert measure(quantity("loss", "call"), run) == pytest.approx(100 / 3)
    part = {"start": "4 s", "end": "6 s"}
    assert math.isnan(measure(quantity("latency", "call", during=part), run))
    assert measure(quantity("loss", "call", during=part), run) == 100.0


def test_groups_are_taken_together() -> None:
    run = scenario_files.record("a", 10)
    assert measure(quantity("latency", "call", "ftp"), run) == pytest.approx(10.5)
    assert measure(quantity("message-latency", "game"), run) == 60.0
    assert measure(quantity("goodput", "ftp", "game"), run) == pytest.approx(6.04)


def test_goodput_of_a_part_of_the_time() -> None:
    times = np.arange(0.0, 10.1, 0.1)
    # 1 Mbit/s for 5 s, then nothing.
    count = np.minimum(times, 5.0) * 125_000
    run = scenario_files.record("a", 1, received={"ftp": Received(times, {"ftp": count})})
    assert measure(quantity("goodput", "ftp"), run) == pytest.approx(0.5)
    early = {"start": "1 s", "end": "3 s"}
    assert measure(quantity("goodput", "ftp", during=early), run) == pytest.approx(1.0)


def test_fairness_is_jains() -> None:
    assert jain([1, 1, 1, 1]) == 1.0
    assert jain([1, 0, 0, 0]) == 0.25
    assert math.isnan(jain([0.0, 0.0]))
    run = scenario_files.record("a", 1)
    assert measure(quantity("fairness", "ftp"), run) == pytest.approx(36 / (3 * 14))


def test_mos_falls_with_loss() -> None:
    good = scenario_files.record("a", 10)
    bad = scenario_files.record("a", 1, packets={"call": scenario_files.packets(10, lost_every=10)})
    mos = quantity("mos", "call")
    assert measure(mos, good) > 4.3
    assert measure(mos, bad) < 3.7


def silent_call() -> Packets:
    return Packets(np.zeros(0), np.zeros(0))


def test_call_that_sent_nothing_fails_with_words(tmp_path: Path) -> None:
    scenario = scenario_files.loaded(
        tmp_path,
        ("{metric: latency, of: [call], statistic: p90}", "{metric: mos, of: [call]}"),
        ("{at_least: 40, at_most: 60}", "{at_most: 4}"),
    ).scenario
    record = scenario_files.record("tail", 1, packets={"call": silent_call()})
    (verdict,) = judge.judge(scenario, [record])
    assert math.isnan(verdict.measured)
    assert not verdict.holds
    assert verdict.absent == "no packet of call was sent in that time"


def test_one_of_two_calls_that_sent_nothing_is_not_hidden_by_the_other() -> None:
    both = {"call": scenario_files.packets(10), "game": silent_call()}
    run = scenario_files.record("a", 10, packets=both)
    for metric in ("mos", "loss", "latency", "recovery"):
        more = {"bound": "20 ms"} if metric == "recovery" else {}
        asked = quantity(metric, "call", "game", **more)
        assert math.isnan(measure(asked, run))
        assert absence(asked, run) == "no packet of game was sent in that time"


def test_what_is_absent_says_why() -> None:
    lost = Packets(np.array([1.0]), np.array([math.nan]))
    run = scenario_files.record(
        "a", 1, packets={"call": lost}, messages={"game": silent_call()},
        received={"ftp": scenario_files.received({"ftp-1": 0.0})},
    )  # fmt: skip
    for asked, words in (
        (quantity("latency", "call"), "no packet of call arrived in that time"),
        (quantity("message-latency", "game"), "no message of game arrived in that time"),
        (quantity("fairness", "ftp"), "nothing of ftp arrived in that time"),
    ):
        assert math.isnan(measure(asked, run))
        assert absence(asked, run) == words
    present = scenario_files.record("a", 1)
    assert absence(quantity("latency", "call"), present) == ""


def test_slope_is_that_of_the_line() -> None:
    assert slope([50, 100, 200], [40, 90, 190]) == pytest.approx(1.0)
    assert slope([50, 100, 200], [7, 7, 7]) == pytest.approx(0.0)
    assert math.isnan(slope([50, 50], [1, 2]))
    assert math.isnan(slope([50, 100], [1, math.nan]))
    assert math.isnan(slope([50, 100], [1, math.inf]))


def high_until(*ends: tuple[float, float]) -> Packets:
    """100 ms from the first to the second of each pair, else 5 ms; 50 packets a second."""
    sent = np.arange(0.0, 10.0, 0.02)
    delay = np.full(sent.size, 5.0)
    for start, end in ends:
        delay[(sent >= start) & (sent < end)] = 100.0
    return Packets(sent, delay)


def test_recovery_is_the_longest_time_after_an_event() -> None:
    packets = high_until((2.0, 3.5), (6.0, 6.5))
    assert recovery(packets, [2.0, 6.0], 10.0, 20.0) == pytest.approx(1.5)
    assert recovery(packets, [6.0], 10.0, 20.0) == pytest.approx(0.5)
    assert recovery(packets, [8.0], 10.0, 20.0) == 0.0
    # It counts until it is low for good.
    assert recovery(packets, [1.0], 10.0, 20.0) == pytest.approx(5.5)
    assert recovery(packets, [2.0, 6.0], 10.0, 200.0) == 0.0


def test_recovery_that_never_comes_is_infinite() -> None:
    packets = high_until((2.0, 6.5))
    assert recovery(packets, [2.0, 6.0], 10.0, 20.0) == math.inf
    assert math.isnan(recovery(packets, [], 10.0, 20.0))


def test_nothing_that_arrives_is_no_recovery() -> None:
    packets = high_until()
    lost = np.where(packets.sent_s >= 6.0, np.nan, packets.delay_ms)
    assert recovery(Packets(packets.sent_s, lost), [2.0], 10.0, 20.0) == math.inf
    lost = np.where((packets.sent_s >= 6.0) & (packets.sent_s < 7.0), np.nan, packets.delay_ms)
    assert recovery(Packets(packets.sent_s, lost), [2.0], 10.0, 20.0) == 5.0
    # A pause says nothing, and nothing at all neither.
    some = packets.between(0.0, 6.0)
    assert recovery(some, [2.0], 10.0, 20.0) == 0.0
    assert math.isnan(recovery(some, [6.0], 10.0, 20.0))


@pytest.mark.parametrize("length_ms", [1_999, 2_000, 2_001, 2_250, 2_499, 2_501, 3_007])
def test_a_step_that_never_recovers_is_infinite_off_the_grid(length_ms: int) -> None:
    for event_ms in range(0, 1_000, 7):
        start, end = event_ms / 1e3, (event_ms + length_ms) / 1e3
        sent = np.arange(0.0, 10.0, 0.02)
        delay = np.where(sent >= start, 100.0, 5.0)
        assert recovery(Packets(sent, delay), [start], end, 20.0) == math.inf


def test_a_pause_shows_no_recovery() -> None:
    # High until the group falls silent: nothing says that it ever was low again.
    silent = high_until((2.0, 4.0)).between(0.0, 4.0)
    assert recovery(silent, [2.0], 10.0, 20.0) == math.inf
    # What is first seen to be low at 7 s has recovered by then, and not before.
    packets = high_until((2.0, 4.0))
    kept = (packets.sent_s < 4.0) | (packets.sent_s >= 7.0)
    seen = Packets(packets.sent_s[kept], packets.delay_ms[kept])
    assert recovery(seen, [2.0], 10.0, 20.0) == pytest.approx(5.0)


def by_definition(
    packets: Sequence[tuple[int, float]], events: Sequence[int], end: int, bound: float
) -> float:
    """The recovery of packets that were sent at whole milliseconds, as the documentation has it.

    The time from an event to the next one is parted into half seconds, of which the last has what
    is left over, too. It has recovered at the start of the first after which every one that has
    packets is low: where half of those that arrived, at least, are within the bound.
    """
    found = []
    for event, until in itertools.pairwise([*events, end]):
        edges = list(range(event, until, 500))
        if len(edges) > 1 and until - edges[-1] < 500:
            edges.pop()
        low: dict[int, bool] = {}
        for edge, after in itertools.pairwise([*edges, until]):
            inside = [delay for sent, delay in packets if edge <= sent < after]
            arrived = [delay for delay in inside if not math.isnan(delay)]
            if inside:
                low[edge] = bool(arrived) and statistics.median(arrived) <= bound
        if low:
            good = [edge for edge in low if all(low[other] for other in low if other >= edge)]
            # What was never seen to be high has been low since the event.
            since = event if all(low.values()) else min(good, default=math.inf)
            found.append((since - event) / 1e3)
    return max(found, default=math.nan)


DELAYS = st.one_of(st.floats(0, 40), st.just(math.nan))


@given(
    packets=st.lists(st.tuples(st.integers(0, 6_000), DELAYS), max_size=120),
    dense=st.integers(0, 300),
    high=st.tuples(st.integers(0, 6_000), st.integers(0, 6_000)),
    times=st.lists(st.integers(0, 6_000), min_size=2, max_size=5, unique=True).map(sorted),
)
def test_recovery_is_that_of_the_definition_at_any_times(
    packets: list[tuple[int, float]], dense: int, high: tuple[int, int], times: list[int]
) -> None:
    steady = range(dense % 20, 6_000, 20) if dense % 2 else ()
    drawn = sorted([*packets, *((at, 30.0 if high[0] <= at < high[1] else 1.0) for at in steady)])
    *events, end = times
    sent, delays = np.array(drawn, dtype=np.float64).reshape(-1, 2).T
    measured = recovery(Packets(sent / 1e3, delays), [e / 1e3 for e in events], end / 1e3, 20.0)
    assert measured == pytest.approx(by_definition(drawn, events, end, 20.0), nan_ok=True)


def test_recovery_is_from_the_channels_steps() -> None:
    steps = ((0.0, 20.0), (2.0, 10.0), (6.0, 12.0))
    run = scenario_files.record(
        "a", 1, packets={"call": high_until((0.0, 1.9), (2.0, 3.0))}, steps=steps
    )
    low = quantity("recovery", "call", bound="20 ms")
    # The first step is the rate of the ramp-up, so what is before 2 s does not count.
    assert measure(low, run) == pytest.approx(1.0)


def test_verdicts_hold_within_the_tolerance(tmp_path: Path) -> None:
    scenario = scenario_files.loaded(tmp_path).scenario
    for delay, holds in ((34.9, False), (35.1, True), (50, True), (64.9, True), (65.1, False)):
        records = [scenario_files.record("tail", delay), scenario_files.record("codel", 30)]
        value, order = judge.judge(scenario, records)
        assert value.holds is holds
        assert value.allowed == (35, 65)
        assert value.measured == pytest.approx(delay)
        assert order.measured == pytest.approx(delay - 30)
        assert order.holds
    swapped = [scenario_files.record("tail", 50), scenario_files.record("codel", 51)]
    assert not judge.judge(scenario, swapped)[1].holds


def test_what_was_not_run_is_not_judged(tmp_path: Path) -> None:
    scenario = scenario_files.loaded(tmp_path).scenario
    verdicts = judge.judge(scenario, [scenario_files.record("codel", 5)])
    assert verdicts == []
    left = judge.not_judged(scenario, [scenario_files.record("codel", 5)])
    assert left == ["latency p90 of call: tail", "latency mean of call: tail"]


def test_nothing_measured_never_holds(tmp_path: Path) -> None:
    scenario = scenario_files.loaded(tmp_path).scenario
    none = Packets(np.zeros(0), np.zeros(0))
    record = scenario_files.record("tail", 1, packets={"call": none})
    assert not judge.judge(scenario, [record])[0].holds


def test_slope_and_ratio_are_judged_over_a_grid(tmp_path: Path) -> None:
    new, old = scenario_files.GRID
    scenario = scenario_files.loaded(
        tmp_path,
        (old, new),
        ("check: value", "check: slope"),
        ("runs: [tail]", "runs: [drop-tail]"),
        ("{at_least: 40, at_most: 60}", "1"),
        ("tolerance: 5", "tolerance: 0.1"),
        ("check: order", "check: ratio"),
        ("[codel, tail]", "[codel]"),
        ("slack: 0", "published: 1\n    tolerance: 0.2\n    over: {metric: latency, of: [ftp]}"),
    ).scenario
    records = [
        scenario_files.record(run.label, buffer * 0.95, buffer_ms=float(buffer))
        for run, buffer in zip(scenario.all_runs, [50, 100, 200] * 2, strict=True)
    ]
    steep, *ratios = judge.judge(scenario, records)
    assert steep.measured == pytest.approx(0.95)
    assert steep.holds
    assert steep.run == "drop-tail"
    assert [ratio.measured for ratio in ratios] == pytest.approx([47.5 / 48.5, 95 / 96, 190 / 191])
    # A slope over a part of its buffers would be another figure.
    assert judge.judge(scenario, records[:2]) == []
