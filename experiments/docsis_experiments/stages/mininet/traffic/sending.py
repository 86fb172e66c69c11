# SPDX-License-Identifier: Apache-2.0
"""The common part of senders of UDP on a timetable."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Final

BEHIND_SECONDS: Final = 0.05
"""A sender that could not run for longer does not make up for what is before."""


def send_or_lose(made: socket.socket, payload: bytes) -> None:
    """Send a datagram. What cannot be sent is lost, as a packet may be."""
    with suppress(BlockingIOError, ConnectionRefusedError):
        made.send(payload)
