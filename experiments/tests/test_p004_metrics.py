# SPDX-License-Identifier: Apache-2.0
"""Metrics that the rows of 004 look at, of records that were made up."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import scenario_files
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.status.upstream import ChannelCounters, Delays, UpstreamChannel
from docsis_experiments.measurement.quantity import Quantity, absence, measure
from docsis_experiments.measurement.record import Carried, Packets, RunRecord


def quantity(metric: str, of: str = "ftp", **more: Any) -> Quantity:
    return Quantity.model_validate({"metric": metric, "of": [of], **more})


def channel(**counted: int) -> UpstreamChannel:
    counters = {one.name: 0 for one in fields(ChannelCounters)} | counted
    none = Delays(
        count=0, sum_ms=0.0, mean_ms=None, p50_ms=None, p90_ms=None, p99_ms=None, max_ms=None
    )
    return UpstreamChannel(
        name="us1", number=1, profile="docsis-1.1-004", time_ns=0, minislots_per_frame=1,
        frame_ps=1, map_minislots=80, request_minislots=1, counters=ChannelCounters(**counters),
        request_to_grant=none, maps_late=none, service_flows=(), last_maps=(),
    )  # fmt: skip


def record(**changes: Any) -> RunRecord:
    return scenario_files.record("a", 1, **changes)


def test_collisions_are_of_all_channels_together() -> None:
    one = channel(requests=30, requests_collided=20, opportunities=100, opportunities_collided=8)
    two = channel(requests=10, requests_collided=0, opportunities=100)
    run = record(channels=(one, two))
    assert measure(quantity("collision-rate"), run) == 50
    assert measure(quantity("collided-opportunities"), run) == 4


def test_without_requests_there_is_no_collision_rate() -> None:
    for metric in ("collision-rate", "collided-opportunities"):
        assert math.isnan(measure(quantity(metric), record()))
        assert "no upstream channel" in absence(quantity(metric), record())
        assert "nobody asked" in absence(quantity(metric), record(channels=(channel(),)))


def carried(*each: float, start: float = -0.02) -> Carried:
    """Looked at every 10 ms: bytes that went on in each interval."""
    line = np.concatenate([np.zeros(1), np.cumsum(np.array(each, np.float64))])
    return Carried(start + 0.01 * np.arange(line.size, dtype=np.float64), line, 8.0)


def test_utilisation_is_what_is_on_the_line_of_what_could_be() -> None:
    # At 8 Mbit/s 10,000 bytes are 10 ms. Before the measured time nothing counts.
    run = record(seconds=0.04, carried=carried(9999, 9999, 10_000, 0, 5_000, 5_000, 9999))
    assert measure(quantity("downstream-utilisation"), run) == pytest.approx(50)
    part = quantity("downstream-utilisation", during={"start": "10 ms", "end": "40 ms"})
    assert measure(part, run) == pytest.approx(100 / 3)
    assert "nobody looked" in absence(quantity("downstream-utilisation"), record())


def test_variation_is_deviation_over_mean() -> None:
    run = record(seconds=0.04, carried=carried(9999, 9999, 2, 4, 2, 4, 9999))
    # Mean 3, deviation 1.
    assert measure(quantity("downstream-variation"), run) == pytest.approx(1 / 3)
    idle = record(seconds=0.04, carried=carried(1, 1, 0, 0, 0, 0, 1))
    assert math.isnan(measure(quantity("downstream-variation"), idle))
    assert "carried nothing" in absence(quantity("downstream-variation"), idle)


@given(st.lists(st.integers(0, 10**6), min_size=5, max_size=50), st.integers(1, 1000))
def test_variation_does_not_know_a_unit(each: list[int], times: int) -> None:
    def variation(bytes_: list[int]) -> float:
        run = record(seconds=0.01 * len(each), carried=carried(*bytes_, start=0.0))
        return measure(quantity("downstream-variation"), run)

    one, other = variation(each), variation([times * value for value in each])
    assert one == pytest.approx(other, nan_ok=True)


def test_a_response_that_did_not_come_took_until_the_end_at_least() -> None:
    came = {"game": Packets(np.array([-1.0, 1.0, 3.0]), np.array([9e9, 500.0, 1500.0]))}
    run = record(messages=came)
    assert measure(quantity("response-time", "game"), run) == 1
    late = record(messages=came, unanswered={"game": np.array([-2.0, 6.0, 11.0])})
    # 0.5 s, 1.5 s, and from 6 s to the end at 10 s.
    assert measure(quantity("response-time", "game"), late) == 2
    none = record(messages={"game": Packets(np.zeros(0), np.zeros(0))})
    assert math.isnan(measure(quantity("response-time", "game"), none))
    assert "no message of game was sent" in absence(quantity("response-time", "game"), none)


def acknowledged(*flows: tuple[list[float], list[float]]) -> RunRecord:
    """Makes a record of each flow's acknowledgements: sent and came, ms; NaN for never."""
    found = [Packets(np.array(sent) / 1e3, np.array(came) - np.array(sent)) for sent, came in flows]
    return record(acknowledgements={"p2p": found})


def test_gaps_below_half_are_compressed() -> None:
    # Gaps of 10 ms that become 4, 10 and 6: one below half.
    run = acknowledged(([0, 10, 20, 30], [100, 104, 114, 120]))
    assert measure(quantity("compressed-acks", "p2p"), run) == pytest.approx(100 / 3)


def test_what_was_lost_or_overtook_makes_no_gap_of_its_own() -> None:
    # The second one is lost: 20 ms became 9. Of another flow the second came first.
    run = acknowledged(([0, 10, 20], [100, np.nan, 109]), ([0, 10, 20], [112, 111, 125]))
    # Gaps of the other: from 10 to 0, which is none, and from 0 to 20 ms, which became 13.
    assert measure(quantity("compressed-acks", "p2p"), run) == 50
    alone = acknowledged(([5], [6]))
    assert math.isnan(measure(quantity("compressed-acks", "p2p"), alone))
    assert "no two acknowledgements" in absence(quantity("compressed-acks", "p2p"), alone)
