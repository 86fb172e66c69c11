# SPDX-License-Identifier: Apache-2.0
"""Table entries that a service flow's queue management needs, in front of the flow's own.

Fixed point is exact: of the number as it was written, rounded to the nearest.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from docsis_control.config.models import MAX_FRAME
from docsis_control.config.units import BufferLimit
from docsis_control.law.inverse_square_root import entries as inverse_square_roots
from docsis_control.plan import ServiceFlow, SubQueues
from docsis_control.queue_managers.flow_queues import SEARCHED_GROUP
from docsis_control.queue_managers.models import (
    AdaptiveRed,
    Codel,
    Codel002,
    CodelDt,
    Lred,
    Pie002,
)
from docsis_control.tables import TableEntry

FLOW_QUEUES: Final = "FrameIngress.flow_queue.flow_queues"
ADAPTIVE_RED: Final = "FrameIngress.adaptive_red.parameters"
CODEL: Final = "FrameEgress.codel"
CODEL_DT: Final = "FrameIngress.codel_dt"
LRED: Final = "FrameEgress.lred.parameters"
CODEL_002: Final = "FrameIngress.codel_002"
CODEL_002_DEPARTURE: Final = "FrameEgress.codel_002.parameters"
PIE_002: Final = "FrameEgress.pie_002.parameters"

PROBABILITY_ONE: Final = 1 << 28
"""1.0 as the pipeline's prob_t, Q4.28."""

WEIGHT_ONE: Final = 1 << 16
"""1.0 as Adaptive RED's weight, Q0.16."""

_LARGEST_RECIPROCAL: Final = 2**32 - 1


def lasting() -> Iterator[TableEntry]:
    """Yields the entries that stay as long as a device runs, whichever flows it has."""
    for control in (CODEL, CODEL_DT, CODEL_002):
        yield from inverse_square_roots(control)


def entries(flow: ServiceFlow) -> Iterator[TableEntry]:
    """Yields the pipeline's entries for a service flow's queue manager and flow queues."""
    match flow.management:
        case Codel() as management:
            yield _codel(flow, CODEL, management)
        case CodelDt() as management:
            yield _codel(flow, CODEL_DT, management)
        case Codel002() as management:
            yield from _codel_002(flow, management)
        case Pie002() as management:
            yield _pie_002(flow, management)
        case AdaptiveRed() as management:
            yield _adaptive_red(flow, management)
        case Lred() as management:
            yield _lred(flow, management)
        case _:
            # Drop tail has no parameters; those of the others are in the service flow's entry,
            # or the controller's alone.
            pass
    if flow.sub_queues is not None:
        yield _flow_queues(flow)


def fixed(value: float, one: int) -> int:
    """A number as it was written, in fixed point with this 1.0, rounded to the nearest."""
    return round(Fraction(repr(value)) * one)


def reciprocal(low: int, high: int) -> int:
    """2^32 / (high - low), rounded down, for the pipeline to divide by the distance.

    A distance of 1 has nothing in between to be divided, so that its 2^32 need not fit.
    """
    return min(2**32 // (high - low), _LARGEST_RECIPROCAL)


def _entry(flow: ServiceFlow, table: str, action: str, **params: int) -> TableEntry:
    return TableEntry(table, {"service_flow": flow.index}, action, params)


def _codel(flow: ServiceFlow, control: str, management: Codel | CodelDt) -> TableEntry:
    return _entry(
        flow,
        f"{control}.parameters",
        # There are two of that name.
        f"{control}.set_codel",
        latency_target=management.target // 1000,
        control_interval=management.interval // 1000,
    )


def _codel_002(flow: ServiceFlow, management: Codel002) -> Iterator[TableEntry]:
    """Yields the entries of the arrival and of the departure."""
    interval = management.interval // 1000
    yield _entry(flow, f"{CODEL_002}.parameters", "set_interval", control_interval=interval)
    yield _entry(
        flow,
        CODEL_002_DEPARTURE,
        "set_codel_002",
        latency_target=management.target // 1000,
        control_interval=interval,
    )


def _pie_002(flow: ServiceFlow, management: Pie002) -> TableEntry:
    return _entry(
        flow,
        PIE_002,
        "set_pie_002",
        dq_threshold=management.dq_threshold,
        max_burst=management.max_burst // 1000,
    )


def _adaptive_red(flow: ServiceFlow, management: AdaptiveRed) -> TableEntry:
    low, high = management.thresholds(flow.buffer_size)
    return _entry(
        flow,
        ADAPTIVE_RED,
        "set_red",
        min_threshold=low,
        max_threshold=high,
        weight=fixed(management.weight, WEIGHT_ONE),
        threshold_reciprocal=reciprocal(low, high),
    )


def _lred(flow: ServiceFlow, management: Lred) -> TableEntry:
    low, high = _measure(management.min_threshold), _measure(management.max_threshold)
    return _entry(
        flow,
        LRED,
        "set_depth_curve" if management.by_depth else "set_sojourn_curve",
        min_threshold=low,
        max_threshold=high,
        min_probability=fixed(management.min_probability, PROBABILITY_ONE),
        max_probability=fixed(management.max_probability, PROBABILITY_ONE),
        threshold_reciprocal=reciprocal(low, high),
    )


def _measure(threshold: BufferLimit) -> int:
    """Bytes, or microseconds."""
    if threshold.time is not None:
        return threshold.time // 1000
    assert threshold.size is not None
    return threshold.size


def _flow_queues(flow: ServiceFlow) -> TableEntry:
    given = flow.sub_queues
    assert given is not None
    if given.search:
        return _entry(
            flow,
            FLOW_QUEUES,
            "set_searched",
            first_queue=given.first,
            groups=given.queues // SEARCHED_GROUP,
            multiplier=given.multiplier,
            queue_limit=_queue_limit(flow, given),
        )
    return _entry(
        flow,
        FLOW_QUEUES,
        "set_hashed",
        first_queue=given.first,
        queues=given.queues,
        multiplier=given.multiplier,
        queue_limit=_queue_limit(flow, given),
    )


def _queue_limit(flow: ServiceFlow, given: SubQueues) -> int:
    """Bytes that a sub-queue may hold; room for a frame at least."""
    return max(flow.buffer_size // given.queues, MAX_FRAME) if given.divided else flow.buffer_size
