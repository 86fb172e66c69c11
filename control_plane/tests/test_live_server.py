# SPDX-License-Identifier: Apache-2.0
"""The live page's server: what one who only looks may ask, and how much of it there is."""

import asyncio
import http.client
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from live_browser import wait_for

from docsis_live.actions import Actor
from docsis_live.guard import Guard
from docsis_live.handlers import HistoryPage, Shared
from docsis_live.hub import Hub
from docsis_live.server import MOST_CONNECTIONS, listen, serve


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[int]:
    """A server without a system in the block, and its port."""
    sockets, port = listen(0)
    guard = Guard(port, may_act=False)
    server = serve(Shared(Hub(lambda _: None), guard, Actor(None, folder)), sockets)
    try:
        yield port
    finally:
        server.stop()
        await server.close_all_connections()


def ask(port: int, path: str) -> tuple[int, dict[str, Any]]:
    """Status and content of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    content: dict[str, Any] = json.loads(answer.read())
    connection.close()
    return answer.status, content


@pytest.mark.parametrize("number", ["", "x", "-1", "1" * 16, "1" * 5_000])
async def test_a_trace_of_no_number_is_none(tmp_path: Path, number: str) -> None:
    async with served(tmp_path) as port:
        status, content = await asyncio.to_thread(ask, port, f"/api/trace?id={number}")
    assert (status, content) == (404, {"error": "This packet is not kept any more."})


async def test_an_error_of_the_page_is_told_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: HistoryPage) -> None:
        raise RuntimeError("something")

    monkeypatch.setattr(HistoryPage, "get", fail)
    async with served(tmp_path) as port:
        status, content = await asyncio.to_thread(ask, port, "/api/history")
        assert (status, content["error"]) == (
            500, "The page made an error; its log says more (HTTP 500)."
        )  # fmt: skip
        status, content = await asyncio.to_thread(ask, port, "/nothing")
        assert (status, content["error"]) == (404, "There is nothing here (HTTP 404).")


async def closed(reader: asyncio.StreamReader) -> bool:
    """Whether the server has closed a connection or does so soon, rather than answer."""
    try:
        return await reader.read(1) == b""
    except ConnectionResetError:
        return True


async def test_connections_beyond_the_bound_are_closed(tmp_path: Path) -> None:
    async with served(tmp_path) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_CONNECTIONS)]
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            assert await closed(reader)
            writer.close()
        # The others are served, and one that goes makes room.
        reader, writer = held[0]
        writer.write(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        held[-1][1].close()
        await asyncio.to_thread(wait_for, lambda: answers(port))
        for _, writer in held:
            writer.close()


def answers(port: int) -> bool:
    """Whether a new connection is served."""
    try:
        return ask(port, "/api/modem?name=x")[0] == 404
    except (http.client.HTTPException, OSError):
        return False
