# SPDX-License-Identifier: Apache-2.0
"""An event loop of asyncio that never waits: its time is a world's, which runs until what is due.

So the controller's own tasks, back-offs and timeouts happen in virtual time, in an order that
follows from the program alone.
"""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docsis_world import World


class _WorldSelector(selectors.BaseSelector):
    """Lets the world run where a selector waits."""

    def __init__(self, world: World) -> None:
        self._world = world
        # What asyncio wakes itself with.
        self._own = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._own.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None:
            raise RuntimeError("every task waits, and nothing is due in virtual time")
        self._world.run_until(self._world.now_ns + math.ceil(timeout * 1e9))
        return self._own.select(0)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._own.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._own.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._own.get_map()

    def close(self) -> None:
        self._own.close()


class WorldLoop(asyncio.SelectorEventLoop):
    """See the module."""

    def __init__(self, world: World) -> None:
        """Args: whose time it has."""
        super().__init__(_WorldSelector(world))
        self._world = world

    def time(self) -> float:
        """Seconds since the world began."""
        return self._world.now_ns / 1e9
