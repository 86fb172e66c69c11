# SPDX-License-Identifier: Apache-2.0
"""The faults in the measuring of a run, in words; such a run gets no verdict. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.experiment.plan import Plan
from docsis_experiments.stages.mininet.traffic.capture import Counted, End
from docsis_experiments.stages.mininet.traffic.irtt import Probes
from docsis_experiments.traffic.senders import CALL_INTERVAL_MS

END_SLACK_SECONDS: Final = 0.1
"""How long after its end a flow may have sent: programs are woken late, and kernels stamp later."""

START_SLACK_SECONDS: Final = 1.0
"""How long after the start of the measured time the last program may be ready. Without a ramp-up
no program can be ready before it, and a second is a small part of what is measured."""

LONGEST_GAP_SECONDS: Final = 1.0
"""How long a receiver may write no sample; it writes ten a second."""

CALL_SHARE: Final = 0.98
"""The share of its packets that a call has to send. irtt skips a packet when it wakes too late."""

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


def started_late(seconds: float) -> Iterator[str]:
    """Programs that were not ready when their traffic was to be measured.

    Args:
        seconds: How long after the start of the measured time the last one was ready.
    """
    if seconds > START_SLACK_SECONDS:
        yield (
            f"the last program was ready {seconds:.1f} s after the start of the measured time, so "
            "less was sent than is described"
        )


def without_samples(times_ns: npt.NDArray[np.int64], start_ns: int, end_ns: int) -> Iterator[str]:
    """A receiver that wrote no samples for some of the measured time.

    Args:
        times_ns: The times of its samples, in order, wall clock in nanoseconds.
        start_ns: Start of the measured time.
        end_ns: Its end.
    """
    samples = np.clip(times_ns, start_ns, end_ns)
    longest = float(np.max(np.diff(np.concatenate(([start_ns], samples, [end_ns]))))) / 1e9
    if longest > LONGEST_GAP_SECONDS:
        yield (
            f"the receiver wrote no sample for {longest:.1f} s of the measured time, so goodput is "
            "not known"
        )


def of_calls(calls: Iterable[tuple[str, Probes]], seconds: float) -> Iterator[str]:
    """Calls that sent nothing or too little, or whose packets' fate nobody knows.

    Args:
        calls: Name and the packets that were sent in the measured time.
        seconds: How long that was.
    """
    due = round(seconds * 1000 / CALL_INTERVAL_MS)
    for name, probes in calls:
        if not probes.sent_ns.size:
            yield f"the call {name} sent nothing in the measured time"
            continue
        if probes.sent_ns.size < CALL_SHARE * due:
            yield f"the call {name} sent {probes.sent_ns.size} of {due} packets"
        if probes.undetermined:
            yield (
                f"no reply came to the last {probes.undetermined} packets of the call {name}; they "
                "count as lost"
            )
