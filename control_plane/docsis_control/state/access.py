# SPDX-License-Identifier: Apache-2.0
"""What the controller needs of a device's state, however it is reached."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from docsis_control.law.service_flows import Readings, Settings


@dataclass(frozen=True)
class BucketState:
    """A sustained rate's token bucket to start a service flow with.

    Attributes:
        tokens: In 1/8,000,000 byte.
        updated_us: The switch's time when it held them, microseconds; None is now.
    """

    tokens: int
    updated_us: int | None = None


class StateAccess(Protocol):
    """State of the service flows of one device, in the order it was made for.

    All methods raise ConnectionLost when the device went away.
    """

    name: str
    """"registers" or "packets", for the record."""

    def of(self, service_flows: Sequence[int]) -> "StateAccess":
        """Access to other service flows of the same device."""

    async def provision(self, buckets: Sequence[BucketState]) -> None:
        """Starts every service flow afresh; they must carry no traffic yet."""

    async def restart_codel(self) -> None:
        """Starts CoDel afresh on service flows that it does not manage yet."""

    async def read(self) -> Readings:
        """Reads all service flows."""

    async def write(self, settings: Settings) -> None:
        """Writes the controller's registers of all service flows, and the heartbeat."""
