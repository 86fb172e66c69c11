# SPDX-License-Identifier: Apache-2.0
"""The sender of flows on a timetable."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from docsis_testbed.traffic import UDP_HEADERS
from docsis_testbed.traffic.flows import MESSAGE, Flow, Kind
from docsis_testbed.traffic.sending import BEHIND_SECONDS, send_or_lose

_CHUNK: Final = 1 << 17
_RETRY_SECONDS: Final = 1.0


class Sender:
    """Sends flows on their timetable, a thread each: they wait nearly all of the time.

    Args:
        flows: What to send.
        origin: CLOCK_MONOTONIC of the timetable's start, seconds.
    """

    def __init__(self, flows: Sequence[Flow], origin: float) -> None:
        self._origin = origin
        send: dict[Kind, Callable[[Flow], None]] = {
            "transfer": self._transfers,
            "messages": self._messages,
            "datagrams": self._datagrams,
        }
        self.threads = [
            threading.Thread(target=send[flow.kind], args=(flow,), daemon=True) for flow in flows
        ]

    def run(self) -> None:
        """Until the last flow's end."""
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()

    def _until(self, seconds: float) -> None:
        if (left := self._origin + seconds - time.monotonic()) > 0:
            time.sleep(left)

    def _over(self, flow: Flow) -> bool:
        return flow.end is not None and time.monotonic() >= self._origin + flow.end

    def _transfers(self, flow: Flow) -> None:
        data = bytes(_CHUNK)
        self._until(flow.start)
        number = 0
        while not self._over(flow):
            try:
                number += 1
                with flow.connection(number - 1) as connection:
                    left = flow.size
                    while (left > 0 or not flow.size) and not self._over(flow):
                        # sendall: a signal or a full buffer must not cut a file short.
                        connection.sendall(data[:left] if 0 < left < _CHUNK else data)
                        left -= _CHUNK
                    connection.shutdown(socket.SHUT_WR)
                    # The receiver closes when it has everything.
                    connection.recv(1)
            except OSError as error:
                # A SYN that was lost too often, in a queue that was full: as a user, try again.
                print(f"{flow.name}: {error}; once more", flush=True)
                time.sleep(_RETRY_SECONDS)
                continue
            time.sleep(flow.interval)

    def _messages(self, flow: Flow) -> None:
        self._until(flow.start)
        with flow.connection() as connection:
            at = flow.start
            while not self._over(flow):
                head = MESSAGE.pack(flow.size, time.time_ns())
                connection.sendall(head + bytes(flow.size - len(head)))
                at += flow.interval
                self._until(at)

    def _datagrams(self, flow: Flow) -> None:
        # Not all of one rate at the same moment.
        at = flow.start + random.Random(flow.port).random() * min(flow.interval, 0.1)
        payload = bytes(flow.size - UDP_HEADERS)
        with flow.datagrams() as made:
            while not self._over(flow):
                self._until(at)
                for _ in range(flow.train):
                    send_or_lose(made, payload)
                at = max(at, time.monotonic() - self._origin - BEHIND_SECONDS) + flow.interval
