# SPDX-License-Identifier: Apache-2.0
"""Requests in turn of a plan: between which hosts, from which ports, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from docsis_experiments.traffic.senders import UdpRequests

FIRST_REQUEST_PORT: Final = 7001
"""UDP port of the first one's server; each has the next one."""

FIRST_ASKING_PORT: Final = 18_001
"""UDP port of the first one that asks; each has the next one."""


@dataclass(frozen=True)
class PlannedRequests:
    """Requests from one host to another.

    Attributes:
        group: Group of the traffic.
        name: For files.
        source: Name of the host that asks.
        destination: Name of the host that answers.
        number: From 0 on, which tells its ports.
        requests: What is asked.
        idle: Seconds of the run's idle time, in which it asks from the run's start on.
        start, end: Seconds of the run in which it asks after that; an end of None is the run's.
        start_spread: As of `Planned`.
    """

    group: str
    name: str
    source: str
    destination: str
    number: int
    requests: UdpRequests
    idle: float
    start: float
    end: float | None
    start_spread: float = 0.0

    @property
    def port(self) -> int:
        """The server's port."""
        return FIRST_REQUEST_PORT + self.number

    @property
    def asking_port(self) -> int:
        """The client's port."""
        return FIRST_ASKING_PORT + self.number

    @property
    def times(self) -> tuple[tuple[float, float | None], ...]:
        """From when to when it asks, seconds of the run."""
        loaded = (self.start, self.end)
        return ((0.0, self.idle), loaded) if self.idle else (loaded,)
