# SPDX-License-Identifier: Apache-2.0
"""DOCSIS-PIE with PIE's departure rate: the law of one with the delay of the other."""

import numpy as np
import pytest
from law_devices import DQ_TIME, Device

from docsis_control.law import docsis_pie, pie
from docsis_control.law.fixed_point import to_prob
from docsis_control.queue_managers.managers.docsis_pie_2014 import DocsisPie2014
from docsis_control.queue_managers.managers.pie import Pie

TARGET = 0.015


def test_delay_is_that_of_pie_and_probability_that_of_docsis_pie() -> None:
    device = Device(DocsisPie2014(), Pie())
    rates = docsis_pie.Parameters(
        msr=np.array([2.5e6]), peak_rate=np.array([3.125e6]), latency_target=np.array([TARGET])
    )
    state = docsis_pie.State.initial(1)
    sent = 0
    for tick in range(100):
        sent += 20_000
        backlog = 3_000 * tick
        settings, seen = device.tick(
            sent + backlog, dequeued_bytes=sent, avg_dq_time=DQ_TIME, ticks=1.0
        )
        delay = pie.queue_delay(np.array([backlog]), np.array([DQ_TIME]))
        state = docsis_pie.calculate_drop_prob(rates, state, delay)
        assert seen.qdelay[0] == seen.qdelay[1] == pytest.approx(float(delay[0]))
        # 20 Mbit/s, which 2^14 bytes in 6.5536 ms are; the bucket's rates play no part.
        assert seen.rate_estimate[0] == pytest.approx(20e6, rel=1e-4)
        assert settings.drop_prob[0] == to_prob(state.drop_prob)[0]
    assert settings.drop_prob[0] > 0
    assert settings.drop_prob[0] != settings.drop_prob[1], "PIE's law is another"


def test_without_an_estimate_there_is_no_delay() -> None:
    _, seen = Device(DocsisPie2014()).tick(500_000)
    assert seen.qdelay[0] == 0
    assert np.isnan(seen.rate_estimate[0])


@pytest.mark.parametrize("target", ["0 ms", "15500 us", "256 ms"])
def test_target_is_one_that_a_modem_can_be_given(target: str) -> None:
    with pytest.raises(ValueError, match="whole milliseconds"):
        DocsisPie2014.model_validate({"latency_target": target})
