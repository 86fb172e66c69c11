# SPDX-License-Identifier: Apache-2.0
"""The controller's access to a device's state, however it is reached."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from docsis_control.law.law import law_of
from docsis_control.law.readings import Readings, Settings
from docsis_control.p4rt.device import Entrance
from docsis_control.plan import ServiceFlow


@dataclass(frozen=True)
class BucketState:
    """A sustained rate's token bucket to start a service flow with.

    Attributes:
        tokens: Tokens in 1/8,000,000 byte.
        updated_us: The switch's time when it held them, microseconds; None is now.
    """

    tokens: int
    updated_us: int | None = None


def needs(flow: ServiceFlow) -> tuple[str, ...]:
    """Fields of `Readings` that its law asks for besides those that all service flows have."""
    return law_of(flow).reads


def owns(flow: ServiceFlow) -> tuple[str, ...]:
    """Registers that its law asks for by their names in P4."""
    return law_of(flow).own


class Clock(Protocol):
    """A switch's clock: as this process makes it out, or in a world the world's own."""

    def now(self) -> int:
        """The switch's time now: microseconds, at least 1."""


class TickAccess(Protocol):
    """State of the service flows of one device, for whoever waits for each answer himself.

    Both methods raise ConnectionLost when the device went away, and P4RuntimeError when it refused.
    """

    def read(self) -> Readings:
        """Reads all service flows."""

    def write(self, settings: Settings) -> None:
        """Writes the controller's registers of all service flows, and the heartbeat."""


class StateAccess(Protocol):
    """State of the service flows of one device, in the order it was made for.

    All methods raise ConnectionLost when the device went away. Whoever changes something, in a
    task or in the thread of the control loop, has the device's turn.
    """

    name: str
    """"registers" or "packets", for the record."""

    def of(self, service_flows: Sequence[ServiceFlow]) -> "StateAccess":
        """Access to other service flows of the same device."""

    async def provision(self, buckets: Sequence[BucketState]) -> None:
        """Starts every service flow afresh; they must carry no traffic yet."""

    async def calm(self) -> None:
        """Writes 0 for drop_prob, qdelay_old and burst_allowance of all service flows.

        For those whose law is about to start afresh: a probability of one law is never taken for
        another's. The new one writes its own at the next tick.
        """

    async def clear_queues(self, queues: Sequence[int]) -> None:
        """Starts sub-queues of the device's pool afresh; no frame may be in them.

        A target without the traffic manager's service has none.
        """

    def bucket_updates(self, buckets: Sequence[BucketState]) -> list[tuple[Any, str]]:
        """Updates that make the pipeline's copy of each bucket hold this, with names for messages.

        They are for a batch that is written at once, while frames may pass. What leaves between the
        reading of a bucket and the batch is not known, so it counts as much as the burst's rate
        allows: a copy that is too low is right again when the bucket is empty or full, one that is
        too high only when it is full. A target without registers has none.
        """

    async def read(self) -> Readings:
        """Reads all service flows."""

    def ticks(self, entrance: Entrance) -> TickAccess:
        """The same for the ticks of a control loop.

        Args:
            entrance: The loop's own way to the device, where the target has what it takes.
        """
