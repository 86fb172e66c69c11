# SPDX-License-Identifier: Apache-2.0
"""The receiver of flows: payload of each, and how long messages took."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import IO

from docsis_experiments.stages.mininet.traffic.flows import MESSAGE, Flow
from docsis_experiments.stages.mininet.traffic.receiving import (
    LOST,
    Handler,
    ReceivingSockets,
    bound,
)


class Receiver:
    """Counts the payload of each flow, and times messages."""

    def __init__(self, flows: Sequence[Flow], messages: IO[str]) -> None:
        """Opens the sockets.

        Raises:
            OSError: one cannot be had.
        """
        self._flows = flows
        self._sockets = ReceivingSockets(len(flows))
        self._messages = messages
        messages.write("flow,sent_ns,latency_ms\n")
        for index, flow in enumerate(flows):
            address = flow.destination, flow.port
            if flow.kind == "datagrams":
                made = bound(flow.destination_pid, address, socket.SOCK_DGRAM)
                if flow.source_port:
                    # The kernel drops what comes from anybody else.
                    made.connect((flow.source, flow.source_port))
                self._sockets.count_datagrams(made, index)
            else:
                listener = bound(flow.destination_pid, address, socket.SOCK_STREAM)
                listener.listen(16)
                self._sockets.watch(listener, self._accept(index))

    def run(self, goodput: IO[str]) -> None:
        """Write samples until the process is ended."""
        goodput.write(",".join(["time_ns", *(flow.name for flow in self._flows), LOST]) + "\n")
        for now in self._sockets.ticks():
            counts = (now, *self._sockets.counted, self._sockets.lost())
            goodput.write(",".join(map(str, counts)) + "\n")
            goodput.flush()
            self._messages.flush()

    def _accept(self, index: int) -> Handler:
        def accept(listener: socket.socket) -> None:
            connection, peer = listener.accept()
            flow = self._flows[index]
            if not flow.may_come_from(peer):
                # The network's other hosts can connect, too, and what they send is no flow.
                self._refuse(connection, index, f"{peer[0]}:{peer[1]} is not its sender")
                return
            messages = flow.kind == "messages"
            self._sockets.watch(
                connection, self._complete(index) if messages else self._stream(index)
            )

        return accept

    def _refuse(self, connection: socket.socket, index: int, problem: str) -> None:
        print(f"{self._flows[index].name}: {problem}; its connection is closed", flush=True)
        connection.close()

    def _received(self, connection: socket.socket, index: int) -> int:
        """Bytes now in the scratch buffer; 0 at the end, when the connection is closed."""
        try:
            count = connection.recv_into(self._sockets.scratch)
        except ConnectionResetError:
            count = 0
        self._sockets.counted[index] += count
        if not count:
            self._sockets.unwatch(connection)
            connection.close()
        return count

    def _stream(self, index: int) -> Handler:
        def stream(connection: socket.socket) -> None:
            self._received(connection, index)

        return stream

    def _complete(self, index: int) -> Handler:
        pending = bytearray()
        flow = self._flows[index]

        def complete(connection: socket.socket) -> None:
            count = self._received(connection, index)
            pending.extend(self._sockets.scratch[:count])
            while len(pending) >= MESSAGE.size:
                size, sent = MESSAGE.unpack_from(pending)
                if size != flow.size or size < MESSAGE.size:
                    # Nothing after it can be told apart, and it may never be complete.
                    self._sockets.unwatch(connection)
                    self._refuse(connection, index, f"a message of {size} B, not {flow.size} B")
                    return
                if len(pending) < size:
                    return
                self._messages.write(f"{flow.name},{sent},{(time.time_ns() - sent) / 1e6:.3f}\n")
                del pending[:size]

        return complete
