# SPDX-License-Identifier: Apache-2.0
"""The control path of DOCSIS-PIE: calculate_drop_prob() of RFC 8034, appendix A.

In the RFC's order and with its names, for all service flows of a device at
once. Arrays have shape (n,), one element a service flow. Rates are bytes per
second, delays seconds (float64), the two burst timers whole microseconds
(int64), so that counting intervals is exact. The data path, drop_early(), is in
the pipeline.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np

from docsis_control.law.arrays import Bools, Floats, Ints, real, whole

# RFC 8034 A.1.
A: Final = real(0.25)
B: Final = real(2.5)
INTERVAL_US: Final = whole(16_000)
BURST_RESET_TIMEOUT_US: Final = whole(1_000_000)
MAX_BURST_US: Final = 142_000
MEAN_PKTSIZE: Final = 1024
MIN_PKTSIZE: Final = 64
PROB_LOW: Final = 0.85
LATENCY_LOW: Final = real(0.005)
LATENCY_HIGH: Final = real(0.2)
MAX_PROB: Final = real(PROB_LOW * MEAN_PKTSIZE / MIN_PKTSIZE)

# p is multiplied by SCALE[i] where drop_prob is below SCALE_BELOW[i] and not
# below the one before. Powers of two: exact.
_SCALE_BELOW: Final = np.array([1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0])
_SCALE: Final = np.array([1 / 2048, 1 / 512, 1 / 128, 1 / 32, 1 / 8, 1 / 2, 2.0, 8.0, 32.0])


class Status(IntEnum):
    """The RFC's states, with the pipeline's encoding."""

    INACTIVE = 0
    QUIESCENT = 1
    ACTIVE = 2


_INACTIVE, _QUIESCENT, _ACTIVE = (whole(status) for status in Status)

# The numbers in the pseudocode.
_NONE, _NO_TIME = real(0.0), whole(0)
_HALF: Final = real(0.5)
_HIGH_PROB, _MAX_STEP = real(0.1), real(0.02)
_DECAY, _HIGH_STEP = real(0.98), real(0.02)


@dataclass(frozen=True)
class Parameters:
    """The provisioned parameters of the service flows.

    Attributes:
        msr: Maximum Sustained Traffic Rate, bytes per second, above 0.
        peak_rate: Peak Traffic Rate, bytes per second, above 0.
        latency_target: LATENCY_TARGET, seconds.
    """

    msr: Floats
    peak_rate: Floats
    latency_target: Floats


@dataclass(frozen=True)
class State:
    """The RFC's per-queue variables that the control path maintains.

    Attributes:
        drop_prob: Drop probability, from 0 to 13.6.
        qdelay_old: Seconds.
        burst_allowance: Microseconds, from 0 to MAX_BURST.
        burst_reset: Microseconds of quiet so far.
        status: `Status` values.
    """

    drop_prob: Floats
    qdelay_old: Floats
    burst_allowance: Ints
    burst_reset: Ints
    status: Ints

    @staticmethod
    def initial(count: int) -> "State":
        """A.2, upon init: all 0 and INACTIVE, for `count` service flows."""
        return State(
            drop_prob=np.zeros(count),
            qdelay_old=np.zeros(count),
            burst_allowance=np.zeros(count, np.int64),
            burst_reset=np.zeros(count, np.int64),
            status=np.full(count, int(Status.INACTIVE), np.int64),
        )


def queue_delay(parameters: Parameters, queue_bytes: Floats, msr_tokens: Floats) -> Floats:
    """Predicts the queue's delay from the shaper (A.3; 000, section 7).

    Args:
        parameters: Rates of the service flows.
        queue_bytes: Bytes queued.
        msr_tokens: Tokens of the Maximum Sustained Traffic Rate's bucket, bytes.

    Returns:
        Seconds.
    """
    at_peak = np.minimum(queue_bytes, msr_tokens)
    at_msr = queue_bytes - at_peak
    return at_msr / parameters.msr + at_peak / parameters.peak_rate


def calculate_drop_prob(parameters: Parameters, state: State, qdelay: Floats) -> State:
    """One INTERVAL of the control path.

    Args:
        parameters: The provisioned parameters.
        state: Before the interval; not changed.
        qdelay: `queue_delay` now, seconds.

    Returns:
        The state after the interval; its qdelay_old is `qdelay`.
    """
    bursting = state.burst_allowance > _NO_TIME
    burst_allowance = np.maximum(state.burst_allowance - INTERVAL_US, _NO_TIME)

    p = A * (qdelay - parameters.latency_target) + B * (qdelay - state.qdelay_old)
    p *= _SCALE[_SCALE_BELOW.searchsorted(state.drop_prob, "right")]
    p = np.where(state.drop_prob >= _HIGH_PROB, np.minimum(p, _MAX_STEP), p)
    drop_prob = state.drop_prob + p

    # The pseudocode's place for the decay; section 4.5's prose differs.
    low = (qdelay < LATENCY_LOW) & (state.qdelay_old < LATENCY_LOW)
    drop_prob = np.where(low, drop_prob * _DECAY, drop_prob)
    drop_prob = np.where(~low & (qdelay > LATENCY_HIGH), drop_prob + _HIGH_STEP, drop_prob)
    drop_prob = np.minimum(np.maximum(drop_prob, _NONE), MAX_PROB)
    drop_prob[bursting] = 0.0

    half_target = _HALF * parameters.latency_target
    quiet = (
        (qdelay < half_target)
        & (state.qdelay_old < half_target)
        & (drop_prob == _NONE)
        & (burst_allowance == _NO_TIME)
    )
    status, burst_reset = _next_status(state, quiet)
    return State(drop_prob, qdelay, burst_allowance, burst_reset, status)


def _next_status(state: State, quiet: Bools) -> tuple[Ints, Ints]:
    calming = (state.status == _ACTIVE) & quiet
    quiescent = state.status == _QUIESCENT
    if not np.count_nonzero(calming | quiescent):
        return state.status, state.burst_reset

    burst_reset = np.where(
        quiescent, np.where(quiet, state.burst_reset + INTERVAL_US, 0), state.burst_reset
    )
    expired = quiescent & (burst_reset > BURST_RESET_TIMEOUT_US)
    burst_reset = np.where(expired | calming, 0, burst_reset)

    status = np.where(calming, _QUIESCENT, state.status)
    status = np.where(expired, _INACTIVE, status)
    return status, burst_reset
