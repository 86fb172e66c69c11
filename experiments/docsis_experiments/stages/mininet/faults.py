# SPDX-License-Identifier: Apache-2.0
"""The faults in the measuring of a run, in words; such a run gets no verdict. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from docsis_experiments.experiment.plan import Plan
from docsis_experiments.stages.mininet.traffic.capture import Counted, End
from docsis_experiments.stages.mininet.traffic.irtt import Probes

END_SLACK_SECONDS: Final = 0.1
"""How long after its end a flow may have sent: programs are woken late, and kernels stamp later."""

_PLACES: Final[Mapping[End, str]] = {"sender": "the senders", "receiver": "the receivers"}


def lost_by_capture(counts: Mapping[End, Counted]) -> Iterator[str]:
    """Packets that the capture was shown and had no room for."""
    for end, counted in counts.items():
        if counted.lost:
            yield (
                f"the capture had no room for {counted.lost} of {counted.packets} packets at "
                f"{_PLACES[end]}, so latency and loss are not those of all"
            )


def lost_by_receivers(datagrams: int, what: str) -> Iterator[str]:
    """Datagrams that came to the receivers' sockets, which had no room for them.

    Args:
        datagrams: How many.
        what: What is wrong because of them, with its verb.
    """
    if datagrams:
        yield (
            f"the receivers' sockets had no room for {datagrams} datagrams that arrived, so "
            f"{what} not that of all"
        )


def sent_too_long(plan: Plan, last_sent_s: Mapping[int, float]) -> Iterator[str]:
    """Flows that sent after their end.

    Args:
        plan: With the flows' ends.
        last_sent_s: By port, when the last packet of the flow left its host, seconds since the
            start of the measured time.
    """
    for planned in plan.flows:
        flow, last = planned.flow, last_sent_s.get(planned.flow.port)
        if flow.end is None or last is None:
            continue
        late = last - (flow.end - plan.measured_from)
        if late > END_SLACK_SECONDS:
            yield f"{flow.name} went on sending for {late:.1f} s after its end"


def of_calls(calls: Iterable[tuple[str, Probes]]) -> Iterator[str]:
    """Calls that sent nothing, or whose packets' fate nobody knows.

    Args:
        calls: Name and the packets that were sent in the measured time.
    """
    for name, probes in calls:
        if not probes.sent_ns.size:
            yield f"the call {name} sent nothing in the measured time"
        elif probes.undetermined:
            yield (
                f"no reply came to the last {probes.undetermined} packets of the call {name}; they "
                "count as lost"
            )
