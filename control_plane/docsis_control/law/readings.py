# SPDX-License-Identifier: Apache-2.0
"""What the laws are told by the data path, and what they tell it: registers.

Arrays have shape (n,), one element a service flow.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docsis_control.law.docsis_pie import Ints

Columns = slice | npt.NDArray[np.intp]
"""Which of a device's service flows: indexes into its arrays, or all of them."""


@dataclass(frozen=True)
class Readings:
    """What the data path's registers held, all of one moment.

    What follows data_state is read for those service flows only whose law asks for them
    (`Law.reads`); they are 0 for all others.

    Attributes:
        now_us: The switch's clock at that moment, microseconds.
        enqueued_bytes: sf_enqueued_bytes, modulo 2^32.
        dequeued_bytes: sf_dequeued_bytes, modulo 2^32.
        msr_tokens: In 1/8,000,000 byte, at `msr_updated`.
        msr_updated: Microseconds.
        data_state: aqm_data_state.
        avg_dq_time: pie_avg_dq_time, 1/256 us.
        requests_met: sf_requests_met, modulo 2^32.
        red_avg: red_avg, bytes in Q32.16.
        arrivals: pie_002_arrivals, modulo 2^32.
        dequeued_packets: pie_002_dequeued, modulo 2^32.
        enqueued_packets: pie_002_enqueued, modulo 2^32.
        departure_rate: pie_002_departure_rate; see law/pie_002.py.
    """

    now_us: int
    enqueued_bytes: Ints
    dequeued_bytes: Ints
    msr_tokens: Ints
    msr_updated: Ints
    data_state: Ints
    avg_dq_time: Ints
    requests_met: Ints
    red_avg: Ints
    arrivals: Ints
    dequeued_packets: Ints
    enqueued_packets: Ints
    departure_rate: Ints


@dataclass(frozen=True)
class Settings:
    """What to write to the controller's registers.

    Attributes:
        drop_prob: aqm_drop_prob, Q4.28.
        qdelay_old: aqm_qdelay_old, microseconds.
        burst_allowance: aqm_burst_allowance, microseconds.
        control_state: aqm_control_state.
    """

    drop_prob: Ints
    qdelay_old: Ints
    burst_allowance: Ints
    control_state: Ints
