# SPDX-License-Identifier: Apache-2.0
"""How well the wait was foreseen around changes from peak to sustained rate."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
import scenario_files

from docsis_experiments.measurement import predictions
from docsis_experiments.measurement.metrics import METRICS
from docsis_experiments.measurement.record import Control, Packets, RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import Statistic

Floats = npt.NDArray[np.float64]

TIMES: Final = np.arange(0.0, 10.0, 0.016)
SENT: Final = np.arange(-2.0, 13.0, 0.02)

BUCKET: Final = 3e6
BACKLOG: Final = 250e3
AT_PEAK_MS: Final = 80.0
AT_SUSTAINED_MS: Final = 100.0
"""Time that the backlog takes at 25 and at 20 Mbit/s."""

CHANGE: Final = 5.0


def draining(empty_at: float = CHANGE) -> Floats:
    """A bucket that is full at first and empty at a time."""
    return np.maximum(0.0, BUCKET * (1 - TIMES / empty_at))


def record(
    bucket: Floats,
    law_ms: Floats | float = AT_PEAK_MS,
    delay_ms: Floats | None = None,
    tokens: Floats | None = None,
) -> RunRecord:
    """A constant backlog, whose wait is that of the peak rate until the change.

    Args:
        bucket: What the bucket has at `TIMES`, bytes.
        law_ms: What the law predicts at `TIMES`.
        delay_ms: Latency of the packets of `SENT`.
        tokens: What of the bucket the law sees; all unless given.
    """
    if delay_ms is None:
        delay_ms = np.where(SENT < CHANGE, AT_PEAK_MS, AT_SUSTAINED_MS)
    return scenario_files.record(
        "tail",
        10.0,
        packets={"call": Packets(SENT, delay_ms)},
        control=Control(
            TIMES,
            qdelay_ms=np.broadcast_to(law_ms, TIMES.shape).astype(float),
            backlog_bytes=np.full(TIMES.size, BACKLOG),
            tokens_bytes=bucket if tokens is None else tokens,
            bucket_bytes=bucket,
        ),
        sustained_mbps=20.0,
        peak_mbps=25.0,
    )


def error(by: str, run: RunRecord, statistic: Statistic = "p50", **scope: Any) -> float:
    return METRICS[f"prediction-error-{by}"].value(Scope(("call",), statistic, **scope), run)


def test_change_is_where_the_bucket_comes_to_be_empty() -> None:
    # Full, empty at 2 s, refilled by 4 s, empty at 6 s; then half a filling too little.
    at = [0.0, 2.0, 2.5, 4.0, 6.0, 7.0, 8.0, 9.0]
    bucket = np.interp(TIMES, at, [BUCKET, 0, 0, BUCKET, 0, 0.45 * BUCKET, 0, 0])
    # Whatever of it is queued for, and so is none of the law's behind a MAC.
    for queued in (0.0, BUCKET / 3):
        found = predictions.changes(record(bucket, tokens=np.maximum(bucket - queued, 0.0)))
        assert found == pytest.approx([2.0, 6.0], abs=0.04)


def test_tokens_foresee_the_fall_and_a_law_that_does_not_is_off_by_it() -> None:
    run = record(draining())
    step = AT_SUSTAINED_MS - AT_PEAK_MS
    # Until the bucket has less than the backlog and from when it is empty on it is right.
    assert error("tokens", run) == pytest.approx(0, abs=1e-6)
    # The law says the same before and behind the change: right in one half, off in the other.
    assert error("law", run, "max") == pytest.approx(step)
    assert error("law", run, "mean") == pytest.approx(step / 2, rel=0.03)


def test_tokens_divide_the_backlog_between_both_rates() -> None:
    # A bucket of two backlogs loses one of them in the last second before the change.
    bucket = np.maximum(0.0, BACKLOG * np.minimum(2.0, CHANGE - TIMES))
    share = np.clip(CHANGE - SENT, 0.0, 1.0)
    delay_ms = share * AT_PEAK_MS + (1 - share) * AT_SUSTAINED_MS
    run = record(bucket, delay_ms=delay_ms)
    # The packet behind a sample is sent up to 20 ms later, when the wait is 0.4 ms longer.
    assert error("tokens", run, "max") <= 0.4 + 1e-9
    assert error("law", run, "max") == pytest.approx(AT_SUSTAINED_MS - AT_PEAK_MS)


def test_only_samples_within_a_second_of_a_change_are_looked_at() -> None:
    far = np.abs(TIMES - CHANGE) > predictions.AROUND + 0.05
    law_ms = np.where(far, 1e6, np.where(TIMES < CHANGE, AT_PEAK_MS, AT_SUSTAINED_MS))
    assert error("law", record(draining(), law_ms), "mean") < AT_SUSTAINED_MS


def test_only_packets_that_came_soon_behind_a_sample_tell_its_wait() -> None:
    delay_ms = np.where(SENT < CHANGE, AT_PEAK_MS, np.nan)
    lost_behind = record(draining(), delay_ms=delay_ms)
    assert error("law", lost_behind, "max") == pytest.approx(0), "what was lost has no wait"
    # None is sent in the second behind the change; the next one would say 20 ms of error.
    gap = (SENT < CHANGE) | (SENT > CHANGE + 1.5)
    packets = Packets(SENT[gap], np.where(SENT < CHANGE, AT_PEAK_MS, AT_SUSTAINED_MS)[gap])
    there = scenario_files.record(
        "tail", 10.0, packets={"call": packets}, control=lost_behind.control,
        sustained_mbps=20.0, peak_mbps=25.0,
    )  # fmt: skip
    assert error("law", there, "max") == pytest.approx(0)


@pytest.mark.parametrize("by", ["law", "tokens"])
def test_without_a_change_there_is_no_value_and_a_reason(by: str) -> None:
    metric = METRICS[f"prediction-error-{by}"]
    never = record(np.full(TIMES.size, BUCKET))
    assert math.isnan(error(by, never))
    assert metric.absence(Scope(("call",)), never) == "the bucket was never filled and then emptied"
    unrecorded = record(np.zeros(0), tokens=draining())
    assert math.isnan(error(by, unrecorded))
    unknown = "the controller's samples do not say what the bucket has"
    assert metric.absence(Scope(("call",)), unrecorded) == unknown
    unseen = record(draining(), delay_ms=np.full(SENT.size, np.nan))
    assert math.isnan(error(by, unseen))
    assert "no packet of call" in metric.absence(Scope(("call",)), unseen)
    nothing = scenario_files.record("tail", 10.0, packets={}, control=never.control)
    assert math.isnan(error(by, nothing))
    assert not metric.told(never, "call"), "only where somebody asks"
