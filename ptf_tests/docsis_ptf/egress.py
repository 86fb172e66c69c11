# SPDX-License-Identifier: Apache-2.0
"""Checks that exactly the frames that a test expects leave the switch, in order.

PTF's own checks look for a frame among those that came: they drop whatever comes before it, and
of a frame below 60 bytes they compare the beginning alone. Here the next frame of a port is the
one that is expected, byte for byte to its end, and a frame that nobody expects fails whatever
port it leaves.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

_SHOWN: Final = 64
"""Bytes of a frame that a message shows from the first one that differs."""


class DataPlane(Protocol):
    """PTF's data plane, whose answer has the `packet` None when no frame came."""

    def poll(self, device_number: int = 0, *, timeout: float | None = None) -> Any:
        """The oldest frame that nobody took yet."""
        ...


class Unexpected(AssertionError):
    """The ports did not show what was expected; the message says what they did show."""


class Egress:
    """The frames that leave a switch, taken in the order in which they left.

    Args:
        dataplane: PTF's, which has the sockets.
        timeout: Seconds that an expected frame may take.
        quiet: Seconds without a frame that count as silence.
        clock: Seconds, never going back.
    """

    def __init__(
        self,
        dataplane: DataPlane,
        *,
        timeout: float,
        quiet: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._dataplane = dataplane
        self._timeout = timeout
        self._quiet = quiet
        self._clock = clock
        self._looked = False

    def expect(self, frames: Mapping[int, Sequence[bytes]]) -> None:
        """Each port sends these frames in this order, and no port sends any other.

        Nothing else has come when the last of them has; what comes later fails the next
        expectation. Unexpected: another frame came, or one did not come in time.
        """
        self._looked = True
        wanted = {port: deque(expected) for port, expected in frames.items() if expected}
        deadline = self._clock() + self._timeout
        while wanted:
            port, frame = self._next(max(deadline - self._clock(), 0.0))
            if port is None:
                missing = ", ".join(f"{len(w)} of port {p}" for p, w in sorted(wanted.items()))
                (first, (frame, *_)), *_ = sorted(wanted.items())
                raise Unexpected(
                    f"frames that did not leave within {self._timeout:g} s: {missing};"
                    f" the next of port {first} has {len(frame)} bytes: {_hex(frame)}"
                )
            if port not in wanted:
                raise Unexpected(_nobodys(port, frame))
            expected = wanted[port].popleft()
            if frame != expected:
                raise Unexpected(difference(port, expected, frame))
            if not wanted[port]:
                del wanted[port]
        self.expect_nothing_yet()

    def expect_nothing_yet(self) -> None:
        """No frame is there that nobody expected. Unexpected: one is."""
        self._expect_nothing(0.0)

    def expect_silence(self) -> None:
        """Nothing leaves any port for the time that counts as silence. Unexpected: a frame did."""
        self._looked = False
        self._expect_nothing(self._quiet)

    def finish(self) -> None:
        """Behind all expectations: nothing comes any more, if anything was ever expected."""
        if self._looked:
            self.expect_silence()

    def drain(self) -> None:
        """Throws away what comes until there is silence, for at most the time-out."""
        deadline = self._clock() + self._timeout
        self._looked = False
        while self._next(self._quiet)[0] is not None and self._clock() < deadline:
            pass

    def _expect_nothing(self, seconds: float) -> None:
        port, frame = self._next(seconds)
        if port is not None:
            raise Unexpected(_nobodys(port, frame))

    def _next(self, seconds: float) -> tuple[int | None, bytes]:
        found = self._dataplane.poll(device_number=0, timeout=seconds)
        if found.packet is None:
            return None, b""
        return int(found.port), bytes(found.packet)


def difference(port: int, expected: bytes, found: bytes) -> str:
    """Tells where two unequal frames differ, in words."""
    at = next(
        (n for n, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b),
        min(len(expected), len(found)),
    )
    lengths = (
        f"both of {len(found)} bytes"
        if len(expected) == len(found)
        else f"{len(found)} bytes instead of {len(expected)}"
    )
    return (
        f"port {port} sent another frame than the next one expected ({lengths}); they differ from"
        f" byte {at} on: expected {_hex(expected[at:])}, sent {_hex(found[at:])}"
    )


def _nobodys(port: int, frame: bytes) -> str:
    return f"port {port} sent a frame of {len(frame)} bytes that nobody expected: {_hex(frame)}"


def _hex(octets: bytes) -> str:
    shown = octets[:_SHOWN].hex(" ", 2) or "nothing"
    return shown if len(octets) <= _SHOWN else f"{shown} ..."
