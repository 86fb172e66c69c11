# SPDX-License-Identifier: Apache-2.0
"""The agent: datagrams on the loopback interface, answered from the status.

A process of its own. In the controller's it would take the interpreter's lock from
the control loop for each datagram, as often as whoever walks the tables likes; from
here the controller is asked for its status once a second at most.
"""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from docsis_control.snmp.answer import parse, respond
from docsis_control.snmp.objects import tree
from docsis_control.snmp.tree import Tree
from docsis_control.status import Status, StatusError

LOOPBACK: Final = "127.0.0.1"

KEEP_SECONDS: Final = 1.0
"""How long answers come from the values of one status."""

_WAITING: Final = 64
"""Datagrams; a manager asks again for what is beyond."""

_Address = tuple[str, int]
_LOG: Final = logging.getLogger(__name__)


class Values:
    """The values of the newest status, fetched when somebody asks."""

    def __init__(self, fetch: Callable[[], Status], keep: float = KEEP_SECONDS) -> None:
        """Args: what fetches the status, in a thread, and how many seconds it is good for."""
        self._fetch = fetch
        self._keep = keep
        self._fetched = float("-inf")
        self._tree: Tree | None = None
        self._told: str | None = None

    async def now(self) -> Tree | None:
        """The values; None while there is no status, which is told once on the log."""
        if time.monotonic() - self._fetched >= self._keep:
            try:
                self._tree = tree(await asyncio.to_thread(self._fetch))
                self._tell(None)
            except StatusError as error:
                self._tree = None
                self._tell(str(error))
            self._fetched = time.monotonic()
        return self._tree

    def _tell(self, trouble: str | None) -> None:
        if trouble != self._told:
            _LOG.warning("%s", trouble or "the controller answers again")
        self._told = trouble


class _Receiver(asyncio.DatagramProtocol):
    def __init__(self, waiting: "asyncio.Queue[tuple[bytes, _Address]]") -> None:
        self._waiting = waiting

    def datagram_received(self, data: bytes, addr: _Address) -> None:
        with contextlib.suppress(asyncio.QueueFull):
            self._waiting.put_nowait((data, addr))


async def _work(
    waiting: "asyncio.Queue[tuple[bytes, _Address]]",
    transport: asyncio.DatagramTransport,
    community: bytes,
    values: Values,
) -> None:
    while True:
        datagram, address = await waiting.get()
        try:
            request = parse(datagram, community)
            response = None if request is None else respond(request, await values.now())
        except Exception:
            # One request's trouble; the next may be another's.
            _LOG.exception("a request from port %d is left unanswered", address[1])
            continue
        if response is not None:
            transport.sendto(response, address)


@contextlib.asynccontextmanager
async def serving_snmp(
    fetch: Callable[[], Status], port: int, community: str, keep: float = KEEP_SECONDS
) -> AsyncIterator[int]:
    """Answers SNMPv2c in the block.

    Args:
        fetch: Gets the status; it may block and raise StatusError.
        port: UDP port on the loopback interface; 0 for any that is free.
        community: Whoever does not name it gets no answer.
        keep: How long a status is answered with, seconds.

    Returns:
        The port.

    Raises:
        RuntimeError: The port cannot be had.
    """
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[bytes, _Address]] = asyncio.Queue(_WAITING)
    try:
        transport, _ = await loop.create_datagram_endpoint(
            lambda: _Receiver(waiting), local_addr=(LOOPBACK, port), family=socket.AF_INET
        )
    except OSError as error:
        raise RuntimeError(
            f"SNMP cannot be served at {LOOPBACK}:{port}: {error.strerror}; give another --port"
        ) from None
    work = asyncio.create_task(
        _work(waiting, transport, community.encode(), Values(fetch, keep)), name="snmp"
    )
    try:
        yield transport.get_extra_info("sockname")[1]
    finally:
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        transport.close()
