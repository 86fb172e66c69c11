# SPDX-License-Identifier: Apache-2.0
"""Voice quality: the E-model of ITU-T G.107 for G.711.

What it assumes of the telephone: frames of 20 ms, packet-loss concealment
(G.711 Appendix I), and a fixed jitter buffer that plays a packet 60 ms after
the time at which the fastest packet would have come. Packets that come later
count as lost, and the buffer's depth counts as delay.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.record import Floats

PACKETISATION_MS: Final = 20.0
"""A packet leaves when its last sample has been taken."""

JITTER_BUFFER_MS: Final = 60.0
"""Depth of the jitter buffer, above the delay of the fastest packet."""

BASIC_RATING: Final = 93.2
"""R without impairment: G.107's defaults."""

PACKET_LOSS_ROBUSTNESS: Final = 25.1
"""Bpl of G.711 with packet-loss concealment (G.113, Appendix I)."""

ROBUSTNESS_WITHOUT_CONCEALMENT: Final = 4.3
"""Bpl of G.711 of a telephone that conceals nothing (the same)."""

BURST_RATIO: Final = 1.0
"""BurstR: losses as they fall at random."""


def delay_impairment(delay_ms: float) -> float:
    """Id of a mouth-to-ear delay d in milliseconds: 0.024 d + 0.11 max(0, d - 177.3).

    The simplified form of G.107's Id (Cole and Rosenbluth, 2001).
    """
    return 0.024 * delay_ms + 0.11 * max(0.0, delay_ms - 177.3)


def loss_impairment(loss_percent: float, robustness: float = PACKET_LOSS_ROBUSTNESS) -> float:
    """Ie_eff at a packet loss Ppl in percent: (95 - Ie) Ppl / (Ppl / BurstR + Bpl).

    G.107, section 7.5; Ie of G.711 is 0, and Bpl is the telephone's robustness.
    """
    if loss_percent <= 0:
        return 0.0
    return 95 * loss_percent / (loss_percent / BURST_RATIO + robustness)


def mean_opinion_score(rating: float) -> float:
    """MOS of a transmission rating R: 1 + 0.035 R + 7e-6 R (R - 60) (100 - R), from 1 to 4.5.

    G.107, Annex B.
    """
    if rating < 0:
        return 1.0
    if rating > 100:
        return 4.5
    return 1 + 0.035 * rating + 7e-6 * rating * (rating - 60) * (100 - rating)


def mos(delays_ms: Floats, loss_ratio: float) -> float:
    """MOS of a call whose packets had these one-way delays.

    Args:
        delays_ms: Delays of the packets that arrived, as far as they are known, milliseconds.
        loss_ratio: Packets that did not arrive, over those sent; NaN of a call that sent none.

    Returns:
        NaN of a call that sent nothing, or of whose packets no delay is known.
    """
    if loss_ratio == 1.0:
        return 1.0
    if math.isnan(loss_ratio) or not delays_ms.size:
        return math.nan
    least_ms = float(delays_ms.min())
    in_time = float(np.mean(delays_ms <= least_ms + JITTER_BUFFER_MS))
    score = mean_opinion_score(rating(least_ms, 100 * (1 - in_time * (1 - loss_ratio))))
    # Below R = 6.5 the polynomial dips under 1, which is the scale's end.
    return max(1.0, score)


def rating(
    least_ms: float, unplayable_percent: float, robustness: float = PACKET_LOSS_ROBUSTNESS
) -> float:
    """R of a call: 93.2 - Id - Ie_eff (G.107, section 7.1, with its defaults).

    Args:
        least_ms: One-way delay of the fastest packet, milliseconds.
        unplayable_percent: Packets that are lost or come too late for the jitter buffer.
        robustness: Bpl, with the telephone's concealment unless given.
    """
    return (
        BASIC_RATING
        - delay_impairment(PACKETISATION_MS + least_ms + JITTER_BUFFER_MS)
        - loss_impairment(unplayable_percent, robustness)
    )
