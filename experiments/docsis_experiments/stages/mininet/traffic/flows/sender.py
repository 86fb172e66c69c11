# SPDX-License-Identifier: Apache-2.0
"""The sender of flows on a timetable."""

from __future__ import annotations

import os
import random
import socket
import struct
import termios
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from fcntl import ioctl
from queue import SimpleQueue
from typing import Final

from docsis_experiments.stages.mininet.traffic.flows import MESSAGE, Flow, Kind
from docsis_experiments.stages.mininet.traffic.flows.retransmitted import Retransmitted
from docsis_experiments.stages.mininet.traffic.sending import BEHIND_SECONDS, send_or_lose
from docsis_experiments.traffic.lengths import udp_payload

_CHUNK: Final = 1 << 17
_RETRY_SECONDS: Final = 1.0
_SOON_SECONDS: Final = 1e-3
_LOOK_SECONDS: Final = 2e-3
_PACE_SECONDS: Final = 5e-3
"""Between two times that a sender with a rate sends, where that is more than a segment."""
_PAYLOAD: Final = 1448
"""Bytes of a full segment with timestamps."""
_INT: Final = struct.Struct("@i")
_READINGS: Final = 5
_SIOCOUTQNSD: Final = 0x894B
"""The request for the bytes that a TCP socket has never sent (linux/sockios.h)."""
_AT_ONCE: Final = struct.pack("@ii", 1, 0)
"""struct linger: closing the socket throws away what it holds, and resets the connection."""


def _paced(rate: int) -> int:
    """Bytes that an application sends at a time which keeps to a rate in bit/s."""
    return max(_PAYLOAD, round(rate / 8 * _PACE_SECONDS) // _PAYLOAD * _PAYLOAD)


def _told(connection: socket.socket, request: int) -> int:
    """A number of bytes that the kernel tells of a socket."""
    [count] = _INT.unpack(ioctl(connection, request, bytes(_INT.size)))
    return int(count)


def _wall_offset_ns() -> int:
    """The wall clock less the monotonic one, of the reading that took the shortest time."""
    readings = []
    for _ in range(_READINGS):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after - before, wall - (before + after) // 2))
    return min(readings)[1]


class SendingError(Exception):
    """A flow cannot be sent any more; the message names it."""


class Sender:
    """Sends flows on their timetable, a thread each: they wait nearly all of the time.

    Args:
        flows: What to send.
        origin: CLOCK_MONOTONIC of the timetable's start, seconds.
    """

    def __init__(self, flows: Sequence[Flow], origin: float) -> None:
        self._origin = origin
        self._wall_offset_ns = _wall_offset_ns()
        self._retransmitted = Retransmitted(f.name for f in flows if f.retransmits)
        self._ended: SimpleQueue[SendingError | None] = SimpleQueue()
        send: dict[Kind, Callable[[Flow], None]] = {
            "transfer": self._transfers,
            "messages": self._messages,
            "datagrams": self._datagrams,
        }
        self.threads = [
            threading.Thread(target=self._sent, args=(send[flow.kind], flow), daemon=True)
            for flow in flows
        ]

    def run(self) -> None:
        """Until the last flow's end.

        Raises:
            SendingError: A flow cannot be sent any more. Then nobody waits for the others: what
                the run was to measure is not there.
        """
        for thread in self.threads:
            thread.start()
        for _ in self.threads:
            failure = self._ended.get()
            if failure is not None:
                raise failure

    def retransmitted(self) -> dict[str, int]:
        """Segments that each flow over TCP has sent again so far, by its name."""
        return self._retransmitted.counts()

    def _sent(self, send: Callable[[Flow], None], flow: Flow) -> None:
        try:
            send(flow)
        except Exception as error:
            # Whatever it is: in a thread nobody else would see it.
            self._ended.put(SendingError(f"{flow.name}: {error or type(error).__name__}"))
        else:
            self._ended.put(None)

    def _now(self) -> float:
        """Seconds of the timetable."""
        return time.monotonic() - self._origin

    def _wall_ns(self, seconds: float) -> int:
        """The wall clock's nanosecond at a second of the timetable."""
        return self._wall_offset_ns + round((self._origin + seconds) * 1e9)

    def _until(self, seconds: float) -> bool:
        """Sleeps until then; whether that was still to come."""
        if (left := seconds - self._now()) <= 0:
            return False
        time.sleep(left)
        return True

    def _left(self, flow: Flow) -> float | None:
        """Seconds until a flow's end, never quite 0; None where it has none."""
        if flow.end is None:
            return None
        return max(_SOON_SECONDS, self._origin + flow.end - time.monotonic())

    def _over(self, flow: Flow) -> bool:
        return flow.end is not None and time.monotonic() >= self._origin + flow.end

    def _send(self, connection: socket.socket, data: bytes, flow: Flow) -> None:
        """All of the data, or as much as there is room for until the flow's end."""
        left = memoryview(data)
        while left and not self._over(flow):
            connection.settimeout(self._left(flow))
            with suppress(TimeoutError):
                left = left[connection.send(left) :]

    def _stop(self, connection: socket.socket, flow: Flow) -> None:
        """At a flow's end what waits in the socket is thrown away, not sent after it."""
        if self._over(flow):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)

    def _transfers(self, flow: Flow) -> None:
        self._until(flow.start)
        number = 0
        while not self._over(flow):
            try:
                number += 1
                with (
                    flow.connection(number - 1) as connection,
                    self._retransmitted.counting(flow.name, connection),
                ):
                    self._file(connection, flow)
                    while flow.kept and self._acknowledged(connection, flow):
                        self._until(self._now() + flow.interval)
                        self._file(connection, flow)
                    if not self._over(flow):
                        connection.shutdown(socket.SHUT_WR)
                        # The receiver closes when it has everything.
                        connection.settimeout(self._left(flow))
                        with suppress(TimeoutError):
                            connection.recv(1)
                    self._stop(connection, flow)
            except OSError as error:
                # A SYN that was lost too often, in a queue that was full: as a user, try again.
                print(f"{flow.name}: {error}; once more", flush=True)
                time.sleep(_RETRY_SECONDS)
                continue
            time.sleep(flow.interval)

    def _file(self, connection: socket.socket, flow: Flow) -> None:
        """All of a file, no faster than its flow's rate, or as much as there is until its end.

        With a rate the next chunk comes at its time if TCP has sent the one before, and else not
        at that time: the rate is the most, and nothing is caught up on. Virtual time's transfers
        have the same rule (`Transfers::give`).
        """
        chunk = _paced(flow.rate) if flow.rate else _CHUNK
        data = bytes(chunk)
        left = flow.size
        at = self._now()
        while (left > 0 or not flow.size) and not self._over(flow):
            began = self._now()
            if not flow.rate or _told(connection, _SIOCOUTQNSD) < chunk:
                self._send(connection, data[:left] if 0 < left < chunk else data, flow)
                left -= chunk
            if flow.rate and (left > 0 or not flow.size):
                # A late machine catches up a little. While a chunk waits for room in the socket,
                # the times of those after it pass.
                at = max(at, began - BEHIND_SECONDS)
                at += max(8 * chunk / flow.rate, self._now() - began)
                self._until(at if flow.end is None else min(at, flow.end))

    def _acknowledged(self, connection: socket.socket, flow: Flow) -> bool:
        """Whether all that was sent is acknowledged, for which this waits, before the flow's end.

        Raises:
            OSError: The connection is lost.
        """
        while not self._over(flow):
            if error := connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(error, os.strerror(error))
            if not _told(connection, termios.TIOCOUTQ):
                return True
            # The kernel wakes nobody for it.
            time.sleep(_LOOK_SECONDS)
        return False

    def _messages(self, flow: Flow) -> None:
        """Messages on one connection, with the times at which an application hands them over.

        The time that a message waits for the connection, or for room in the socket, is part of its
        latency, as in virtual time, where TCP takes every message at once. That the machine wakes
        this thread late is no part of it.
        """
        self._until(flow.start)
        handed_over = self._now()
        with (
            flow.connection() as connection,
            self._retransmitted.counting(flow.name, connection),
        ):
            at = flow.start
            while not self._over(flow):
                head = MESSAGE.pack(flow.size, self._wall_ns(handed_over))
                self._send(connection, head + bytes(flow.size - len(head)), flow)
                at += flow.interval
                waited = self._until(at if flow.end is None else min(at, flow.end))
                handed_over = self._now() if waited else max(handed_over, at)
            self._stop(connection, flow)

    def _datagrams(self, flow: Flow) -> None:
        # Not all of one rate at the same moment.
        at = flow.start + random.Random(flow.port).random() * min(flow.interval, 0.1)
        payload = bytes(udp_payload(flow.size))
        with flow.datagrams() as made:
            while flow.end is None or at < flow.end:
                self._until(at)
                for _ in range(flow.train):
                    if self._over(flow):
                        return
                    send_or_lose(made, payload)
                at = max(at, self._now() - BEHIND_SECONDS) + flow.interval
