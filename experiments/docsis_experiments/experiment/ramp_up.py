# SPDX-License-Identifier: Apache-2.0
"""How long traffic needs until its effect is steady: a ramp-up of `auto`. Pure."""

from __future__ import annotations

import math
from typing import Final

from docsis_control.modem_config.provisioned import ServiceFlow

SLOW_START_SECONDS: Final = 2.0
"""Slow start, its overshoot and the recovery from it at 100 ms."""

CUBIC_ROUNDS: Final = 2
"""Epochs of CUBIC, each from one loss to the window before it, until its sawtooth is regular."""

SEGMENT_BYTES: Final = 1448
"""Payload of a full TCP segment with timestamps."""


def ramp_up_seconds(
    flow: ServiceFlow, channel: int, transfers: int, round_trip_time_seconds: float
) -> float:
    """How long after the start of TCP transfers their effect is steady.

    The burst of the bucket must be spent, and CUBIC needs K = cbrt(0.3 W / 0.4)
    seconds to regain a window of W segments after a loss (RFC 9438, 4.2): 3 s
    at 20 Mbit/s, 7 s at 200.

    Args:
        flow: The service flow that they load.
        channel: bit/s that it has where it has no rate of its own.
        transfers: Connections that share it, at least 1.
        round_trip_time_seconds: Round trip time of the most distant server.
    """
    rate = flow.max_sustained_rate or channel
    surplus = (flow.peak_rate or channel) - rate
    # The idle time before may have filled any bucket, whatever it held at first.
    spent = 8 * flow.max_burst / surplus if surplus else 0.0
    window = rate / 8 * round_trip_time_seconds / transfers / SEGMENT_BYTES
    epoch = math.pow(0.3 * window / 0.4, 1 / 3)
    return math.ceil(spent + SLOW_START_SECONDS + CUBIC_ROUNDS * epoch)
