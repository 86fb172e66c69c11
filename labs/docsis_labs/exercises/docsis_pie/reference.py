# SPDX-License-Identifier: Apache-2.0
"""The law for one service flow by the product's own functions, and what it is when it is wrong."""

from __future__ import annotations

from typing import Final

import numpy as np

from docsis_control.law import docsis_pie as product

TARGET: Final = 0.01
"""LATENCY_TARGET of the exercise's modem, seconds."""

_BOUNDS: Final = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
_FACTORS: Final = (1 / 2048, 1 / 512, 1 / 128, 1 / 32, 1 / 8, 1 / 2, 2.0, 8.0, 32.0)
_FULL: Final = 142_000

State = dict[str, float]


def _parameters(msr: float, peak_rate: float, target: float) -> product.Parameters:
    return product.Parameters(np.array([msr]), np.array([peak_rate]), np.array([target]))


def queue_delay(queue_bytes: float, msr_tokens: float, msr: float, peak_rate: float) -> float:
    """RFC 8034, appendix A.2."""
    found = product.queue_delay(
        _parameters(msr, peak_rate, TARGET),
        np.array([float(queue_bytes)]),
        np.array([float(msr_tokens)]),
    )
    return float(found[0])


def scale(p: float, drop_prob: float) -> float:
    """RFC 8034, appendix A.2: the steps of the table."""
    column = sum(drop_prob >= bound for bound in _BOUNDS)
    return p * _FACTORS[column]


def update(state: State, qdelay: float, target: float, bursting: bool) -> State:
    """RFC 8034, appendix A.2."""
    before = product.State(
        drop_prob=np.array([float(state["drop_prob"])]),
        qdelay_old=np.array([float(state["qdelay_old"])]),
        burst_allowance=np.array([_FULL if bursting else 0]),
        burst_reset=np.array([0]),
        status=np.array([int(product.Status.ACTIVE)]),
    )
    after = product.calculate_drop_prob(
        _parameters(1.0, 1.0, target), before, np.array([float(qdelay)])
    )
    return {"drop_prob": float(after.drop_prob[0]), "qdelay_old": float(after.qdelay_old[0])}


class Wrong:
    """The same law in parts, each of which can be left out or turned around.

    Attributes:
        flags: What is wrong, by the names that are looked for in `__call__`.
    """

    def __init__(self, *flags: str) -> None:
        """Args: `flags`."""
        self.flags = frozenset(flags)

    def __call__(self, state: State, qdelay: float, target: float, bursting: bool) -> State:
        """One interval."""
        wrong = self.flags
        prob, old = state["drop_prob"], state["qdelay_old"]
        if "target_fixed" in wrong:
            target = TARGET
        distance = target - qdelay if "sign" in wrong else qdelay - target
        trend = 0.0 if "no_trend" in wrong else qdelay - old
        if "trend_backwards" in wrong:
            trend = -trend
        weights = (2.5, 0.25) if "swapped" in wrong else (0.25, 2.5)
        p = weights[0] * distance + weights[1] * trend
        if "not_scaled" not in wrong:
            p = scale(p, min(max(prob, 1e-3), 0.5) if "short_table" in wrong else prob)
        capped = prob > 0.1 if "cap_above" in wrong else prob >= 0.1
        if capped and "no_cap" not in wrong:
            p = min(p, 0.02)
        prob = p if "replaced" in wrong else prob + p
        both = (qdelay < 0.005, old < 0.005)
        low = any(both) if "either_low" in wrong else all(both)
        if low and "no_decay" not in wrong:
            prob *= 0.02 if "decays_at_once" in wrong else 0.98
        elif qdelay > 0.2 and "no_growth" not in wrong:
            prob += 0.02
        low_bound = -1e9 if "no_floor" in wrong else 0.0
        high_bound = 1e9 if "no_ceiling" in wrong else 1.0 if "at_one" in wrong else 13.6
        prob = min(max(prob, low_bound), high_bound)
        if bursting and "no_burst" not in wrong:
            prob = state["drop_prob"] if "burst_keeps" in wrong else 0.0
        return {"drop_prob": prob, "qdelay_old": old if "keeps_old" in wrong else qdelay}
