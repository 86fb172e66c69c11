# SPDX-License-Identifier: Apache-2.0
"""Makes the page's values of a service flow at one moment from registers. Pure: no clock, no I/O.

A row has the values of each service flow as a list in the order of `COLUMNS`.
"""

from dataclasses import dataclass
from typing import Any, Final

from docsis_control.law.docsis_pie import Status
from docsis_control.law.fixed_point import PROB_ONE
from docsis_control.plan import TOKENS_PER_BYTE
from docsis_control.status.model import ServiceFlow

COLUMNS: Final = (
    "offered_bps",
    "sent_bps",
    "delay_ms",
    "backlog_bytes",
    "tokens_bytes",
    "drop_prob",
    "state",
    "dropped_aqm",
    "dropped_buffer_full",
    "dropped_policed",
    "dropped_other",
    "msr_bps",
    "peak_bps",
    "target_ms",
)
"""The columns of a sample. Provisioned values are in each row, so that curves have the limits of
their own time. Rates are means since the row before; drops are frames since the device was
provisioned."""

_WRAP: Final = 1 << 32
_HALF: Final = 1 << 31
_STATE_BITS: Final = 2
_STATE_MASK: Final = 0b11
_STATES: Final = {int(state): state.name for state in Status}
_WITH_STATES: Final = "docsis-pie"


@dataclass(frozen=True)
class Books:
    """The two byte counters of a service flow at one moment.

    Attributes:
        at: When, seconds of a monotonic clock.
        enqueued: sf_enqueued_bytes, modulo 2^32.
        dequeued: sf_dequeued_bytes, modulo 2^32.
    """

    at: float
    enqueued: int
    dequeued: int

    @property
    def backlog(self) -> int:
        """Bytes queued; see `docsis_control.law.readings.backlog`."""
        return _ahead(self.enqueued, self.dequeued)

    def offered_bps(self, before: "Books | None") -> int | None:
        """The rate into the queue since `before`, bit/s; None where nobody knows."""
        return None if before is None else self._rate(before, self.enqueued, before.enqueued)

    def sent_bps(self, before: "Books | None") -> int | None:
        """The rate out of the queue since `before`, bit/s; None where nobody knows."""
        return None if before is None else self._rate(before, self.dequeued, before.dequeued)

    def _rate(self, before: "Books", count: int, count_before: int) -> int | None:
        seconds = self.at - before.at
        gained = (count - count_before) % _WRAP
        # Provisioned afresh in between: less than there was, modulo 2^32.
        if seconds <= 0 or gained >= _HALF:
            return None
        return round(gained * 8 / seconds)


def _ahead(enqueued: int, dequeued: int) -> int:
    difference = (enqueued - dequeued) % _WRAP
    return difference if difference < _HALF else 0


def tokens_bytes(
    flow: ServiceFlow, backlog: int, tokens: int, updated_us: int, now_us: int | None
) -> int | None:
    """The sustained rate's bucket now, bytes; None where the service flow has none.

    Behind a request/grant MAC the tokens for what is queued are spent already; see
    `docsis_control.law.service_flows`.

    Args:
        flow: The service flow.
        backlog: Bytes queued.
        tokens: msr_tokens, 1/8,000,000 byte.
        updated_us: msr_updated.
        now_us: The switch's clock; None where it is unknown: as of `updated_us`.
    """
    rate = flow.provisioned.maximum_sustained_traffic_rate_bps
    if rate is None:
        return None
    elapsed = 0 if now_us is None else max(0, now_us - updated_us)
    depth = flow.provisioned.maximum_traffic_burst_bytes
    bucket = min(depth, (tokens + elapsed * rate) // TOKENS_PER_BYTE)
    return max(bucket - backlog, 0) if _granted(flow) else bucket


def _granted(flow: ServiceFlow) -> bool:
    """Whether grants of an upstream channel let its frames go."""
    scheduling = flow.provisioned.scheduling
    return scheduling is not None and scheduling.upstream_channel is not None


def delay_ms(
    flow: ServiceFlow, backlog: int, tokens: int | None, channel_bps: int | None
) -> float | None:
    """How long a frame that comes now waits, from backlog, tokens and rates (RFC 8034, A.2).

    The controller's status has the same but under managers that measure how fast the queue drains.

    Args:
        flow: The service flow.
        backlog: Bytes.
        tokens: Bytes; None without a sustained rate.
        channel_bps: Stands in for a rate that is not limited.

    Returns:
        Milliseconds; None where no rate is known.
    """
    given = flow.provisioned
    peak = given.peak_traffic_rate_bps or channel_bps
    sustained = given.maximum_sustained_traffic_rate_bps or peak
    if sustained is None:
        return None if backlog else 0.0
    at_peak = min(backlog, tokens or 0)
    seconds = (backlog - at_peak) * 8 / sustained + (at_peak * 8 / peak if peak else 0.0)
    return round(seconds * 1e3, 3)


def aqm_state(flow: ServiceFlow, data_state: int, control_state: int) -> str | None:
    """The state of RFC 8034 in force; None where the queue manager has none.

    A transition of the data path that the controller has not seen yet is in force
    (`docsis_control.law.handshake`).
    """
    if flow.aqm is None or not flow.provisioned.queue_manager.startswith(_WITH_STATES):
        return None
    moved = data_state >> _STATE_BITS != control_state >> _STATE_BITS
    return _STATES.get((data_state if moved else control_state) & _STATE_MASK)


def drop_probability(flow: ServiceFlow, register: int) -> float | None:
    """aqm_drop_prob as a number; None where no law of the controller's is on the flow."""
    return None if flow.aqm is None else round(register / PROB_ONE, 9)


def values(
    flow: ServiceFlow,
    books: Books,
    before: Books | None,
    registers: tuple[int, int, int, int, int],
    drops: list[int],
    *,
    now_us: int | None,
    channel_bps: int | None,
) -> list[Any]:
    """The values of a service flow, in the order of `COLUMNS`.

    Args:
        flow: The service flow.
        books: Its byte counters now.
        before: The same at the row before; None without one.
        registers: msr_tokens, msr_updated, aqm_data_state, aqm_control_state, aqm_drop_prob.
        drops: Frames by reason, in the order of `docsis_live.readings.DROPS`.
        now_us: The switch's clock, if it is known.
        channel_bps: Rate of its channel, if that is limited.
    """
    tokens, updated, data_state, control_state, probability = registers
    backlog = books.backlog
    bucket = tokens_bytes(flow, backlog, tokens, updated, now_us)
    return [
        books.offered_bps(before),
        books.sent_bps(before),
        delay_ms(flow, backlog, bucket, channel_bps),
        backlog,
        bucket,
        drop_probability(flow, probability),
        aqm_state(flow, data_state, control_state),
        *drops[:3],
        sum(drops[3:]),
        *limits(flow),
    ]


def limits(flow: ServiceFlow) -> tuple[int | None, int | None, float | None]:
    """Its two rates, bit/s, and its latency target, milliseconds; None for none."""
    given = flow.provisioned
    return (
        given.maximum_sustained_traffic_rate_bps,
        given.peak_traffic_rate_bps,
        given.latency_target_ms,
    )
