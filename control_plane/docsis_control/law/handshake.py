# SPDX-License-Identifier: Apache-2.0
"""The handshake by which control path and data path share the state of RFC 8034 without a lock.

Each side has one register a service flow, and writes only its own:

- aqm_data_state: the state the data path went to last in bits 1..0, and above
  it a sequence number that counts its transitions;
- aqm_control_state: the state the controller decided on, and the sequence number
  that it had seen then.

A sequence number that the controller has not seen means that the data path
moved: its state holds, and a move to ACTIVE starts a burst of MAX_BURST. See
p4src/include/docsis_pie.p4 for the other side.
"""

from dataclasses import replace

import numpy as np

from docsis_control.law.arrays import Ints, whole
from docsis_control.law.docsis_pie import MAX_BURST_US, State, Status

_ACTIVE = whole(Status.ACTIVE)
_STATE_BITS = whole(2)
_STATE_MASK = whole(0b11)


def adopt(state: State, acknowledged: Ints, data_state: Ints) -> tuple[State, Ints]:
    """Takes over what the data path did since the last update.

    Args:
        state: The controller's, before the interval.
        acknowledged: Sequence numbers that the controller has seen, shape (n,).
        data_state: The register aqm_data_state, shape (n,).

    Returns:
        The state to run the interval from, and the sequence numbers to acknowledge.
    """
    sequence = sequence_numbers(data_state)
    moved = sequence != acknowledged
    if not np.count_nonzero(moved):
        return state, acknowledged
    status = np.where(moved, data_state & _STATE_MASK, state.status)
    burst = moved & (status == _ACTIVE)
    return (
        replace(
            state,
            status=status,
            burst_allowance=np.where(burst, MAX_BURST_US, state.burst_allowance),
            burst_reset=np.where(moved, 0, state.burst_reset),
        ),
        sequence,
    )


def sequence_numbers(data_state: Ints) -> Ints:
    """The sequence numbers in the register aqm_data_state, shape (n,)."""
    return data_state >> _STATE_BITS


def control_state(control: Ints, acknowledged: Ints) -> Ints:
    """The register aqm_control_state: `Outcome.control` and what was acknowledged, shape (n,)."""
    return (acknowledged << _STATE_BITS) | control
