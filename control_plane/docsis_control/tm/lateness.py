# SPDX-License-Identifier: Apache-2.0
"""Lateness of a switch, as docsis.tm.v1 tells it, with its quantiles and differences."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

METHOD: Final = "/docsis.tm.v1.TrafficManager/GetLateness"


@dataclass(frozen=True)
class Lateness:
    """Departures and arrivals on delay lines, by how long after their due time they happened.

    Attributes:
        buckets: Upper end of each bucket's lateness, nanoseconds, and how many were that late:
            ascending, and only those with a count.
        most_ns: The largest lateness, nanoseconds.
        bound_ns: A switch that is later than this lets time jump, nanoseconds.
        jumps: How often time jumped.
        jumped_ns: How far in sum, nanoseconds.
    """

    buckets: tuple[tuple[int, int], ...]
    most_ns: int
    bound_ns: int
    jumps: int
    jumped_ns: int

    @property
    def events(self) -> int:
        """Number of events that were counted."""
        return sum(count for _, count in self.buckets)

    def quantile_ns(self, share: float) -> int:
        """The lateness that a share of them did not exceed, within an eighth; 0 where none was.

        Args:
            share: A share from 0 to 1.
        """
        rank = math.ceil(self.events * share)
        for upto, reached in self._cumulative():
            if reached >= rank:
                return min(upto, self.most_ns)
        return 0

    def since(self, before: "Lateness") -> "Lateness":
        """The lateness since an earlier answer of the same switch.

        The largest lateness is exact where it is the largest of the switch's life, and else that
        of the highest bucket.

        Raises:
            ValueError: The answer is not an earlier one: the switch was started again in between.
        """
        gone = dict(before.buckets)
        counts = {upto: count - gone.pop(upto, 0) for upto, count in self.buckets}
        if gone or any(count < 0 for count in counts.values()) or self.jumps < before.jumps:
            raise ValueError("the switch was started again, so its lateness counts from there")
        buckets = tuple((upto, count) for upto, count in counts.items() if count)
        highest = min(buckets[-1][0], self.most_ns) if buckets else 0
        return Lateness(
            buckets=buckets,
            most_ns=self.most_ns if self.most_ns > before.most_ns else highest,
            bound_ns=self.bound_ns,
            jumps=self.jumps - before.jumps,
            jumped_ns=self.jumped_ns - before.jumped_ns,
        )

    def _cumulative(self) -> Iterator[tuple[int, int]]:
        reached = 0
        for upto, count in self.buckets:
            reached += count
            yield upto, reached


def request(device_id: int) -> bytes:
    """The request for a device's lateness, for a method that takes bytes."""
    encoded: bytes = _messages().GetLatenessRequest(device_id=device_id).SerializeToString()
    return encoded


def lateness_from(answer: bytes) -> Lateness:
    """Reads a docsis.tm.v1.GetLatenessResponse."""
    message = _messages().GetLatenessResponse.FromString(answer)
    return Lateness(
        buckets=tuple((bucket.upto_ns, bucket.count) for bucket in message.buckets),
        most_ns=message.most_ns,
        bound_ns=message.bound_ns,
        jumps=message.jumps,
        jumped_ns=message.jumped_ns,
    )


def now_ns(answer: bytes) -> int:
    """The device's clock in a docsis.tm.v1.GetLatenessResponse, nanoseconds."""
    return int(_messages().GetLatenessResponse.FromString(answer).now_ns)


def _messages() -> Any:
    try:
        from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2
    except ImportError as error:
        raise RuntimeError(
            f"the messages of docsis.tm.v1 are not there ({error}); run make setup"
        ) from None
    return traffic_manager_pb2
