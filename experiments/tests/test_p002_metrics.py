# SPDX-License-Identifier: Apache-2.0
"""Metrics that the rows of 002 look at, of records that were made up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scenario_files
from hypothesis import given
from hypothesis import strategies as st

from docsis_experiments.measurement.max_min import shares
from docsis_experiments.measurement.metrics.synchronised_losses import synchronised
from docsis_experiments.measurement.quantity import Quantity, absence, measure
from docsis_experiments.measurement.record import Packets, Received, RunRecord


def quantity(metric: str, *of: str, **more: Any) -> Quantity:
    return Quantity.model_validate({"metric": metric, "of": list(of), **more})


def received(rates: Mapping[str, float]) -> Received:
    time = np.arange(0.0, 11.0)
    return Received(time, {name: time * rate * 1e6 / 8 for name, rate in rates.items()})


def record(**changes: Any) -> RunRecord:
    """12 Mbit/s; the groups one and two have a flow each, the pair two."""
    groups = {
        "one": received({"one": 2.0}),
        "two": received({"two": 4.0}),
        "pair": received({"pair-1": 3.0, "pair-2": 1.0}),
    }
    values = {"received": groups, "sustained_mbps": 12.0, "packets": {}, "seconds": 10.0}
    return scenario_files.record("a", 1, **(values | changes))


@pytest.mark.parametrize(
    ("capacity", "demands", "found"),
    [
        (38, [math.inf, 4.2, 4.2, 4.2, 4.2, 4.2], [17, 4.2, 4.2, 4.2, 4.2, 4.2]),
        (38, [math.inf] * 5 + [4.2] * 5, [3.8] * 10),
        (12, [1, math.inf, 5], [1, 6, 5]),
        (12, [20], [12]),
        (12, [2, 3], [2, 3]),
        (12, [], []),
        (0, [1, 2], [0, 0]),
    ],
)
def test_max_min_shares(capacity: float, demands: list[float], found: list[float]) -> None:
    assert shares(capacity, demands) == pytest.approx(found)


@given(st.floats(0, 1e4), st.lists(st.floats(0, 1e4) | st.just(math.inf), max_size=12))
def test_max_min_shares_are_what_the_criterion_says(capacity: float, demands: list[float]) -> None:
    found = shares(capacity, demands)
    slack = 1e-9 * (1 + capacity)
    assert all(share <= demand + slack for share, demand in zip(found, demands, strict=True))
    assert sum(found) <= capacity + slack
    # Who has less than it wants has no less than anybody else, and nothing is left over.
    short = [s for s, d in zip(found, demands, strict=True) if s < d - slack]
    if short:
        assert min(short) >= max(found) - slack
        assert sum(found) >= capacity - slack


def test_all_that_got_something_share_the_capacity() -> None:
    run = record()
    # r is 3 Mbit/s for each of the four flows: x is 2/3, 4/3, 1 and 1/3.
    every = ("one", "two", "pair")
    assert measure(quantity("min-max-ratio", *every), run) == pytest.approx(0.25)
    jain = (10 / 3) ** 2 / (4 * (4 + 16 + 9 + 1) / 9)
    assert measure(quantity("normalised-fairness", *every), run) == pytest.approx(jain)
    assert measure(quantity("fairness", *every), run) == pytest.approx(jain)
    assert measure(quantity("allocation-error", "one"), run) == pytest.approx(-100 / 3)
    assert measure(quantity("allocation-error", "pair"), run) == pytest.approx(-100 / 3)
    assert measure(quantity("allocation-error", "two"), run) == pytest.approx(100 / 3)


def test_shares_know_what_flows_can_use() -> None:
    run = record(demands_mbps={"one": 1.5, "two": 20.0})
    # r is 1.5 for one, and 3.5 for the other three.
    assert measure(quantity("allocation-error", "one"), run) == pytest.approx(100 / 3)
    assert measure(quantity("allocation-error", "two"), run) == pytest.approx(100 / 7)
    x = (2 / 1.5, 4 / 3.5)
    assert measure(quantity("min-max-ratio", "one", "two"), run) == pytest.approx(x[1] / x[0])
    jain = sum(x) ** 2 / (2 * sum(value * value for value in x))
    found = measure(quantity("normalised-fairness", "one", "two"), run)
    assert found == pytest.approx(jain)
    assert measure(quantity("fairness", "one", "two"), run) == pytest.approx(0.9)


def test_who_is_not_there_has_no_share() -> None:
    time = np.array([0.0, 5.0, 10.0])
    late = Received(time, {"late": np.array([0.0, 0.0, 5e6])})
    run = record(received={"one": received({"one": 2.0}), "late": late})
    early = {"start": "0 s", "end": "5 s"}
    assert measure(quantity("allocation-error", "one", during=early), run) == pytest.approx(
        100 * (2 - 12) / 12
    )
    both = {"start": "5 s", "end": "10 s"}
    assert measure(quantity("allocation-error", "one", during=both), run) == pytest.approx(
        100 * (2 - 6) / 6
    )


def test_nothing_received_has_no_ratio() -> None:
    run = record(received={"one": received({"one": 0.0})})
    for metric in ("min-max-ratio", "normalised-fairness"):
        assert math.isnan(measure(quantity(metric, "one"), run))
        assert "nothing of one arrived" in absence(quantity(metric, "one"), run)
    assert measure(quantity("allocation-error", "one"), run) == -100


def test_goodput_deviates_from_bin_to_bin() -> None:
    # 1, 3, 1 and 3 Mbit/s in bins of a second, then a half one.
    time = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 4.5])
    count = np.cumsum([0.0, 1.0, 3.0, 1.0, 3.0, 9.0]) * 1e6 / 8
    run = record(received={"one": Received(time, {"one": count})}, seconds=4.5)
    one = quantity("goodput-deviation", "one", bound="1 s")
    # Variance 4 / 3.
    assert measure(one, run) == pytest.approx(math.sqrt(4 / 3))
    pairs = quantity("goodput-deviation", "one", bound="2 s")
    assert measure(pairs, run) == pytest.approx(0, abs=1e-12)
    alone = quantity("goodput-deviation", "one", bound="4 s")
    assert math.isnan(measure(alone, run))
    assert "fewer than two bins" in absence(alone, run)
    # However long the time is, all of it is looked at.
    count = np.append(np.zeros(10_999), 1e6 / 8)
    late = record(received={"one": Received(np.arange(11_000.0), {"one": count})}, seconds=10_999)
    assert measure(quantity("goodput-deviation", "one", bound="100 ms"), late) > 0


@pytest.mark.parametrize("bound", ["0 ms", "99 ms"])
def test_goodput_deviates_in_bins_that_have_a_sample(bound: str) -> None:
    with pytest.raises(ValueError, match="must be 100 ms at the least for goodput-deviation"):
        quantity("goodput-deviation", "one", bound=bound)


def call(delays: list[float]) -> RunRecord:
    packets = Packets(np.arange(float(len(delays))), np.array(delays))
    return record(packets={"call": packets})


@pytest.mark.parametrize(
    ("delays", "added", "value"),
    [
        # d = 10 + 80: Id = 2.16.
        ([0.0, 30.0, 60.0], "10 ms", 93.2 - 2.16),
        # d = 120 + 80 = 200: Id = 4.8 + 0.11 * 22.7.
        ([110.0] * 4, "10 ms", 93.2 - 4.8 - 2.497),
        # A quarter is lost: Ie = 95 * 25 / 50.1.
        ([0.0, 0.0, 0.0, np.nan], "10 ms", 93.2 - 2.16 - 95 * 25 / 50.1),
        # A quarter comes later than 60 ms after the fastest: the same.
        ([0.0, 0.0, 0.0, 60.1], "10 ms", 93.2 - 2.16 - 95 * 25 / 50.1),
    ],
)
def test_r_value(delays: list[float], added: str, value: float) -> None:
    rating = quantity("r-value", "call", bound=added)
    assert measure(rating, call(delays)) == pytest.approx(value)


def test_a_call_of_which_nothing_arrived_has_no_rating() -> None:
    rating = quantity("r-value", "call", bound="10 ms")
    assert math.isnan(measure(rating, call([np.nan])))
    assert "no packet of call arrived" in absence(rating, call([np.nan]))


@pytest.mark.parametrize(
    ("losses", "share"),
    [
        # One of three is not half of them, two are.
        ([[0.0], [], []], 0),
        ([[0.0], [0.05], []], 100),
        ([[0.0], [0.11], []], 0),
        # Two episodes, of which the second hits all; the one at 0.15 is in neither of the others.
        ([[0.0, 1.0], [1.01], [1.02]], 50),
        ([[0.0, 0.05, 0.15], [0.25], [0.25]], 50),
        ([[0.0]], 100),
    ],
)
def test_episodes_last_a_round_trip(losses: list[list[float]], share: float) -> None:
    found = synchronised([np.array(of) for of in losses], 0.1)
    assert found == pytest.approx(share)


def test_synchronised_losses_are_of_all_groups() -> None:
    packets = {
        "one": Packets(np.array([1.0, 2.0]), np.array([np.nan, 5.0])),
        "two": Packets(np.array([1.01, 2.0]), np.array([np.nan, 5.0])),
    }
    found = quantity("synchronised-losses", "one", "two", bound="20 ms")
    assert measure(found, record(packets=packets)) == 100
    late = quantity(
        "synchronised-losses",
        "one",
        "two",
        bound="20 ms",
        during={"start": "1500 ms", "end": "10 s"},
    )
    assert math.isnan(measure(late, record(packets=packets)))
    assert "no packet of one and two was lost" in absence(late, record(packets=packets))
    assert math.isnan(synchronised([], 1.0))
