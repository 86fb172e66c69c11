# SPDX-License-Identifier: Apache-2.0
"""The ways from the controller to the switches, which faults cut and slow down.

A kernel cuts no Unix socket, so the controller is given one of ours for each switch. A thread
carries the bytes between both, or holds them while the way is cut, as a network would: what was
sent arrives when the way is mended, and nobody hears that a connection has ended before that.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from docsis_testbed.addresses import socket_of
from docsis_testbed.errors import TestbedError

_CHUNK: Final = 1 << 16
"""Bytes that a direction of a connection holds at the most, beside what the kernel holds."""
_PRIORITY: Final = 6
"""Priority of SCHED_RR, the controller's event loop's own, so that the load does not delay it."""
_SECONDS: Final = 5.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Way:
    """The way to one switch; everything happens in the event loop's thread."""

    def __init__(self, address: str) -> None:
        """Args: host:port or unix:PATH of the switch's server."""
        self._address = address
        self._open = asyncio.Event()
        self._open.set()
        self._cuts = 0
        self._delay = 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    def cut(self, more: int) -> None:
        """One more reason why nothing comes through (1), or one less (-1)."""
        self._cuts += more
        if self._cuts:
            self._open.clear()
        else:
            self._open.set()

    def slow(self, more: float) -> None:
        """Each piece takes so many seconds longer than now."""
        self._delay = max(0.0, self._delay + more)

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection of the controller's."""
        task = asyncio.current_task()
        assert task is not None, "a server's callback is a task"
        self._tasks.add(task)
        try:
            await self._open.wait()
            try:
                theirs = await self._connected()
            except OSError:
                return
            try:
                await asyncio.gather(self._pump(reader, theirs[1]), self._pump(theirs[0], writer))
            except OSError:
                # One end was killed: the other hears that the connection has ended.
                writer.transport.abort()
            finally:
                theirs[1].transport.abort()
        except asyncio.CancelledError:
            # The run is over; what asyncio.streams would say of it helps nobody.
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _connected(self) -> Streams:
        path = socket_of(self._address)
        if path is not None:
            return await asyncio.open_unix_connection(str(path), limit=_CHUNK)
        host, _, port = self._address.rpartition(":")
        return await asyncio.open_connection(host, int(port), limit=_CHUNK)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(_CHUNK):
            if self._delay:
                await asyncio.sleep(self._delay)
            await self._open.wait()
            writer.write(chunk)
            await writer.drain()
        await self._open.wait()
        with suppress(OSError):
            writer.write_eof()

    async def end(self) -> None:
        """Ends all connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Ways:
    """The ways to all switches, open in the block that it manages.

    Attributes:
        addresses: Where the controller finds each switch.
    """

    def __init__(self, folder: Path, switches: Mapping[str, str]) -> None:
        """Makes the sockets and the thread.

        Args:
            folder: Gets the sockets; only this user may enter it.
            switches: The address of each switch's server, by the switch's name.

        Raises:
            TestbedError: There can be no socket in that folder.
        """
        self.addresses = {name: f"unix:{folder / name}-way.sock" for name in switches}
        self._loop = asyncio.new_event_loop()
        self._ways = {name: _Way(address) for name, address in switches.items()}
        self._servers: list[asyncio.AbstractServer] = []
        self._thread = threading.Thread(target=self._run, name="chaos ways", daemon=True)
        self._thread.start()
        try:
            self._wait(self._listen())
        except OSError as error:
            self.close()
            words = error.strerror or str(error)
            raise TestbedError(f"no socket can be made in {folder}: {words}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self) -> None:
        # Not every container permits it.
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_PRIORITY))
        self._loop.run_forever()
        self._loop.close()

    async def _listen(self) -> None:
        for name, way in self._ways.items():
            path = self.addresses[name].removeprefix("unix:")
            self._servers.append(await asyncio.start_unix_server(way.carry, path, limit=_CHUNK))

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        for way in self._ways.values():
            await way.end()

    def _wait(self, what: Coroutine[object, object, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(_SECONDS)

    def _do(self, action: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(action)

    def cut(self, name: str) -> None:
        """Nothing comes through to a switch, or from it, until `mend`; cuts are counted."""
        self._do(lambda: self._ways[name].cut(1))

    def mend(self, name: str) -> None:
        """One cut less."""
        self._do(lambda: self._ways[name].cut(-1))

    def slow(self, name: str, seconds: float) -> None:
        """Each piece takes longer by so much in either direction; negative where that is over."""
        self._do(lambda: self._ways[name].slow(seconds))

    def close(self) -> None:
        """Ends all connections, and the thread. May be called again."""
        if not self._thread.is_alive():
            return
        self._wait(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        for address in self.addresses.values():
            Path(address.removeprefix("unix:")).unlink(missing_ok=True)
