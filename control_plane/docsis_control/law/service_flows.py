# SPDX-License-Identifier: Apache-2.0
"""The control law of a device: registers in, registers out.

Pure: it holds no clock and does no I/O. Arrays have shape (n,), one element a
service flow, in the order of the flows it was made for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from docsis_control.law.docsis_pie import (
    Bools,
    Floats,
    Ints,
    Parameters,
    State,
    calculate_drop_prob,
    queue_delay,
)
from docsis_control.law.fixed_point import to_delay_us, to_prob
from docsis_control.law.handshake import adopt, control_state
from docsis_control.plan import TOKENS_PER_BYTE, ServiceFlow


@dataclass(frozen=True)
class Readings:
    """What the data path's registers held, all of one moment.

    Attributes:
        now_us: The switch's clock at that moment, microseconds.
        enqueued_bytes: sf_enqueued_bytes, modulo 2^32.
        dequeued_bytes: sf_dequeued_bytes, modulo 2^32.
        msr_tokens: In 1/8,000,000 byte, at `msr_updated`.
        msr_updated: Microseconds.
        data_state: aqm_data_state.
    """

    now_us: int
    enqueued_bytes: Ints
    dequeued_bytes: Ints
    msr_tokens: Ints
    msr_updated: Ints
    data_state: Ints


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


@dataclass(frozen=True)
class Observation:
    """What one interval saw and decided, for the record.

    Attributes:
        backlog: Bytes queued.
        msr_tokens: Bytes in the sustained rate's bucket.
        qdelay: Seconds.
        state: After the interval.
    """

    backlog: Ints
    msr_tokens: Floats
    qdelay: Floats
    state: State


class DeviceLaw:
    """DOCSIS-PIE over the service flows of one device.

    A service flow without active queue management is observed, and its
    probability stays 0.
    """

    def __init__(self, flows: Sequence[ServiceFlow]) -> None:
        self._sfids = [flow.sfid for flow in flows]
        self._rate: Floats = np.array([flow.max_sustained_rate for flow in flows], np.float64)
        # Without a sustained rate there is no bucket: a backlog drains as the channel does.
        self._depth: Floats = np.array(
            [flow.max_burst if flow.max_sustained_rate else 0 for flow in flows], np.float64
        )
        self._unmanaged: Bools = np.array([not flow.controlled for flow in flows], np.bool_)
        self._parameters = Parameters(
            msr=np.array([flow.drain_rate / 8 for flow in flows], np.float64),
            peak_rate=np.array([flow.burst_rate / 8 for flow in flows], np.float64),
            latency_target=np.array([flow.latency_target_us / 1e6 for flow in flows], np.float64),
        )
        self._state = State.initial(len(flows))
        self._acknowledged: Ints = np.zeros(len(flows), np.int64)

    def follow(self, before: "DeviceLaw") -> None:
        """Goes on where `before` was with the service flows that both have; others start afresh.

        A service flow is known by its SFID.
        """
        columns = {sfid: column for column, sfid in enumerate(before._sfids)}
        kept = [(new, columns[i]) for new, i in enumerate(self._sfids) if i in columns]
        if not kept:
            return
        here, there = (np.array(side, np.intp) for side in zip(*kept, strict=True))
        self._acknowledged[here] = before._acknowledged[there]
        for name in (field.name for field in fields(State)):
            getattr(self._state, name)[here] = getattr(before._state, name)[there]

    def restart(self) -> None:
        """Starts afresh, as the pipeline's registers do when they are provisioned."""
        self._state = State.initial(len(self._rate))
        self._acknowledged = np.zeros(len(self._rate), np.int64)

    def observe(self, readings: Readings) -> Observation:
        """What the readings mean between two intervals; changes nothing."""
        state, _ = adopt(self._state, self._acknowledged, readings.data_state)
        return Observation(*self._queues(readings), state)

    def update(self, readings: Readings) -> tuple[Settings, Observation]:
        """Runs one INTERVAL."""
        backlog, tokens, qdelay = self._queues(readings)
        state, self._acknowledged = adopt(self._state, self._acknowledged, readings.data_state)
        state = calculate_drop_prob(self._parameters, state, qdelay)
        if self._unmanaged.any():
            state = replace(state, drop_prob=np.where(self._unmanaged, 0.0, state.drop_prob))
        self._state = state
        settings = Settings(
            drop_prob=to_prob(state.drop_prob),
            qdelay_old=to_delay_us(qdelay),
            burst_allowance=state.burst_allowance,
            control_state=control_state(state, self._acknowledged),
        )
        return settings, Observation(backlog, tokens, qdelay, state)

    def _queues(self, readings: Readings) -> tuple[Ints, Floats, Floats]:
        """Backlogs and tokens in bytes, queue delays in seconds."""
        backlog = (readings.enqueued_bytes - readings.dequeued_bytes) & 0xFFFFFFFF
        tokens = self._tokens(readings)
        return backlog, tokens, queue_delay(self._parameters, backlog.astype(np.float64), tokens)

    def _tokens(self, readings: Readings) -> Floats:
        """The bucket's tokens now, bytes: the register's, and what was earned since."""
        elapsed = np.maximum(0, readings.now_us - readings.msr_updated)
        earned = elapsed * self._rate / TOKENS_PER_BYTE
        return np.minimum(self._depth, readings.msr_tokens / TOKENS_PER_BYTE + earned)
