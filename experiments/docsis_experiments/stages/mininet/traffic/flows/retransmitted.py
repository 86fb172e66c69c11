# SPDX-License-Identifier: Apache-2.0
"""Segments that TCP sent again, as the sending kernel counts them for each connection."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

_TOTAL_RETRANSMITTED: Final = struct.Struct("=100xI")
"""The first bytes of struct tcp_info, to the end of tcpi_total_retrans; the kernel's interface
fixes where that is (linux/tcp.h)."""


def segments_sent_again(connection: socket.socket) -> int:
    """How many segments a TCP socket has sent again since it was connected."""
    size = _TOTAL_RETRANSMITTED.size
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
    count: int = _TOTAL_RETRANSMITTED.unpack(info)[0]
    return count


class Retransmitted:
    """Counts the segments that each flow has sent again, over all of its connections.

    Flows count in threads of their own; whoever asks, asks in another.
    """

    def __init__(self, flows: Iterable[str]) -> None:
        """Args: names of the flows."""
        self._lock = Lock()
        self._closed = dict.fromkeys(flows, 0)
        self._open: dict[str, socket.socket] = {}

    @contextmanager
    def counting(self, flow: str, connection: socket.socket) -> Iterator[None]:
        """Counts a flow's connection, which must not be closed within the block."""
        with self._lock:
            self._open[flow] = connection
        try:
            yield
        finally:
            with self._lock:
                del self._open[flow]
                self._closed[flow] += segments_sent_again(connection)

    def counts(self) -> dict[str, int]:
        """Returns the segments that each flow has retransmitted so far."""
        with self._lock:
            found = dict(self._closed)
            for flow, connection in self._open.items():
                found[flow] += segments_sent_again(connection)
            return found
