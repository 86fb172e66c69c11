# SPDX-License-Identifier: Apache-2.0
"""Metrics of calls: what is not played, and jitter."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scenario_files
from hypothesis import given
from hypothesis import strategies as st

from docsis_experiments.measurement import voice
from docsis_experiments.measurement.metrics.jitter import jitter
from docsis_experiments.measurement.metrics.unplayable import unplayable
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.scope import Scope

CALL = Scope(("call",))


def call(*delays_ms: float) -> RunRecord:
    packets = Packets(np.arange(len(delays_ms)) / 50, np.array(delays_ms))
    return scenario_files.record("tail", 10.0, packets={"call": packets})


def test_late_and_lost_packets_are_not_played() -> None:
    # The fastest takes 10 ms, so that 70 ms are in time and 71 ms are not.
    assert unplayable(CALL, call(10.0, 70.0, 71.0, math.nan)) == pytest.approx(50)
    assert unplayable(CALL, call(10.0, 20.0)) == 0
    assert unplayable(CALL, call(math.nan, math.nan)) == 100
    assert math.isnan(unplayable(CALL, call()))


@given(
    st.lists(st.one_of(st.floats(0, 500), st.just(math.nan)), min_size=1).filter(
        lambda delays: not all(map(math.isnan, delays))
    )
)
def test_mos_follows_from_the_least_delay_and_what_is_not_played(delays: list[float]) -> None:
    run = call(*delays)
    packets = run.packets["call"]
    lost = float(np.isnan(packets.delay_ms).mean())
    rating = voice.rating(float(packets.delays.min()), unplayable(CALL, run))
    expected = max(1.0, voice.mean_opinion_score(rating))
    assert voice.mos(packets.delays, lost) == pytest.approx(expected)


def test_jitter_is_the_mean_change_between_packets_that_arrived() -> None:
    assert jitter(CALL, call(10.0, 14.0, math.nan, 12.0)) == pytest.approx(3)
    assert jitter(CALL, call(10.0, 10.0)) == 0
    assert math.isnan(jitter(CALL, call(10.0, math.nan)))
