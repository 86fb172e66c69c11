# SPDX-License-Identifier: Apache-2.0
"""The common part of receivers: sockets in hosts' namespaces, counts, and samples on time."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Final

from docsis_testbed.namespaces import made_in

SAMPLE_SECONDS: Final = 0.1

LOST: Final = "lost datagrams"
"""Column of the samples, beside the flows': datagrams so far for which a socket had no room. They
came, and nobody counted them."""

_SO_MEMINFO: Final = 55
_MEMORY: Final = struct.Struct("=32xI")
"""Format of SO_MEMINFO's answer, of which SK_MEMINFO_DROPS is read."""

_CHUNK: Final = 1 << 17
_BUFFER: Final = 8 << 20
_SO_RCVBUFFORCE: Final = 33
_TURN: Final = 64
"""Datagrams of a socket until the others have their turn."""

Handler = Callable[[socket.socket], None]


def make_room(made: socket.socket) -> None:
    """Let a socket hold what comes while the program waits for a processor."""
    made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)


def bound(pid: int, address: tuple[str, int], kind: socket.SocketKind) -> socket.socket:
    """A socket in the namespace of a process, bound to an IPv4 address and port.

    Raises:
        OSError: it cannot be had.
    """
    made = made_in(pid, lambda: socket.socket(socket.AF_INET, kind))
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if kind is socket.SOCK_DGRAM:
        make_room(made)
    made.bind(address)
    return made


class ReceivingSockets:
    """Sockets that are read as data arrives, between samples of what was counted.

    Args:
        flows: How many are counted.

    Attributes:
        counted: Bytes of each so far.
        scratch: What was read last.
    """

    def __init__(self, flows: int) -> None:
        self.counted = [0] * flows
        self.scratch = bytearray(_CHUNK)
        self._selector = selectors.DefaultSelector()
        self._datagrams: list[socket.socket] = []

    def watch(self, made: socket.socket, handle: Handler) -> None:
        """Have a socket handled whenever it can be read."""
        made.setblocking(False)
        self._selector.register(made, selectors.EVENT_READ, handle)

    def unwatch(self, made: socket.socket) -> None:
        """The end of `watch`; the socket stays open."""
        self._selector.unregister(made)

    def count_datagrams(
        self, made: socket.socket, flow: int, length: Callable[[int], int] = int
    ) -> None:
        """Count a UDP socket's datagrams.

        Args:
            made: The socket.
            flow: Which count they go to.
            length: From bytes of payload to the bytes that are counted; the payload unless given.
        """

        def count(made: socket.socket) -> None:
            for _ in range(_TURN):
                try:
                    self.counted[flow] += length(made.recv_into(self.scratch))
                except (BlockingIOError, ConnectionRefusedError):
                    return

        self._datagrams.append(made)
        self.watch(made, count)

    def lost(self) -> int:
        """Datagrams so far that came and for which a socket had no room."""
        drops = 0
        for made in self._datagrams:
            answer = made.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMORY.size)
            drops += _MEMORY.unpack(answer)[0]
        return drops

    def ticks(self) -> Iterator[int]:
        """Serve the sockets; whenever a sample is due, the wall clock's nanosecond."""
        due = time.monotonic()
        while True:
            for key, _ in self._selector.select(max(0.0, due - time.monotonic())):
                key.data(key.fileobj)
            if time.monotonic() >= due:
                yield time.time_ns()
                due += SAMPLE_SECONDS
