# SPDX-License-Identifier: Apache-2.0
"""The load of all service flows between Mininet's hosts, and both counts of what each of them got.

The receiver counts at its sockets; the pipeline's counter `sf_forwarded` is the second measurement,
read at the ends of the same time.
"""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from docsis_experiments.measurement.service_flow_shares import FORWARDED, MeasuredShares
from docsis_experiments.stages.mininet.counters import CounterReader
from docsis_experiments.stages.mininet.samples import counted_between, rate_between, read_samples
from docsis_experiments.stages.mininet.traffic import load
from docsis_experiments.stages.mininet.traffic.receiving import LOST
from docsis_experiments.traffic.service_flow_load import LoadPlan
from docsis_testbed.testbed import Testbed

Start = Callable[[str, Sequence[str]], subprocess.Popen[bytes]]
"""Starts a program of that name, and waits until it is ready."""


@dataclass(frozen=True)
class _Reading:
    """When, wall clock in nanoseconds, each service flow had forwarded how many bytes."""

    time_ns: int
    octets: dict[int, int]


class ServiceFlowTraffic:
    """Loads all service flows of a direction, and tells what each of them got."""

    def __init__(self, testbed: Testbed, folder: Path, plan: LoadPlan, reader: CounterReader):
        """Args: running hosts, a folder for raw files, what is sent, and the counters of the device
        that queues it.
        """
        self._testbed = testbed
        self._streams = folder / "streams.json"
        self._samples = folder / "streams.csv"
        self._start_file = folder / "streams-start"
        self._sender: subprocess.Popen[bytes] | None = None
        self._plan = plan
        self._reader = reader
        self._first = self._last = _Reading(0, {})

    def start(self, start: Start) -> list[subprocess.Popen[bytes]]:
        """The receiver and the sender, which then waits until it is told when to begin.

        Raises:
            TestbedError: One of them ended at its start.
        """
        load.write(streams_of(self._testbed, self._plan), self._streams)
        receiver = start("load-receiver", load.receive_command(self._streams, self._samples))
        command = load.send_command(self._streams, self._start_file)
        self._sender = start("load-sender", command)
        return [receiver, self._sender]

    def tell(self, start_ns: int) -> None:
        """Tell the sender when it begins.

        Args:
            start_ns: Wall clock in nanoseconds.
        """
        assert self._sender is not None, "started"
        load.tell(self._sender, self._start_file, start_ns)

    def begin(self) -> None:
        """The measured time begins."""
        self._first = self._read()

    def end(self) -> None:
        """The measured time ends."""
        self._last = self._read()

    def _read(self) -> _Reading:
        asked = time.time_ns()
        counts = self._reader.counts([item.flow.index for item in self._plan.loads], [FORWARDED])
        middle = (asked + time.time_ns()) // 2
        return _Reading(middle, {index: one[FORWARDED].octets for index, one in counts.items()})

    def shares(self) -> MeasuredShares:
        """Computes every service flow's share, once the programs have ended.

        Raises:
            TestbedError: The receiver has left nothing.
        """
        first, last = self._first, self._last
        times, received = read_samples(self._samples)
        return MeasuredShares.of(
            self._plan,
            {
                item.name: rate_between(times, received[item.name], first.time_ns, last.time_ns)
                for item in self._plan.loads
            },
            {
                index: 8e9 * (octets - first.octets[index]) / (last.time_ns - first.time_ns)
                for index, octets in last.octets.items()
            },
        )

    def lost(self) -> int:
        """Datagrams of the measured time that came and for which the receiver had no room."""
        times, received = read_samples(self._samples)
        return counted_between(times, received[LOST], self._first.time_ns, self._last.time_ns)


def streams_of(testbed: Testbed, plan: LoadPlan) -> list[load.Stream]:
    """The streams of a plan in a testbed."""
    return [
        load.Stream(
            name=item.name,
            transport=item.transport,
            source=(str(item.header.source), item.header.source_port),
            destination=(str(item.header.destination), item.header.destination_port),
            source_pid=testbed.node(item.source).pid,
            destination_pid=testbed.node(item.destination).pid,
            tos=item.header.tos,
            rate=0.0 if math.isinf(item.offered) else item.offered,
            frame_bytes=plan.frame_bytes,
        )
        for item in plan.loads
    ]
