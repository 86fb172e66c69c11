# SPDX-License-Identifier: Apache-2.0
"""DOCSIS-PIE's control law (RFC 8034, section 4.2 and appendix A)."""

A = 0.25  # RFC 8034, appendix A.1: weight of the distance to the target
B = 2.5  # weight of the trend
LATENCY_LOW = 0.005
LATENCY_HIGH = 0.2
MAX_PROB = 13.6  # PROB_LOW * MEAN_PKTSIZE / MIN_PKTSIZE

BOUNDS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10)
FACTORS = (1 / 2048, 1 / 512, 1 / 128, 1 / 32, 1 / 8, 1 / 2, 2, 8, 32)


def queue_delay(queue_bytes, msr_tokens, msr, peak_rate):
    """Predicts how long a byte that arrives now will wait."""
    at_peak = min(queue_bytes, msr_tokens)
    at_msr = queue_bytes - at_peak
    return at_msr / msr + at_peak / peak_rate


def scale(p, drop_prob):
    """Makes the step p smaller while the probability is small, and larger while it is large."""
    for bound, factor in zip(BOUNDS, FACTORS[:-1], strict=True):
        if drop_prob < bound:
            return p * factor
    return p * FACTORS[-1]


def update(state, qdelay, latency_target, bursting):
    """One control interval of 16 ms: returns the new state; does not change the old one."""
    drop_prob = state["drop_prob"]
    qdelay_old = state["qdelay_old"]
    p = scale(A * (qdelay - latency_target) + B * (qdelay - qdelay_old), drop_prob)
    if drop_prob >= 0.1:
        p = min(p, 0.02)
    drop_prob = drop_prob + p
    if qdelay < LATENCY_LOW and qdelay_old < LATENCY_LOW:
        drop_prob = drop_prob * 0.98
    elif qdelay > LATENCY_HIGH:
        drop_prob = drop_prob + 0.02
    drop_prob = min(max(drop_prob, 0.0), MAX_PROB)
    if bursting:
        drop_prob = 0.0
    state["drop_prob"] = drop_prob
    state["qdelay_old"] = qdelay
    return state
