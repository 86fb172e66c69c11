# SPDX-License-Identifier: Apache-2.0
"""Goodput over time, from the receiving kernel's own count of each TCP connection.

TCP_INFO's tcpi_bytes_received counts payload in order, each byte once, which
is what an application gets; sampled with our clock it lines up with
everything else that is measured. It is read over sock_diag(7), with a socket
made in the server's namespace.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_testbed.errors import TestbedError
from docsis_testbed.namespaces import made_in

SAMPLE_SECONDS: Final = 0.1
"""Time between two samples."""

_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_NLM_F_REQUEST_DUMP: Final = 0x301
_NLMSG_ERROR: Final = 2
_NLMSG_DONE: Final = 3
_INET_DIAG_INFO: Final = 2
_TCP_ESTABLISHED: Final = 1
_NLMSG_HEADER: Final = struct.Struct("=IHHII")
_ATTRIBUTE_HEADER: Final = struct.Struct("=HH")
_DIAG_MESSAGE_BYTES: Final = 72
"""sizeof(struct inet_diag_msg)."""
_BYTES_RECEIVED_OFFSET: Final = 128
"""offsetof(struct tcp_info, tcpi_bytes_received), fixed by the kernel's interface."""


def netlink_socket_in(pid: int) -> socket.socket:
    """A sock_diag socket in the network namespace of a process.

    Raises:
        TestbedError: the namespace cannot be entered, or the kernel has no sock_diag.
    """
    try:
        diag = made_in(
            pid, lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
        )
    except OSError as error:
        raise TestbedError(
            f"the namespace of process {pid} cannot be watched ({error}); "
            "it needs root and a kernel with CONFIG_INET_DIAG"
        ) from None
    diag.settimeout(2.0)
    return diag


def received_bytes(diag: socket.socket, ports: Sequence[int]) -> dict[tuple[int, int], int]:
    """Payload received by established IPv4 TCP connections at local ports.

    Args:
        diag: From `netlink_socket_in`.
        ports: Local TCP ports.

    Returns:
        Bytes by (local port, remote port).

    Raises:
        TestbedError: the kernel refuses.
    """
    request = struct.pack(
        "=BBBBI48s",
        socket.AF_INET,
        socket.IPPROTO_TCP,
        1 << (_INET_DIAG_INFO - 1),
        0,
        1 << _TCP_ESTABLISHED,
        bytes(48),
    )
    header = _NLMSG_HEADER.pack(
        _NLMSG_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, 1, 0
    )
    diag.send(header + request)
    found: dict[tuple[int, int], int] = {}
    while True:
        data = diag.recv(1 << 18)
        offset = 0
        while offset < len(data):
            length, kind, _, _, _ = _NLMSG_HEADER.unpack_from(data, offset)
            if kind == _NLMSG_DONE:
                return found
            if kind == _NLMSG_ERROR:
                raise TestbedError(
                    "the kernel does not tell what TCP received (sock_diag); "
                    "it needs CONFIG_INET_DIAG"
                )
            message = data[offset + _NLMSG_HEADER.size : offset + length]
            local, remote = struct.unpack_from("!HH", message, 4)
            if local in ports:
                count = _bytes_received(message)
                if count is not None:
                    found[local, remote] = count
            offset += (length + 3) & ~3


def _bytes_received(message: bytes) -> int | None:
    offset = _DIAG_MESSAGE_BYTES
    while offset + _ATTRIBUTE_HEADER.size <= len(message):
        length, kind = _ATTRIBUTE_HEADER.unpack_from(message, offset)
        if kind == _INET_DIAG_INFO:
            count: int = struct.unpack_from(
                "=Q", message, offset + _ATTRIBUTE_HEADER.size + _BYTES_RECEIVED_OFFSET
            )[0]
            return count
        offset += (length + 3) & ~3
    return None


@dataclass(frozen=True)
class Watched:
    """A server to watch: a process in its namespace, and its TCP ports."""

    pid: int
    ports: tuple[int, ...]


@dataclass(frozen=True)
class GoodputSeries:
    """Payload received in all, over time.

    Attributes:
        time_ns: Wall clock, nanoseconds.
        total_bytes: Received since the start, by all connections together.
    """

    time_ns: npt.NDArray[np.int64]
    total_bytes: npt.NDArray[np.int64]

    def mbps(self, start_ns: int, end_ns: int) -> float:
        """Mean goodput of a time, Mbit/s; the count is interpolated at its ends."""
        first, last = np.interp([start_ns, end_ns], self.time_ns, self.total_bytes)
        return float((last - first) * 8e3 / (end_ns - start_ns))

    def binned(self, seconds: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Mean goodput of consecutive times.

        Returns:
            The middle of each, nanoseconds, and Mbit/s.
        """
        if self.time_ns.size < 2:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        edges = np.arange(self.time_ns[0], self.time_ns[-1], round(seconds * 1e9))
        totals = np.interp(edges, self.time_ns, self.total_bytes)
        middles = (edges[:-1] + edges[1:]) // 2
        return middles, np.diff(totals) * 8e-6 / seconds


class GoodputSampler:
    """Samples the goodput of servers in a thread, until it is stopped."""

    def __init__(self, servers: Sequence[Watched]) -> None:
        self._servers = [(netlink_socket_in(server.pid), server.ports) for server in servers]
        self._times: list[int] = []
        self._totals: list[int] = []
        # A connection that has ended keeps what it received.
        self._counts: dict[tuple[int, int, int], int] = {}
        self._stop = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="goodput", daemon=True)

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def latest(self) -> int:
        """Bytes received until the last sample."""
        return self._totals[-1] if self._totals else 0

    def stop(self) -> GoodputSeries:
        """End, and return what was sampled.

        Raises:
            TestbedError: sampling failed on the way.
        """
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        for diag, _ in self._servers:
            diag.close()
        if self._error is not None:
            raise TestbedError(f"goodput could not be sampled: {self._error}")
        return GoodputSeries(
            np.array(self._times, dtype=np.int64), np.array(self._totals, dtype=np.int64)
        )

    def _run(self) -> None:
        due = time.monotonic()
        try:
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                self._sample()
                due += SAMPLE_SECONDS
        except (OSError, TestbedError) as error:
            self._error = error

    def _sample(self) -> None:
        for index, (diag, ports) in enumerate(self._servers):
            for (local, remote), count in received_bytes(diag, ports).items():
                self._counts[index, local, remote] = count
        self._times.append(time.time_ns())
        self._totals.append(sum(self._counts.values()))
