# SPDX-License-Identifier: Apache-2.0
"""Numbers that service flows have as long as they live: indexes in registers, SFIDs, sub-queues.

What comes and goes at run time must not move what stays: a service flow's counters,
registers and queue are known by its index, and its SFID by the operator.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from docsis_control.modem_config.provisioned import Direction

SERVICE_FLOWS: Final = 4095
"""Indexes of a device's pipeline; 0 is none (p4src/include/sizes.p4)."""

SUB_QUEUES: Final = 8192
"""A device's pool of flow queues (p4src/include/sizes.p4)."""

GENERATIONS: Final = 256
"""The pipeline counts them in a byte."""

FlowKey = tuple[int, Direction, int]
"""Number of the modem, direction, Service Flow Reference."""


DIRECTIONS: Final[tuple[Direction, ...]] = ("upstream", "downstream")


class NoRoomError(ValueError):
    """A device has no index left, or not enough sub-queues."""


@dataclass(frozen=True)
class Numbers:
    """Numbers by service flow.

    Attributes:
        indexes: Unique within a direction, from 1.
        sfids: Unique in the deployment, from 1; never given again.
        next_sfid: SFID that the next service flow gets.
        ranges: Sub-queues that were given to it, the last and largest for its frames; those
            before may hold frames that came earlier. Within a direction they are disjoint.
    """

    indexes: Mapping[FlowKey, int] = field(default_factory=lambda: MappingProxyType({}))
    sfids: Mapping[FlowKey, int] = field(default_factory=lambda: MappingProxyType({}))
    next_sfid: int = 1
    ranges: Mapping[FlowKey, tuple[range, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def assigned(
        self, flows: Iterable[FlowKey], queues: Mapping[FlowKey, int] | None = None
    ) -> "Numbers":
        """Numbers for exactly these service flows; those that had numbers keep them.

        A new service flow gets the lowest index that is free.

        Args:
            flows: All that there are.
            queues: How many flow queues some of them have; they get the first range that is
                free, and keep it as long as they live, whatever manages them.

        Raises:
            NoRoomError: There is no index left in a direction, or no range of sub-queues.
        """
        flows = list(flows)
        return self.changed(self.indexes.keys() - set(flows), flows, queues)

    def changed(
        self,
        gone: Iterable[FlowKey],
        flows: Iterable[FlowKey],
        queues: Mapping[FlowKey, int] | None = None,
    ) -> "Numbers":
        """`assigned`, where most service flows stay as they are.

        Args:
            gone: Service flows that are no longer there.
            flows: Service flows that are new, and any others.
            queues: How many flow queues some of `flows` have.

        Raises:
            NoRoomError: See `assigned`.
        """
        indexes, sfids = dict(self.indexes), dict(self.sfids)
        for key in gone:
            del indexes[key], sfids[key]
        free = {direction: self._free(direction) for direction in DIRECTIONS}
        next_sfid = self.next_sfid
        for key in flows:
            if key not in indexes:
                indexes[key] = next(free[key[1]])
                sfids[key] = next_sfid
                next_sfid += 1
        ranges = self._ranges(indexes, queues or {})
        return Numbers(
            MappingProxyType(indexes),
            MappingProxyType(sfids),
            next_sfid,
            MappingProxyType(ranges),
        )

    def _free(self, direction: Direction) -> Iterator[int]:
        """Indexes that a new service flow can have, the lowest first."""
        # The index of a flow that is deleted now is free from the next change on: while this one is
        # made, the device has the old flow and the new ones.
        taken = {index for key, index in self.indexes.items() if key[1] == direction}
        for index in range(1, SERVICE_FLOWS + 1):
            if index not in taken:
                yield index
        raise NoRoomError(
            f"there are more than {SERVICE_FLOWS} {direction} service flows, for which "
            "the pipeline has room"
        )

    def _ranges(
        self, flows: Container[FlowKey], queues: Mapping[FlowKey, int]
    ) -> dict[FlowKey, tuple[range, ...]]:
        """Sub-queues of those that are, had them, or need them now."""
        ranges = {key: given for key, given in self.ranges.items() if key in flows}
        # As with indexes, what goes leaves its sub-queues for the next time.
        pools = {
            direction: _Pool(
                direction,
                [r for key, given in self.ranges.items() if key[1] == direction for r in given],
            )
            for direction in DIRECTIONS
        }
        for key, wanted in queues.items():
            given = ranges.get(key, ())
            if not given or len(given[-1]) < wanted:
                ranges[key] = (*given, pools[key[1]].take(wanted))
        return ranges


class _Pool:
    """The sub-queues of a device."""

    def __init__(self, direction: Direction, taken: Iterable[range]) -> None:
        self._direction = direction
        self._taken = sorted(taken, key=lambda r: r.start)

    def take(self, wanted: int) -> range:
        """The first that are free, one behind the other."""
        first = place = 0
        for given in self._taken:
            if given.start - first >= wanted:
                break
            first = given.stop
            place += 1
        if first + wanted > SUB_QUEUES:
            free = SUB_QUEUES - sum(map(len, self._taken))
            raise NoRoomError(
                f"there is no room for {wanted} more flow queues {self._direction}: the pipeline "
                f"has {SUB_QUEUES}, {free} of which are free, but not {wanted} side by side"
                if free >= wanted
                else f"there is no room for {wanted} more flow queues {self._direction}: the "
                f"pipeline has {SUB_QUEUES}, {free} of which are free"
            )
        found = range(first, first + wanted)
        self._taken.insert(place, found)
        return found
