# SPDX-License-Identifier: Apache-2.0
"""The registers that laws read from the data path, and those that they write.

Arrays have shape (n,), one element a service flow.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from docsis_control.law.arrays import Ints, whole

Columns = slice | npt.NDArray[np.intp]
"""Chooses service flows of a device: indexes into its arrays, or all of them."""


_COUNTER: Final = whole(0xFFFFFFFF)
_HALF: Final = whole(1 << 31)
_EMPTY: Final = whole(0)
_NO_REGISTERS: Final[Mapping[str, Ints]] = {}


def backlog(enqueued_bytes: Ints, dequeued_bytes: Ints) -> Ints:
    """Bytes queued: how far sf_enqueued_bytes is ahead of sf_dequeued_bytes.

    No buffer holds 2^31 bytes: a difference of that and more is a negative one, modulo 2^32. It
    comes of frames that left between the readings of the two, and nothing is queued.

    Args:
        enqueued_bytes: sf_enqueued_bytes, modulo 2^32, read after the other.
        dequeued_bytes: sf_dequeued_bytes, modulo 2^32.
    """
    difference = (enqueued_bytes - dequeued_bytes) & _COUNTER
    return np.where(difference < _HALF, difference, _EMPTY)


class Readings(NamedTuple):
    """The values of the data path's registers, all of one moment.

    A target may read one after the other. sf_dequeued_bytes comes first then, so that a frame
    that passes in between counts as queued and not as one that left before it came.

    What follows data_state is read for those service flows only whose law asks for them
    (`Law.reads`); they are 0 for all others.

    Attributes:
        now_us: The switch's clock at that moment, microseconds.
        enqueued_bytes: sf_enqueued_bytes, modulo 2^32.
        dequeued_bytes: sf_dequeued_bytes, modulo 2^32.
        msr_tokens: Tokens in 1/8,000,000 byte, at `msr_updated`.
        msr_updated: Microseconds.
        data_state: aqm_data_state.
        avg_dq_time: pie_avg_dq_time, 1/256 us.
        requests_met: sf_requests_met, modulo 2^32.
        red_avg: red_avg, bytes in Q32.16.
        arrivals: pie_002_arrivals, modulo 2^32.
        dequeued_packets: pie_002_dequeued, modulo 2^32.
        enqueued_packets: pie_002_enqueued, modulo 2^32.
        departure_rate: pie_002_departure_rate; see law/pie_002.py.
        granted_bytes: sf_granted_bytes, modulo 2^32.
        acked_req_bytes: sf_acked_req_bytes.
        own: Values of the registers that laws ask for by their names in P4 (`Law.own`).
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
    granted_bytes: Ints
    acked_req_bytes: Ints
    own: Mapping[str, Ints] = _NO_REGISTERS


class Settings(NamedTuple):
    """The values to write to the controller's registers.

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
