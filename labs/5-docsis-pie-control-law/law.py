# SPDX-License-Identifier: Apache-2.0
"""DOCSIS-PIE's control law (RFC 8034, section 4 and appendix A.2): complete the TODOs.

The functions get and return plain numbers. Delays are in seconds, rates in bytes per second.
"""

A = 0.25  # RFC 8034, appendix A.1: weight of the distance to the target
B = 2.5  # weight of the trend
LATENCY_LOW = 0.005
LATENCY_HIGH = 0.2
MAX_PROB = 13.6  # PROB_LOW * MEAN_PKTSIZE / MIN_PKTSIZE


def queue_delay(queue_bytes, msr_tokens, msr, peak_rate):
    """Predicts how long a byte that arrives now will wait.

    queue_bytes: bytes in the queue; msr_tokens: bytes that the token bucket lets go at the peak
    rate; msr: Maximum Sustained Traffic Rate; peak_rate: Peak Traffic Rate.
    """
    # TODO 1: the bytes for which there are tokens leave at the peak rate, the others at msr.
    return 0.0


def scale(p, drop_prob):
    """Makes the step p smaller while the probability is small, and larger while it is large.

    | drop_prob is below | 1e-6 | 1e-5 | 1e-4 | 1e-3 | 1e-2 | 0.1 | 1 | 10 | (any other) |
    | p is multiplied by | 1/2048 | 1/512 | 1/128 | 1/32 | 1/8 | 1/2 | 2 | 8 | 32 |
    """
    # TODO 2: the first column whose bound drop_prob is below.
    return p


def update(state, qdelay, latency_target, bursting):
    """One control interval of 16 ms: returns the new state; does not change the old one.

    state: {"drop_prob": ..., "qdelay_old": ...}; bursting: whether a burst is still allowed.
    """
    drop_prob = state["drop_prob"]
    # TODO 3: p = A * (distance to the target) + B * (change since the last interval), then scale.
    p = 0.0
    # TODO 4: where drop_prob is 0.1 or more already, p is at most 0.02.
    drop_prob = drop_prob + p
    # TODO 5: decay. If both delays are below LATENCY_LOW, drop_prob shrinks to 98% of itself;
    # otherwise, where qdelay is above LATENCY_HIGH, it grows by 0.02.
    # TODO 6: drop_prob stays from 0 to MAX_PROB, and is 0 while a burst is allowed.
    return {"drop_prob": drop_prob, "qdelay_old": state["qdelay_old"]}
