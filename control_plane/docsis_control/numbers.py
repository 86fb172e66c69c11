# SPDX-License-Identifier: Apache-2.0
"""Numbers that service flows have as long as they live: indexes in registers, and SFIDs.

What comes and goes at run time must not move what stays: a service flow's counters,
registers and queue are known by its index, and its SFID by the operator.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from docsis_control.modem_config.provisioned import Direction

SERVICE_FLOWS: Final = 4095
"""Indexes of a device's pipeline; 0 is none (p4src/cm.p4, p4src/cmts.p4)."""

FlowKey = tuple[int, Direction, int]
"""Number of the modem, direction, Service Flow Reference."""


class NoRoomError(ValueError):
    """A device has no index left."""


@dataclass(frozen=True)
class Numbers:
    """Numbers by service flow.

    Attributes:
        indexes: Unique within a direction, from 1.
        sfids: Unique in the deployment, from 1; never given again.
        next_sfid: What the next service flow gets.
    """

    indexes: Mapping[FlowKey, int] = field(default_factory=lambda: MappingProxyType({}))
    sfids: Mapping[FlowKey, int] = field(default_factory=lambda: MappingProxyType({}))
    next_sfid: int = 1

    def assigned(self, flows: Iterable[FlowKey]) -> "Numbers":
        """Numbers for exactly these service flows; those that had numbers keep them.

        A new service flow gets the lowest index that is free.

        Raises:
            NoRoomError: There is no index left in a direction.
        """
        flows = list(flows)
        indexes = {key: self.indexes[key] for key in flows if key in self.indexes}
        sfids = {key: self.sfids[key] for key in indexes}
        taken: dict[Direction, set[int]] = {"upstream": set(), "downstream": set()}
        # What goes leaves its index for the next time: for a moment the device has both.
        for key, index in self.indexes.items():
            taken[key[1]].add(index)
        lowest: dict[Direction, int] = {"upstream": 1, "downstream": 1}
        next_sfid = self.next_sfid
        for key in flows:
            if key in indexes:
                continue
            direction = key[1]
            while lowest[direction] in taken[direction]:
                lowest[direction] += 1
            if lowest[direction] > SERVICE_FLOWS:
                raise NoRoomError(
                    f"there are more than {SERVICE_FLOWS} {direction} service flows, for which "
                    "the pipeline has room"
                )
            taken[direction].add(lowest[direction])
            indexes[key] = lowest[direction]
            sfids[key] = next_sfid
            next_sfid += 1
        return Numbers(MappingProxyType(indexes), MappingProxyType(sfids), next_sfid)
