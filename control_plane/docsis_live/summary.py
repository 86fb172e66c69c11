# SPDX-License-Identifier: Apache-2.0
"""A line for each modem: rates, backlog and drops, of all of its service flows.

A neighbourhood has hundreds of service flows. They are read in parts, one of each device at an
update, so that no answer keeps the switch's thread from its packets and the control loop.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from docsis_control.status.model import ServiceFlow
from docsis_live.readings import BOOKS, DeviceReader
from docsis_live.samples import Books
from docsis_live.system import System

_FLOWS_A_READ: Final = 64
_REASONS: Final = 3
"""Number of reasons for drops: queue management, full buffers, and too long a frame."""

_SWEEP_SECONDS: Final = 0.5
"""The service flows of a device are gone through once in this time at the most."""


class _Part:
    """Some service flows of one device."""

    def __init__(self, device: str, flows: Sequence[tuple[str, ServiceFlow]]) -> None:
        self.device = device
        self.flows = flows
        self.indexes = tuple(flow.index for _, flow in flows)


class Summary:
    """Goes through the service flows of all modems."""

    def __init__(self, system: System) -> None:
        """Args: whose modems."""
        self._modems = tuple(system.modems)
        self._parts = {name: list(_parts(system, name)) for name in system.devices}
        self._next = dict.fromkeys(self._parts, 0)
        self._started = dict.fromkeys(self._parts, float("-inf"))
        self._books: dict[int, Books] = {}
        # By SFID: modem, whether upstream, bit/s, backlog, drops.
        self._seen: dict[int, tuple[str, bool, int, int, int]] = {}

    def step(self, device: str, reader: DeviceReader, now: float) -> None:
        """Reads the next part of a device.

        Args:
            device: Name of the device.
            reader: Its reader.
            now: A monotonic clock, seconds.

        Raises:
            NoAnswer: The device does not answer.
        """
        parts, place = self._parts[device], self._next[device]
        if place == 0:
            if not parts or now - self._started[device] < _SWEEP_SECONDS:
                return
            self._started[device] = now
        self._read(parts[place], reader)
        self._next[device] = (place + 1) % len(parts)

    def _read(self, part: _Part, reader: DeviceReader) -> None:
        if reader.device.state_access != "registers":
            for (modem, flow), dropped in zip(part.flows, self._drops(part, reader), strict=True):
                self._seen[flow.sfid] = modem, flow.direction == "upstream", 0, 0, dropped
            return
        cells, at = reader.registers(BOOKS, part.indexes)
        drops = self._drops(part, reader)
        dequeued, enqueued = cells.tolist()
        for column, (modem, flow) in enumerate(part.flows):
            books = Books(at, enqueued[column], dequeued[column])
            rate = books.sent_bps(self._books.get(flow.sfid)) or 0
            self._books[flow.sfid] = books
            up = flow.direction == "upstream"
            self._seen[flow.sfid] = modem, up, rate, books.backlog, drops[column]

    def _drops(self, part: _Part, reader: DeviceReader) -> list[int]:
        """Frames dropped of each service flow of a part."""
        drops: list[int] = reader.drops(part.indexes, _REASONS).sum(axis=0).tolist()
        return drops

    def forget(self, device: str) -> None:
        """A device does not answer: what its service flows did is not what they do."""
        for part in self._parts[device]:
            for _, flow in part.flows:
                self._books.pop(flow.sfid, None)
                self._seen.pop(flow.sfid, None)

    def lines(self) -> list[list[Any]]:
        """Name, bit/s up and down, bytes queued up and down, and frames dropped, for each modem."""
        sums = {modem: [0, 0, 0, 0, 0] for modem in self._modems}
        for modem, up, rate, backlog, dropped in self._seen.values():
            line = sums[modem]
            line[0 if up else 1] += rate
            line[2 if up else 3] += backlog
            line[4] += dropped
        return [[modem, *line] for modem, line in sums.items()]


def _parts(system: System, device: str) -> Iterator[_Part]:
    flows = [
        (modem.name, flow)
        for modem in system.status.modems
        for flow in modem.service_flows
        if flow.device == device
    ]
    for first in range(0, len(flows), _FLOWS_A_READ):
        yield _Part(device, flows[first : first + _FLOWS_A_READ])
