# SPDX-License-Identifier: Apache-2.0
"""The control laws of a device: registers in, registers out.

Pure: there is no clock and no I/O here. Arrays have shape (n,), one element a
service flow, in the order of the flows it was made for.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from docsis_control.law.arrays import Bools, Floats, Ints, real, whole
from docsis_control.law.fixed_point import to_delay_us, to_prob
from docsis_control.law.handshake import control_state, sequence_numbers
from docsis_control.law.law import Interval, Law, Outcome, Unmanaged, law_of
from docsis_control.law.missed import LONGEST, steps
from docsis_control.law.readings import Readings, Settings, backlog
from docsis_control.plan import CONTROL_INTERVAL_US, TOKENS_PER_BYTE, ServiceFlow

_NO_TIME: Final = whole(0)
_NONE: Final = real(0.0)
_TOKENS_PER_BYTE: Final = real(TOKENS_PER_BYTE)


class Decision(NamedTuple):
    """The laws' decision.

    Attributes:
        drop_prob: The probability; of Adaptive RED maxp; 0 without a law.
        burst_allowance: Microseconds.
        status: `docsis_pie.Status` values; see `Outcome`.
    """

    drop_prob: Floats
    burst_allowance: Ints
    status: Ints


class Observation(NamedTuple):
    """The observation and the decision of one interval, for the record.

    Attributes:
        backlog: Bytes queued.
        msr_tokens: Bytes in the sustained rate's bucket as the laws see them: behind a
            request/grant MAC those for what is queued are spent.
        msr_bucket: Bytes in it as the pipeline has it, which spends a frame's when the frame
            leaves. Without a MAC the same as `msr_tokens`.
        qdelay: Seconds; by the departure rate where a manager goes by it (PIE, CoDel-DT), by the
            shaper's rates elsewhere.
        rate_estimate: bit/s at which the queue is found to drain, by rate tracking or by the
            departure rate; nan where neither is measured.
        state: After the interval.
    """

    backlog: Ints
    msr_tokens: Floats
    msr_bucket: Floats
    qdelay: Floats
    rate_estimate: Floats
    state: Decision


class DeviceLaw:
    """The laws over the service flows of one device, each over those that are under it.

    A service flow whose manager needs no law is observed, and its probability stays 0.
    """

    def __init__(self, flows: Sequence[ServiceFlow]) -> None:
        """Args: the service flows, in the order of all arrays."""
        self._flows = tuple(flows)
        self._rate: Floats = np.array([flow.max_sustained_rate for flow in flows], np.float64)
        # Without a sustained rate there is no bucket: a backlog drains as the channel does.
        self._depth: Floats = np.array(
            [flow.max_burst if flow.max_sustained_rate else 0 for flow in flows], np.float64
        )
        self._granted: Bools = np.array([flow.granted for flow in flows], np.bool_)
        self.restart()

    def restart(self) -> None:
        """Starts afresh, as the pipeline's registers do when they are provisioned."""
        self._laws = _laws(self._flows)
        self._acknowledged: Ints = np.zeros(len(self._flows), np.int64)
        # The last tick that there was, and what it saw; where that is of the same service flow.
        self._tick: int | None = None
        self._seen: Interval | None = None
        self._known: Bools = np.ones(len(self._flows), np.bool_)
        # Whether the laws have run before, though there is no tick to go on from.
        self._gap = False

    def resume(self) -> None:
        """Goes on after a gap, in which nobody read anything: the next tick is one of its own.

        Ticks may be numbered anew from there. State stays, but nothing is integrated over the
        gap, and no trend is seen between two readings of which one is older than it.
        """
        self._gap = self._gap or self._tick is not None
        self._tick = None
        self._seen = None

    def follow(self, before: "DeviceLaw") -> None:
        """Goes on where `before` was with the service flows that both have; others start afresh.

        A service flow is known by its SFID. One that has another law or generation now starts its
        law afresh, as the pipeline does with what it has measured; but what the pipeline counted,
        it goes on counting, and is acknowledged as before.
        """
        columns = {flow.sfid: column for column, flow in enumerate(before._flows)}
        kept = [
            (new, columns[flow.sfid])
            for new, flow in enumerate(self._flows)
            if flow.sfid in columns
        ]
        if not kept:
            return
        self._tick, self._gap = before._tick, before._gap
        here, there = (np.array(side, np.int64) for side in zip(*kept, strict=True))
        self._acknowledged[here] = before._acknowledged[there]
        # Columns without a past may have any value: nobody looks at them.
        source: Ints = np.zeros(len(self._flows), np.int64)
        source[here] = there
        self._known[:] = False
        self._known[here] = before._known[there]
        self._seen = None if before._seen is None else before._seen.of(source)
        goes_on: Bools = np.array(
            [self._flows[new].generation == before._flows[old].generation for new, old in kept],
            np.bool_,
        )
        was = {type(law): law for law in before._laws}
        for law in self._laws:
            old = was.get(type(law))
            if old is not None:
                mine, its = _places(law, len(self._flows)), _places(old, len(before._flows))
                both = goes_on & (mine[here] >= 0) & (its[there] >= 0)
                law.follow(old, mine[here][both], its[there][both])

    def observe(self, readings: Readings) -> Observation:
        """Observes the queues between two intervals; changes nothing."""
        bucket = self._bucket(readings)
        interval = self._interval(readings, bucket, 0)
        outcomes = [law.observe(interval.of(law.columns)) for law in self._laws]
        return _observation(interval, bucket, self._joined(outcomes))

    def update(self, readings: Readings, tick: int) -> tuple[Settings, Observation]:
        """One tick of the control loop: a function of the time, the readings and what was before.

        Args:
            readings: The pipeline's readings now.
            tick: The number of this control interval, above that of the update before. If that
                is not the one before this, the ticks between them are made up for.
        """
        bucket = self._bucket(readings)
        interval = self._interval(readings, bucket, CONTROL_INTERVAL_US)
        before, count = self._seen, 1
        if self._tick is not None:
            count = tick - self._tick
            assert count > 0, f"tick {tick} comes after {self._tick}"
            if count > LONGEST:
                self.resume()
        if self._gap:
            before, count = None, 1
            self._gap = False
            for law in self._laws:
                law.resume(interval.of(law.columns))
        passed: Iterable[Interval] = [interval]
        if before is not None and count > 1:
            passed = steps(before, interval, self._known, count)
        for each in passed:
            outcomes = [law.update(each.of(law.columns)) for law in self._laws]
        outcome = self._joined(outcomes)
        self._tick, self._seen = tick, interval
        self._known[:] = True
        # Also where no law looks at them now: later one may.
        self._acknowledged = sequence_numbers(readings.data_state)
        settings = Settings(
            drop_prob=to_prob(outcome.drop_prob),
            qdelay_old=to_delay_us(outcome.qdelay_old),
            burst_allowance=outcome.burst_allowance,
            control_state=control_state(outcome.control, self._acknowledged),
        )
        return settings, _observation(interval, bucket, outcome)

    def _interval(self, readings: Readings, bucket: Floats, step_us: int) -> Interval:
        queued = backlog(readings.enqueued_bytes, readings.dequeued_bytes)
        tokens = self._tokens(bucket, queued)
        return Interval(readings, queued, tokens, self._acknowledged, step_us)

    def _bucket(self, readings: Readings) -> Floats:
        """The pipeline's bucket now, bytes: the register's, and what was earned since."""
        elapsed = np.maximum(readings.now_us - readings.msr_updated, _NO_TIME)
        earned = elapsed * self._rate / _TOKENS_PER_BYTE
        return np.minimum(self._depth, readings.msr_tokens / _TOKENS_PER_BYTE + earned)

    def _tokens(self, bucket: Floats, queued: Ints) -> Floats:
        """The tokens of the pipeline's bucket that the laws see, bytes.

        The pipeline takes a frame's tokens when the frame leaves. Behind a request/grant MAC the
        modem has spent them before, since its buckets shape what it requests (White 2014, section
        7). So there the tokens for what is queued are gone, as far as there are any; where the
        peak rate holds requests back, a part of them is still to be spent.
        """
        return np.where(self._granted, np.maximum(bucket - queued, _NONE), bucket)

    def _joined(self, outcomes: Sequence[Outcome]) -> Outcome:
        """One outcome of all service flows."""
        if len(outcomes) == 1:
            return outcomes[0]
        parts: list[Any] = [np.empty(len(self._flows), part.dtype) for part in outcomes[0]]
        joined = Outcome(*parts)
        for law, outcome in zip(self._laws, outcomes, strict=True):
            for all_of_them, part in zip(joined, outcome, strict=True):
                all_of_them[law.columns] = part
        return joined


def _laws(flows: Sequence[ServiceFlow]) -> tuple[Law, ...]:
    columns: dict[type[Law], list[int]] = {}
    for column, flow in enumerate(flows):
        columns.setdefault(law_of(flow), []).append(column)
    if len(columns) <= 1:
        # No indexes to go through.
        only = next(iter(columns), Unmanaged)
        return (only(flows, slice(None)),)
    return tuple(
        law([flows[column] for column in chosen], np.array(chosen, np.intp))
        for law, chosen in columns.items()
    )


def _places(law: Law, count: int) -> Ints:
    """Columns within the law, by column of the device; -1 for a service flow under another law."""
    places: Ints = np.full(count, -1, np.int64)
    places[law.columns] = np.arange(len(places[law.columns]))
    return places


def _observation(interval: Interval, bucket: Floats, outcome: Outcome) -> Observation:
    return Observation(
        interval.backlog,
        interval.tokens,
        bucket,
        outcome.qdelay,
        outcome.rate_estimate,
        Decision(outcome.drop_prob, outcome.burst_allowance, outcome.status),
    )
