# SPDX-License-Identifier: Apache-2.0
"""The ways from controllers to devices, which faults cut, slow down and end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from docsis_control.http2 import Broken
from docsis_experiments.chaos.audit import CONFIGURE
from docsis_experiments.stages.virtual.entrance import READ_CELLS, Refused

if TYPE_CHECKING:
    from docsis_world import Stream, World

_AFTER: Final = 0.002
"""Seconds after a way is open again until the device may yet hear of streams that have ended."""


class Process(StrEnum):
    """What a device's process does."""

    RUNS = "runs"
    STOPPED = "stopped"
    DEAD = "dead"


class Unreachable(Broken):
    """There is nobody at the other end, or the call took too long; the message says which."""


@dataclass(eq=False)
class Life:
    """A controller's process.

    Attributes:
        died: Set when it was killed.
        stopped: It does nothing for now.
        cut: It reaches nobody.
        delay: Seconds that each of its calls takes longer.
    """

    died: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: bool = False
    cut: bool = False
    delay: float = 0.0

    @property
    def alive(self) -> bool:
        """Whether it was not killed."""
        return not self.died.is_set()


@dataclass(eq=False)
class Way:
    """The way to one device, for whichever controller.

    Attributes:
        world: Has the device.
        name: The device's name.
        process: What it does.
        cut: Nobody reaches it.
        delay: Seconds that each call takes longer.
        on_configure: Called with None before the traffic manager is configured, and with the
            request after it.
    """

    world: World
    name: str
    chance: random.Random
    process: Process = Process.RUNS
    cut: bool = False
    delay: float = 0.0
    on_configure: Callable[[bytes | None], None] = lambda request: None
    ended: list[Callable[[str], None]] = field(default_factory=list)
    _open: list[Stream] = field(default_factory=list)
    _closing: list[tuple[Stream, Life]] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def change(self) -> None:
        """Wakes whoever waits: something about the way, the device or a controller is different."""
        self._changed.set()
        self._changed = asyncio.Event()
        if self.is_shut:
            return
        heard = [(stream, life) for stream, life in self._closing if not life.cut]
        for stream, life in heard:
            self._closing.remove((stream, life))
            # Which of both comes first is chance: an end that was on its way, or what is new.
            delay = _AFTER if self.chance.getrandbits(1) else 0.0
            asyncio.get_running_loop().call_later(delay, self._end, stream)

    @property
    def is_shut(self) -> bool:
        """Whether nothing comes through for now."""
        return self.cut or self.process is Process.STOPPED

    async def open(self, life: Life, seconds: float) -> None:
        """Waits until something may come through, at most so long.

        Raises:
            Unreachable: Nobody is there, or it took too long.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        if delay := self.delay + life.delay:
            await asyncio.sleep(min(delay, seconds))
        while True:
            if not life.alive:
                raise Unreachable("the controller was killed")
            if self.process is Process.DEAD and not (self.cut or life.cut or life.stopped):
                raise Unreachable(f"{self.name}: connection refused")
            if not (self.is_shut or life.cut or life.stopped):
                return
            left = until - loop.time()
            if left <= 0 and not life.stopped:
                raise Unreachable(f"{self.name}: no answer within {seconds:g} s")
            changed = self._changed
            try:
                async with asyncio.timeout(None if life.stopped else left):
                    await changed.wait()
            except TimeoutError:
                continue

    def call(self, method: str, request: bytes) -> list[bytes]:
        """Runs a method of the device's server, whose way is open.

        Raises:
            Refused: The status is not OK.
        """
        from docsis_world import RpcError

        if method == CONFIGURE:
            # Whatever has left until now left under what was configured before.
            self.on_configure(None)
        try:
            answers = self.world.call(self.name, method, request)
        except RpcError as error:
            raise Refused(error) from None
        if method == CONFIGURE:
            self.on_configure(request)
        return answers

    def cells(self, request: bytes) -> bytes:
        """Reads cells of registers; see `entrance.WorldEntrance`."""
        [column] = self.call(READ_CELLS, request)
        return column

    def open_stream(self) -> Stream:
        """A StreamChannel."""
        stream = self.world.open_stream(self.name)
        self._open.append(stream)
        return stream

    def close_stream(self, stream: Stream, life: Life) -> None:
        """Ends a stream; the device hears of it when something comes through again.

        Args:
            stream: The stream of one of the controller's connections.
            life: The controller's.
        """
        if stream not in self._open:
            return
        self._open.remove(stream)
        if self.process is not Process.DEAD and (self.is_shut or life.cut):
            self._closing.append((stream, life))
        else:
            self._end(stream)

    def refused(self, stream: Stream) -> None:
        """The device has ended a stream."""
        if stream in self._open:
            self._open.remove(stream)

    def _end(self, stream: Stream) -> None:
        stream.close()

    def died(self) -> None:
        """The device's process is dead: all connections to it have ended."""
        self._open.clear()
        self._closing.clear()
        ended, self.ended = self.ended, []
        for tell in ended:
            tell(f"{self.name} ended the stream")

    @property
    def streams(self) -> int:
        """Streams that nobody has ended."""
        return len(self._open) + len(self._closing)
