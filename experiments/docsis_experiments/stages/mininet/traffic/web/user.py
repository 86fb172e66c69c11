# SPDX-License-Identifier: Apache-2.0
"""A web user: one page after the other, each object on a connection of its own."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from random import Random
from typing import IO, Final

from tornado.httpclient import HTTPError, HTTPRequest
from tornado.simple_httpclient import SimpleAsyncHTTPClient

from docsis_experiments.stages.mininet.traffic.receiving import SAMPLE_SECONDS
from docsis_experiments.stages.mininet.traffic.web import WebUser
from docsis_experiments.stages.mininet.traffic.web.connections import Connections
from docsis_experiments.stages.mininet.traffic.web.sizes import object_sizes

_RETRY_SECONDS: Final = 1.0
_LARGEST: Final = 1 << 30
_FIXED: Final = len(
    "GET /000000000 HTTP/1.1\r\nConnection: close\r\nHost: 10.0.000.000:8080\r\n"
    "User-Agent: web\r\nPadding: \r\n\r\n"
)
"""Bytes of a request but for its padding, about."""


class User:
    """Loads pages until it is cancelled, or its end.

    Args:
        user: Who.
        pages: Gets a line of each page.
        received: Gets the samples.
    """

    def __init__(self, user: WebUser, pages: IO[str], received: IO[str]) -> None:
        self._user = user
        self._pages = pages
        self._received = received
        self._count = 0
        self._gone = False
        self._random = Random(f"sizes {user.seed} {user.name}")
        self._padding = "x" * max(0, user.pages.request - _FIXED)
        self._connections = Connections()
        self._client = SimpleAsyncHTTPClient(
            force_instance=True,
            max_clients=user.pages.connections * len(user.origins),
            max_body_size=_LARGEST,
            max_buffer_size=_LARGEST,
        )
        self._client.tcp_client = self._connections
        # A browser opens so many connections to an origin. Other requests wait for one of these
        # and not in Tornado, which would still send them after the user has gone.
        self._free = [asyncio.Semaphore(user.pages.connections) for _ in user.origins]
        pages.write("began_ns,complete_ns\n")
        received.write(f"time_ns,{user.name}\n")

    async def run(self) -> None:
        """Until the user goes."""
        sampling = asyncio.ensure_future(self._sample())
        try:
            await asyncio.sleep((self._user.start_ns - time.time_ns()) / 1e9)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._left()):
                    while True:
                        await self._page()
                        await asyncio.sleep(self._user.pages.pause)
            self._gone = True
            self._connections.reset()
            # Whoever started it ends it.
            await asyncio.Event().wait()
        finally:
            sampling.cancel()
            # What came since the last look counts, too.
            self._look()

    def _left(self) -> float | None:
        end = self._user.end_ns
        return None if end is None else (end - time.time_ns()) / 1e9

    async def _page(self) -> None:
        pages = self._user.pages
        sizes = object_sizes(self._random, pages)
        complete: int | str = ""
        began = time.time_ns()
        try:
            await self._object(0, pages.html)
            async with asyncio.TaskGroup() as group:
                for number, size in enumerate(sizes):
                    group.create_task(self._object(number % len(self._free), size))
            complete = time.time_ns()
        finally:
            self._pages.write(f"{began},{complete}\n")
            self._pages.flush()

    async def _object(self, origin: int, size: int) -> None:
        """Loads an object of so many bytes from an origin, however often it takes."""
        address, port = self._user.origins[origin]
        url = f"http://{address}:{port}/{size}"
        while True:
            try:
                async with self._free[origin]:
                    came = await self._fetched(url)
                if came == size:
                    return
                problem = f"{came} B came, not {size} B"
            except (OSError, HTTPError) as error:
                problem = str(error)
            # A connection that could not be had, or was lost, or brought something else: as a
            # user, try again.
            print(f"{url}: {problem}; once more", flush=True)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _fetched(self, url: str) -> int:
        """Bytes of an answer.

        Raises:
            OSError, HTTPError: There was none, or not all of it, or an error of HTTP.
        """
        length = 0

        def came(chunk: bytes) -> None:
            nonlocal length
            length += len(chunk)
            # Bytes that arrived before the reset can be handed over after it.
            if not self._gone:
                self._count += len(chunk)

        await self._client.fetch(
            HTTPRequest(
                url,
                headers={"Padding": self._padding},
                user_agent="web",
                decompress_response=False,
                streaming_callback=came,
                # However slow it is: pages are waited for.
                connect_timeout=0,
                request_timeout=0,
            )
        )
        return length

    async def _sample(self) -> None:
        due = time.monotonic()
        while True:
            self._look()
            due += SAMPLE_SECONDS
            await asyncio.sleep(due - time.monotonic())

    def _look(self) -> None:
        self._received.write(f"{time.time_ns()},{self._count}\n")
        self._received.flush()
