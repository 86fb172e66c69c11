# SPDX-License-Identifier: Apache-2.0
"""Table entries that a service flow's queue management needs, in front of the flow's own."""

from collections.abc import Iterator
from typing import Final

from docsis_control.config.models import MAX_FRAME
from docsis_control.plan import ServiceFlow, SubQueues
from docsis_control.queue_managers.flow_queues import SEARCHED_GROUP
from docsis_control.queue_managers.registry import MODELS
from docsis_control.queue_managers.table_entries import entry
from docsis_control.tables import TableEntry

FLOW_QUEUES: Final = "FrameIngress.flow_queue.flow_queues"


def lasting() -> Iterator[TableEntry]:
    """Yields the entries that stay as long as a device runs, whichever flows it has."""
    for model in MODELS.values():
        yield from model.lasting()


def entries(flow: ServiceFlow) -> Iterator[TableEntry]:
    """Yields the pipeline's entries for a service flow's queue manager and flow queues."""
    yield from flow.management.entries(flow)
    if flow.sub_queues is not None:
        yield _flow_queues(flow)


def _flow_queues(flow: ServiceFlow) -> TableEntry:
    given = flow.sub_queues
    assert given is not None
    if given.search:
        return entry(
            flow,
            FLOW_QUEUES,
            "set_searched",
            first_queue=given.first,
            groups=given.queues // SEARCHED_GROUP,
            multiplier=given.multiplier,
            queue_limit=_queue_limit(flow, given),
        )
    return entry(
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
