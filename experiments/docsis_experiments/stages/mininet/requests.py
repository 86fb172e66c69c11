# SPDX-License-Identifier: Apache-2.0
"""Requests in turn of a run in Mininet, and how long their replies took."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from docsis_experiments.experiment.requests import PlannedRequests
from docsis_experiments.measurement.record import Packets
from docsis_experiments.stages.mininet.traffic import requests
from docsis_testbed.session import Session

Start = Callable[[str, Sequence[str]], subprocess.Popen[bytes]]
"""Starts a program outside of hosts, and waits until it is ready."""


class RequestTraffic:
    """One program that answers all requests, and one for each that asks.

    Args:
        session: The switches and hosts.
        planned: Planned requests, with nothing left to chance.
    """

    def __init__(self, session: Session, planned: Sequence[PlannedRequests]) -> None:
        self._session = session
        self._planned = planned

    def start(self, start: Start, origin_ns: int) -> list[subprocess.Popen[bytes]]:
        """All programs.

        Args:
            start: Starts one.
            origin_ns: Start of the run's timetable, wall clock in nanoseconds.
        """
        if not self._planned:
            return []
        file = self._session.folder / "requests.json"
        requests.write([self._placed(one, origin_ns) for one in self._planned], file)
        servers = start("request-servers", requests.serve_command(file))
        clients = [
            start(
                f"requests-{one.name}", requests.ask_command(file, number, self._round_trips(one))
            )
            for number, one in enumerate(self._planned)
        ]
        return [servers, *clients]

    def _placed(self, planned: PlannedRequests, origin_ns: int) -> requests.Requests:
        session = self._session
        node = session.testbed.node

        def at(second: float) -> int:
            return origin_ns + round(second * 1e9)

        return requests.Requests(
            source=(session.address(planned.source), planned.asking_port),
            destination=(session.address(planned.destination), planned.port),
            source_pid=node(planned.source).pid,
            destination_pid=node(planned.destination).pid,
            times=tuple(
                (at(start), None if end is None else at(end)) for start, end in planned.times
            ),
            timeout_ns=round(planned.requests.timeout * 1e9),
            request=planned.requests.request,
            response=planned.requests.response,
        )

    def _round_trips(self, planned: PlannedRequests) -> Path:
        return self._session.folder / f"requests-{planned.name}.csv"

    def round_trips(self, start_ns: int) -> dict[str, Packets]:
        """By group, on the record's time axis.

        Args:
            start_ns: Start of the measured time, wall clock in nanoseconds.
        """
        found: dict[str, list[Packets]] = {}
        for planned in self._planned:
            rows = requests.read_round_trips(self._round_trips(planned))
            sent = np.array([asked - start_ns for asked, _ in rows], dtype=np.float64) / 1e9
            took = [np.nan if end is None else (end - asked) / 1e6 for asked, end in rows]
            found.setdefault(planned.group, []).append(Packets(sent, np.array(took, np.float64)))
        return {group: Packets.together(parts) for group, parts in found.items()}
