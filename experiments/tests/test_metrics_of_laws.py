# SPDX-License-Identifier: Apache-2.0
"""Metrics of what the controller did: probabilities, estimates, changes of the rate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scenario_files

from docsis_experiments.measurement.metrics import METRICS
from docsis_experiments.measurement.metrics.latency_cycle import falls
from docsis_experiments.measurement.record import Control, Packets, RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import Statistic

TIMES = np.arange(0.0, 10.0, 0.016)


def record(**changes: Any) -> RunRecord:
    return scenario_files.record("tail", 10.0, **changes)


def measured(metric: str, run: RunRecord, *of: str, statistic: Statistic = "mean") -> float:
    return METRICS[metric].value(Scope(of or ("call",), statistic), run)


def with_samples(**columns: np.ndarray[Any, np.dtype[np.float64]]) -> RunRecord:
    return record(control=Control(TIMES, **columns))


def test_deviation_and_crossings_of_the_probability() -> None:
    # 2 s below, 2 s above, and so on: four crossings in 10 s.
    p = np.where(TIMES % 4 < 2, 0.5, 1.1)
    run = with_samples(drop_prob=p)
    assert measured("drop-prob-deviation", run) == pytest.approx(p.std())
    assert measured("gap-crossings", run) == pytest.approx(4)
    steady = with_samples(drop_prob=np.full(TIMES.size, 0.6))
    assert measured("drop-prob-deviation", steady) == 0
    assert measured("gap-crossings", steady) == 0
    assert math.isnan(measured("gap-crossings", record()))


def test_error_of_the_rate_is_told_behind_each_steps_beginning() -> None:
    steps = ((0.0, 10.0), (6.0, 30.0))
    # Right in the first step; in the second, capped at 20 Mbit/s, late by 0.4 s and then 10% off.
    estimate = np.where(TIMES < 6.4, 10.0, 22.0)
    run = record(control=Control(TIMES, rate_mbps=estimate), steps=steps, sustained_mbps=20.0)
    assert measured("rate-error", run, statistic="p50") == pytest.approx(0)
    assert measured("rate-error", run, statistic="max") == pytest.approx(10)
    assert measured("rate-error-at-once", run, statistic="max") == pytest.approx(50)
    unknown = with_samples(rate_mbps=np.full(TIMES.size, np.nan))
    assert math.isnan(measured("rate-error", unknown))


def test_estimate_of_the_rate_is_that_of_a_part_of_the_time() -> None:
    # What somebody measures at 20 Mbit/s, and one sample in ten at the line rate; not in the end.
    estimate = np.where(np.arange(TIMES.size) % 10 == 0, 100.0, 20.0)
    estimate[TIMES >= 8] = np.nan
    run = with_samples(rate_mbps=estimate)

    def of(start: float, end: float, statistic: Statistic) -> float:
        return METRICS["rate-estimate"].value(Scope(("call",), statistic, (start, end)), run)

    assert of(1, 4, "p50") == 20
    assert of(1, 4, "max") == 100
    assert of(1, 4, "mean") == pytest.approx(28, abs=0.5)
    assert of(6, 10, "p50") == 20, "samples without an estimate are none"
    assert math.isnan(of(8, 10, "p50"))
    assert METRICS["rate-estimate"].absence(Scope(("call",)), run)
    assert "rate-estimate" not in {n for n, metric in METRICS.items() if metric.told(run, "call")}


def test_step_of_the_wait_is_where_the_bucket_is_empty_first() -> None:
    sent = np.arange(0.0, 10.0, 0.02)
    bucket = np.maximum(0.0, 30e6 * (1 - TIMES / 4))
    # Behind a MAC the law sees no tokens from when 6 MB wait in front of 6 MB of them.
    tokens = np.maximum(0.0, bucket - 6e6)
    delays = np.where(sent < 4, 200.0, 250.0)
    control = Control(TIMES, tokens_bytes=tokens, bucket_bytes=bucket)
    run = record(packets={"call": Packets(sent, delays)}, control=control)
    assert measured("wait-step", run) == pytest.approx(1.25, rel=0.02)


def test_step_of_the_wait_is_absent_for_a_reason() -> None:
    def absence(bucket: np.ndarray[Any, np.dtype[np.float64]]) -> str:
        control = Control(TIMES, tokens_bytes=np.zeros(TIMES.size), bucket_bytes=bucket)
        run = record(packets={}, control=control)
        assert math.isnan(measured("wait-step", run))
        return METRICS["wait-step"].absence(Scope(("call",)), run)

    full, empty = np.full(TIMES.size, 30e6), np.maximum(0.0, 30e6 * (1 - TIMES / 4))
    assert absence(full) == "the bucket always had 1% of the most that it had, or more"
    # The first are records of an earlier version, the others those of a flow without a bucket.
    for unknown in (np.zeros(0), np.zeros(TIMES.size)):
        assert absence(unknown) == "the controller's samples do not say what the bucket has"
    assert absence(empty) == "no packet of call arrived on both sides of the change"


def sawtooth(period: float) -> Packets:
    """Empty for half of each period, then rising to 20 ms."""
    sent = np.arange(0.0, 100.0, 0.02)
    return Packets(sent, np.maximum(0.0, 40 * (sent % period / period) - 20))


def test_cycle_is_the_time_from_fall_to_fall() -> None:
    assert falls(sawtooth(30.0)) == pytest.approx([30.0, 60.0, 90.0], abs=0.021)
    run = record(seconds=100.0, packets={"call": sawtooth(30.0)})
    assert measured("latency-cycle", run) == pytest.approx(30.0, abs=0.03)
    assert math.isnan(
        measured("latency-cycle", record(seconds=100.0, packets={"call": sawtooth(80.0)}))
    )


def test_what_recovery_sends_at_once_is_no_cycle() -> None:
    slow = sawtooth(30.0)
    burst = (slow.sent_s > 31) & (slow.sent_s < 31.2)
    delays = np.where(burst, 20.0, slow.delay_ms)
    assert falls(Packets(slow.sent_s, delays)) == falls(slow)


def test_prediction_is_compared_with_the_longest_of_the_queues() -> None:
    packets = {name: scenario_files.packets(delay) for name, delay in (("a", 10.0), ("b", 40.0))}
    run = record(packets=packets, control=Control(TIMES, qdelay_ms=np.full(TIMES.size, 30.0)))
    assert measured("predicted-over-longest", run, "a", "b") == pytest.approx(0.75)
    assert math.isnan(measured("predicted-over-longest", run, "a", "nobody"))


def test_metrics_on_request_are_not_told_of_every_run() -> None:
    run = record()
    told = {name for name, metric in METRICS.items() if metric.told(run, "call")}
    assert "latency" in told
    assert not told & {"latency-cycle", "gap-crossings", "rate-error", "wait-step", "jitter"}
