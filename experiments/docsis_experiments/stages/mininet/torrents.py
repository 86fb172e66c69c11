# SPDX-License-Identifier: Apache-2.0
"""The BitTorrent uploads of a run in Mininet, and what they left."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from docsis_control.config.units import format_duration, format_rate
from docsis_control.modem_config.provisioned import Direction
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.experiment.plan import Planned, fastest_rate
from docsis_experiments.experiment.shared_rates import shared_rates
from docsis_experiments.measurement.record import Received
from docsis_experiments.stages.mininet.samples import read_samples
from docsis_experiments.stages.mininet.traffic import torrents
from docsis_experiments.stages.mininet.traffic.flows import read_retransmitted
from docsis_experiments.stages.mininet.traffic.torrents.session import installed
from docsis_experiments.stages.mininet.traffic.torrents.torrent import size_for
from docsis_experiments.traffic.senders import LedbatTransfers
from docsis_testbed.errors import TestbedError
from docsis_testbed.realtime import PROBE_PRIORITY, real_time
from docsis_testbed.session import Session, wait_until_ready

LEAST_RATE: Final = 16_000
"""bit/s: a block of BitTorrent's, which has 16 KiB, takes 8 s then."""

_MILLISECOND: Final = 1_000_000


def is_upload(planned: Planned) -> bool:
    """Whether a flow is an upload by LEDBAT, which libtorrent sends."""
    return bool(planned.flow.ledbat_target_ns)


def check_torrents(scenario: Scenario) -> None:
    """Refuse what libtorrent cannot do, or what it cannot do here.

    Raises:
        TestbedError: With the group and the key.
    """
    for index, group in enumerate(scenario.traffic):
        sent = next((s.sender for _, _, s in group.flows()), None)
        if not isinstance(sent, LedbatTransfers):
            continue
        if (refusal := _refusal(sent, group.count)) is not None:
            raise TestbedError(f"{scenario.name}: traffic.{index}.{refusal}")
        if not installed():
            raise TestbedError(
                f"{scenario.name}: traffic.{index}: {group.name} is of the kind {group.kind}, "
                "which Mininet's hosts send with libtorrent, and Python cannot import it: run "
                "`make setup`, or run this in virtual time"
            )


def _refusal(sender: LedbatTransfers, count: int) -> str | None:
    """The key that libtorrent cannot have in so many uploads, and why."""
    if sender.round_trip_ns is not None:
        return (
            "round_trip: Mininet delays what comes from a server, and all uploads to it alike; "
            "leave the key out and list `servers` with round trips of their own, or run this in "
            "virtual time"
        )
    if sender.target_ns % _MILLISECOND:
        return (
            f"target: {format_duration(sender.target_ns)} is not a whole number of milliseconds, "
            "which libtorrent's target is; change it, or run this in virtual time"
        )
    if 0 < sender.shared_rate < LEAST_RATE * count:
        return (
            f"rate: an equal part for each upload would be "
            f"{format_rate(sender.shared_rate // count)}, and each needs {format_rate(LEAST_RATE)} "
            "in Mininet; raise it, or run this in virtual time"
        )
    return None


class TorrentTraffic:
    """A group's clients, each a program in its host, and their peers, a program in each server.

    Args:
        session: The switches and hosts.
        planned: Uploads of the plan, with nothing left to chance.
        seconds: Length of the run.
        direction: Which way they go.
    """

    def __init__(
        self, session: Session, planned: Sequence[Planned], seconds: float, direction: Direction
    ) -> None:
        self._session = session
        self._groups: dict[str, list[Planned]] = {}
        for one in planned:
            self._groups.setdefault(one.group, []).append(one)
        self._seconds = seconds
        self._direction = direction

    def start_peers(self) -> list[subprocess.Popen[bytes]]:
        """The peers' programs, which then wait for their clients."""
        started = []
        for name, group in self._groups.items():
            file = self._uploads_file(name)
            torrents.write(self._uploads(group), file)
            for host in _once(one.destination for one in group):
                command = torrents.receive_command(
                    file, self._session.address(host), self._samples_file(name, host)
                )
                started.append(self._start(f"the peers of {name}", host, f"{name}-peers", command))
        return started

    def start_clients(self, origin_ns: int) -> list[subprocess.Popen[bytes]]:
        """The clients' programs.

        Args:
            origin_ns: Start of the run's timetable, wall clock in nanoseconds.
        """
        started = []
        for name, group in self._groups.items():
            for host in _once(one.source for one in group):
                command = torrents.send_command(
                    self._uploads_file(name),
                    self._session.address(host),
                    origin_ns,
                    self._retransmitted_file(name, host),
                )
                what = f"the client of {name}"
                started.append(self._start(what, host, f"{name}-client", command))
        return started

    def _start(
        self, what: str, host: str, name: str, command: Sequence[str]
    ) -> subprocess.Popen[bytes]:
        session, log = self._session, f"utp-{name}-{host}.log"
        process = session.launch(host, real_time(command, PROBE_PRIORITY), log)
        session.watch(f"{what} at {host}", process, session.folder / log)
        wait_until_ready(process, f"{what} at {host}", session.folder / log)
        return process

    def _uploads(self, group: Sequence[Planned]) -> torrents.Uploads:
        # A client has one port, as in reality, and not one for each of its peers.
        ports: dict[str, int] = {}
        for planned in group:
            ports.setdefault(planned.source, planned.flow.source_port)
        rates = {
            self._session.address(host): rate for (_, host), rate in shared_rates(group).items()
        }
        # One upload may have all that its client has, or without a limit all of the service flow.
        carried = fastest_rate(self._session.testbed.topology, self._direction)
        rate = min(carried, max(rates.values(), default=carried))
        return torrents.Uploads(
            target_ms=group[0].flow.ledbat_target_ns // _MILLISECOND,
            rates=rates,
            size=size_for(rate, self._seconds),
            uploads=tuple(
                torrents.Upload(
                    name=planned.flow.name,
                    source=(planned.flow.source, ports[planned.source]),
                    peer=(planned.flow.destination, planned.flow.port),
                    start=planned.flow.start,
                    end=planned.flow.end,
                )
                for planned in group
            ),
        )

    def _uploads_file(self, group: str) -> Path:
        return self._session.folder / f"utp-{group}.json"

    def _samples_file(self, group: str, host: str) -> Path:
        return self._session.folder / f"utp-{group}-{host}-received.csv"

    def _retransmitted_file(self, group: str, host: str) -> Path:
        return self._session.folder / f"utp-{group}-{host}-retransmitted.csv"

    def received(self, start_ns: int) -> dict[str, Received]:
        """Payload by group and upload, on the record's time axis; peers look at their own times.

        Args:
            start_ns: Start of the measured time, wall clock in nanoseconds.
        """
        found: dict[str, Received] = {}
        for name, group in self._groups.items():
            axis = None
            flows: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
            for host in _once(one.destination for one in group):
                times, counts = read_samples(self._samples_file(name, host))
                time_s = (times - start_ns) / 1e9
                # At the first one's times, so that the group has one axis.
                axis = time_s if axis is None else axis
                flows |= {
                    flow: np.interp(axis, time_s, count.astype(np.float64))
                    for flow, count in counts.items()
                }
            assert axis is not None, "a group has a flow"
            ordered = {one.flow.name: flows[one.flow.name] for one in group}
            found[name] = Received(axis, ordered)
        return found

    def retransmitted(self) -> dict[str, dict[str, int]]:
        """uTP packets that were sent again over the whole run, by group and client.

        A client that could not tell is left out, and `faults` tells it.

        Raises:
            TestbedError: A client has left no file, or not a whole one.
        """
        return {
            name: {
                host: count
                for host in _once(one.source for one in group)
                for count in read_retransmitted(self._retransmitted_file(name, host)).values()
            }
            for name, group in self._groups.items()
        }

    def faults(self) -> Iterator[str]:
        """Clients that did not learn how many packets they have sent again, in words.

        Raises:
            TestbedError: As with `retransmitted`.
        """
        told = self.retransmitted()
        for name, group in self._groups.items():
            for host in _once(one.source for one in group):
                if host not in told[name]:
                    yield (
                        f"libtorrent did not tell how many packets the client of {name} at {host} "
                        "has sent again"
                    )


def _once(names: Iterator[str]) -> list[str]:
    """The names in their order, each once."""
    return list(dict.fromkeys(names))
