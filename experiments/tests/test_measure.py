# SPDX-License-Identifier: Apache-2.0
"""Statistics, what load induced, voice quality and goodput."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scenario_files

from docsis_experiments.measurement import voice
from docsis_experiments.measurement.metrics.induced_latency import idle_median
from docsis_experiments.measurement.metrics.loss import loss_percent
from docsis_experiments.measurement.metrics.recovery import recovery
from docsis_experiments.measurement.quantity import Quantity, absence, measure
from docsis_experiments.measurement.record import Packets, Received, RunRecord
from docsis_experiments.measurement.statistics import STATISTICS, statistic


def test_quantiles_of_a_known_sample() -> None:
    samples = np.arange(101, dtype=np.float64)
    found = [statistic(name, samples) for name in STATISTICS]
    assert found == [50.0, 50.0, 90.0, 99.0, 100.0]


def idle_and_loaded(idle: list[float], loaded: list[float], delay_s: float = -9.0) -> RunRecord:
    """A call whose idle time was from 10 to 5 s before the measured time."""
    sent = np.array([delay_s] * len(idle) + [1.0] * len(loaded))
    packets = Packets(sent, np.array([*idle, *loaded]))
    return scenario_files.record("a", 0, packets={"call": packets}, idle=(-10.0, -5.0))


INDUCED = Quantity.model_validate(
    {"metric": "induced-latency", "of": ("call",), "statistic": "p90"}
)


def test_induced_latency_is_less_the_idle_median() -> None:
    record = idle_and_loaded([1.0, 2.0, 30.0], [float(n) for n in range(101)])
    assert idle_median(record.packets["call"], record) == 2.0
    assert measure(INDUCED, record) == 88.0
    assert absence(INDUCED, record) == ""


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (idle_and_loaded([], [1.0]), "no packet of call arrived in an idle time"),
        (idle_and_loaded([math.nan], [1.0]), "no packet of call arrived in an idle time"),
        # What was sent in the ramp-up was not sent in the idle time.
        (idle_and_loaded([1.0], [1.0], -3.0), "no packet of call arrived in an idle time"),
        (idle_and_loaded([1.0], []), "no packet of call was sent in that time"),
        (scenario_files.record("b", 5.0), "no packet of call arrived in an idle time"),
    ],
)
def test_what_was_not_there_is_absent_and_not_a_zero(record: RunRecord, words: str) -> None:
    assert math.isnan(measure(INDUCED, record))
    assert absence(INDUCED, record) == words


def test_retransmissions_are_those_of_all_flows_of_the_groups() -> None:
    both = Quantity(metric="retransmissions", of=("ftp", "game"))
    counted = {"ftp": {"ftp-1": 2, "ftp-2": 0}, "game": {"game": 5}}
    assert measure(both, scenario_files.record("a", 0, retransmitted=counted)) == 7
    some = scenario_files.record("a", 0, retransmitted={"ftp": {"ftp-1": 2}})
    assert math.isnan(measure(both, some))
    assert absence(both, some) == "retransmissions of ftp and game were not counted"


def test_what_arrived_at_an_unknown_time_has_no_delay_and_is_no_loss() -> None:
    packets = Packets(np.arange(4.0), np.array([1.0, math.inf, math.nan, 3.0]))
    np.testing.assert_array_equal(packets.delays, [1.0, 3.0])
    assert loss_percent(packets) == 25.0
    # Nobody knows whether it would have been low: it says nothing of a recovery.
    unknown = Packets(np.arange(3.0), np.array([1.0, math.inf, 3.0]))
    assert recovery(unknown, [0.0], 3.0, 3.0) == 0.0
    assert recovery(unknown, [0.0], 3.0, 1.0) == math.inf


def test_rating_without_impairment_is_4_41() -> None:
    assert voice.mean_opinion_score(93.2) == pytest.approx(4.41, abs=0.005)
    assert voice.mean_opinion_score(-1) == 1.0
    assert voice.mean_opinion_score(101) == 4.5


def test_delay_impairment_bends_at_177_ms() -> None:
    assert voice.delay_impairment(100) == pytest.approx(2.4)
    assert voice.delay_impairment(277.3) == pytest.approx(0.024 * 277.3 + 11)


def test_loss_impairment_of_concealed_g711() -> None:
    assert voice.loss_impairment(0) == 0
    # G.107: Ie_eff = 95 * 5 / (5 + 25.1)
    assert voice.loss_impairment(5) == pytest.approx(15.78, abs=0.01)


def test_loss_impairs_more_where_nothing_is_concealed() -> None:
    # Ie_eff = 95 * 5 / (5 + 4.3)
    without = voice.ROBUSTNESS_WITHOUT_CONCEALMENT
    assert voice.loss_impairment(5, without) == pytest.approx(51.08, abs=0.01)
    assert voice.rating(0, 5, without) == pytest.approx(voice.rating(0, 0) - 51.08, abs=0.01)


def test_call_on_an_idle_path_is_excellent() -> None:
    # 20 ms of packetisation and 60 ms of jitter buffer: R = 93.2 - 0.024 * 80.4.
    assert voice.mos(np.full(1000, 0.4), 0) == pytest.approx(4.37, abs=0.01)


def test_late_packets_count_as_lost() -> None:
    delays = np.full(1000, 5.0)
    delays[:100] = 66.0
    # Exactly as if those 10% had been lost on the way.
    assert voice.mos(delays, 0) == pytest.approx(voice.mos(np.full(900, 5.0), 0.1))
    assert voice.mos(delays, 0) < 3.5


def test_quality_falls_with_delay_and_loss() -> None:
    same = np.full(1000, 10.0)
    assert voice.mos(same + 300, 0) < voice.mos(same, 0)
    assert voice.mos(same[:950], 0.05) < voice.mos(same, 0)
    assert voice.mos(np.zeros(0), 1.0) == 1.0


def test_call_that_sent_nothing_has_no_quality() -> None:
    assert math.isnan(voice.mos(np.zeros(0), math.nan))


def test_goodput_of_a_window_is_interpolated() -> None:
    counts = np.array([0, 125_000, 375_000, 375_000], dtype=np.float64)
    received = Received(np.arange(4.0), {"one": counts})
    assert received.mbps(0, 2) == pytest.approx([1.5])
    assert received.mbps(0.5, 1.5) == pytest.approx([1.5])
