# SPDX-License-Identifier: Apache-2.0
"""Metrics that the rows of 001 look at, of records that were made up."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scenario_files
from hypothesis import given
from hypothesis import strategies as st

from docsis_experiments.measurement.metrics.clustered_drops import clustered
from docsis_experiments.measurement.metrics.settling import settled_after
from docsis_experiments.measurement.quantity import Quantity, absence, measure
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.trains import begun


def quantity(metric: str, *of: str, **more: Any) -> Quantity:
    return Quantity.model_validate({"metric": metric, "of": list(of), **more})


def record(**packets: tuple[list[float], list[float]]) -> RunRecord:
    groups = {
        name: Packets(np.array(sent), np.array(delays)) for name, (sent, delays) in packets.items()
    }
    return scenario_files.record("a", 1, packets=groups)


def test_share_below_is_of_what_arrived() -> None:
    run = record(call=([1, 2, 3, 4, 5], [10.0, 20.0, 30.0, np.nan, 40.0]))
    assert measure(quantity("latency-share-below", "call", bound="30 ms"), run) == 75
    assert measure(quantity("latency-share-below", "call", bound="5 ms"), run) == 0
    lost = record(call=([1.0], [np.nan]))
    nothing = quantity("latency-share-below", "call", bound="5 ms")
    assert math.isnan(measure(nothing, lost))
    assert "no packet of call arrived" in absence(nothing, lost)


LOST = np.nan


@pytest.mark.parametrize(
    ("delays", "share"),
    [
        ([1, LOST, 1, LOST, LOST, 1], 0),
        ([LOST, LOST, LOST, 1, LOST], 75),
        ([1, LOST, LOST, LOST, LOST], 100),
        ([LOST], 0),
    ],
)
def test_clustered_drops_are_those_in_rows_of_three(delays: list[float], share: float) -> None:
    sent = np.arange(float(len(delays)))
    assert clustered(Packets(sent, np.array(delays))) == share


def test_clustered_drops_are_of_all_groups_in_the_order_of_sending() -> None:
    run = record(ftp=([1.0, 3.0, 5.0], [LOST, LOST, 9.0]), game=([2.0, 4.0], [LOST, 9.0]))
    assert measure(quantity("clustered-drops", "ftp"), run) == 0
    assert measure(quantity("clustered-drops", "ftp", "game"), run) == 100
    assert "was lost" in absence(quantity("clustered-drops", "ftp"), record(ftp=([1.0], [1.0])))


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_clusters_are_counted_as_by_hand(lost: list[bool]) -> None:
    delays = np.array([LOST if gone else 1.0 for gone in lost])
    found = clustered(Packets(np.arange(float(len(lost))), delays))
    rows = [len(row) for row in "".join("x" if gone else " " for gone in lost).split()]
    if not rows:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(100 * sum(n for n in rows if n >= 3) / sum(rows))


def test_timeouts_are_held_against_what_was_lost() -> None:
    # The last packet is sent behind the measured time: it may be on its way.
    run = record(ftp=([-2.0, 1.0, 2.0, 10.5], [LOST, LOST, 5.0, LOST]))
    run = replace(run, timeouts={"ftp": {"ftp-1": 1, "ftp-2": 2}})
    timeouts = quantity("timeouts-per-loss", "ftp")
    assert measure(timeouts, run) == 1.5
    uncounted = replace(run, timeouts={})
    assert math.isnan(measure(timeouts, uncounted))
    assert "were not counted" in absence(timeouts, uncounted)


def test_trains_begin_behind_a_gap() -> None:
    assert list(begun(np.array([1.0, 1.001, 1.002, 4.0, 4.0]))) == [1.0, 4.0]
    assert begun(np.zeros(0)).size == 0


def test_latency_beside_trains_is_of_both_sides() -> None:
    run = record(
        game=([0.5, 1.9, 2.0, 2.9, 3.1, 8.5, 9.5], [1.0, 2.0, 50.0, 60.0, 3.0, 4.0, 70.0]),
        train=([2.0, 2.0001, 9.0, 9.0001], [1.0, 1.0, 1.0, 1.0]),
    )
    of = ("game", "train")
    after = quantity("latency-after-train", *of, bound="1 s", statistic="max")
    assert measure(after, run) == 70
    assert measure(after.model_copy(update={"statistic": "mean"}), run) == 60
    before = quantity("latency-before-train", *of, bound="1 s", statistic="mean")
    # What is sent with the train is behind its beginning; what is sent 0.1 s before is not.
    assert measure(before, run) == pytest.approx((2 + 4) / 2)
    nobody = quantity("latency-before-train", "train", bound="1 s")
    assert math.isnan(measure(nobody, run))
    assert "no group is named" in absence(nobody, run)


def test_settled_is_when_all_later_means_are_even() -> None:
    sent = np.arange(0.25, 10, 0.5)
    delays = np.full(sent.size, 100.0)
    assert settled_after(sent, delays, 0, 10) == 0
    delays[:3] = 200
    assert settled_after(sent, delays, 0, 10) == 1.5
    delays[5] = 130
    assert settled_after(sent, delays, 0, 10) == 3
    # Even, but for the end: it never settled in the time that is looked at.
    delays[-1] = 300
    assert settled_after(sent, delays, 0, 10) == math.inf
    assert math.isnan(settled_after(sent[4:], delays[4:], 0, 10))


def test_settling_begins_where_the_rate_falls() -> None:
    # Twice as many packets for 5 s; then the queue holds a few for longer.
    sent = np.concatenate([np.arange(0, 5, 0.005), np.arange(5, 40, 0.01)])
    delays = np.where((sent >= 5) & (sent < 7.4), 30.0, 10.0)
    run = replace(record(ftp=(list(sent), list(delays))), seconds=40.0)
    settling = quantity("settling", "ftp", bound="20 s")
    assert measure(settling, run) == 2.5
    steady = replace(record(ftp=(list(sent[1000:]), list(delays[1000:]))), seconds=40.0)
    assert math.isnan(measure(settling, steady))
    assert "no packets came faster" in absence(settling, steady)
    assert "too short" in absence(quantity("settling", "ftp", bound="39 s"), run)
