# SPDX-License-Identifier: Apache-2.0
"""The web of Mininet: sizes by their law, and users with servers on the loopback interface."""

from __future__ import annotations

import asyncio
import io
import json
import math
import os
import signal
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsis_experiments.experiment.web_users import PlannedPages
from docsis_experiments.stages.mininet.samples import read_samples
from docsis_experiments.stages.mininet.traffic import web
from docsis_experiments.stages.mininet.traffic.web import user as web_user
from docsis_experiments.stages.mininet.traffic.web.connections import Connections
from docsis_experiments.stages.mininet.traffic.web.sizes import object_sizes
from docsis_experiments.stages.mininet.web_users import WebTraffic
from docsis_experiments.traffic.senders import WebPages
from docsis_testbed.errors import TestbedError
from docsis_testbed.session import wait_until_ready

PAGE = WebPages(
    page=7_000_000,
    html=70_000,
    objects=100,
    variation_permille=2000,
    origins=4,
    connections=6,
    pause=5.0,
    request=400,
)
PATIENCE = 20.0
"""Seconds until a test gives up; none waits for as long unless it fails."""


def page(**changes: object) -> WebPages:
    return WebPages(**{**PAGE.__dict__, **changes})


@given(
    seed=st.integers(0, 2**32),
    objects=st.integers(0, 300),
    more=st.integers(0, 10**8),
    variation=st.integers(0, 10_000),
)
@settings(max_examples=100)
def test_a_page_has_its_bytes(seed: int, objects: int, more: int, variation: int) -> None:
    # A page without objects is its HTML alone.
    rest = objects + more if objects else 0
    pages = page(page=70_000 + rest, objects=objects, variation_permille=variation)
    sizes = object_sizes(Random(seed), pages)
    assert len(sizes) == objects
    assert min(sizes, default=1) >= 1
    assert sum(sizes) == rest


def test_sizes_vary_as_the_law_says() -> None:
    # One page of 200,000 objects of 10 KB: scaling changes nothing of such a sample's variation.
    many = page(page=70_000 + 200_000 * 10_000, objects=200_000)
    logs = np.log(np.array(object_sizes(Random(1), many), dtype=np.float64))
    law = math.log(1 + 2**2)
    # The variance of normal draws has the standard error sqrt(2/n) of it; five of those, and what
    # rounding to bytes does to the smallest.
    assert logs.var() == pytest.approx(law, rel=5 * math.sqrt(2 / logs.size) + 1e-3)
    assert logs.mean() == pytest.approx(math.log(10_000) - law / 2, abs=5 * math.sqrt(law / 2e5))


def test_a_user_that_left_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=r"pages\.csv: no pages of the user"):
        web.read_pages(tmp_path / "pages.csv")


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that is ready, until the end of the block."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


@pytest.mark.root
def test_pages_are_loaded_from_all_servers(tmp_path: Path) -> None:
    pages = page(page=300_000, html=20_000, objects=30, pause=0.01, connections=3)
    origins = tuple(("127.0.0.1", port) for port in (18_090, 18_091, 18_092, 18_093))
    servers = [web.WebServer(os.getpid(), *origin, "cubic") for origin in origins]
    user = web.WebUser("user", origins, time.time_ns(), None, pages, 3)
    web.write(servers, tmp_path / "servers.json")
    web.write(user, tmp_path / "user.json")
    assert web.read_user(tmp_path / "user.json") == user
    assert json.loads((tmp_path / "user.json").read_text())["pages"]["objects"] == 30
    loads, received = tmp_path / "pages.csv", tmp_path / "received.csv"
    with (
        running(web.serve_command(tmp_path / "servers.json")),
        running(web.load_command(tmp_path / "user.json", loads, received)),
    ):
        until = time.monotonic() + PATIENCE
        while len(complete(loads)) < 3 and time.monotonic() < until:
            time.sleep(0.02)
    found = complete(loads)
    assert len(found) >= 3
    assert all(began < end for began, end in found)
    assert all(second[0] >= first[1] for first, second in pairwise(found))
    times, counts = read_samples(received)
    assert (np.diff(times) > 0).all()
    assert counts["user"][-1] <= (len(found) + 1) * 300_000


@pytest.mark.root
def test_a_user_goes_in_the_middle_of_a_page(tmp_path: Path) -> None:
    origins = (("127.0.0.1", 18_094),)
    # A page that takes longer than there is time, because its HTML is awaited for so long.
    pages = page(page=900_000_000, html=899_999_000, objects=10)
    web.write([web.WebServer(os.getpid(), *origins[0], "cubic")], tmp_path / "servers.json")
    end_ns = time.time_ns() + 600_000_000
    web.write(web.WebUser("user", origins, 0, end_ns, pages, 3), tmp_path / "user.json")
    loads, received = tmp_path / "pages.csv", tmp_path / "received.csv"
    with (
        running(web.serve_command(tmp_path / "servers.json")),
        running(web.load_command(tmp_path / "user.json", loads, received)) as user,
    ):
        until = time.monotonic() + PATIENCE
        while time.time_ns() < end_ns + 500_000_000 and time.monotonic() < until:
            time.sleep(0.02)
        assert user.poll() is None
    assert not complete(loads) or complete(loads)[-1][1] <= end_ns + 100_000_000
    times, counts = read_samples(received)
    last = counts["user"][times > end_ns + 100_000_000]
    assert last.size
    assert len(set(last.tolist())) == 1


HOST = "127.0.0.1"
Answer = Callable[[int, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Asked:
    """A web server of this process.

    Args:
        answer: Answers a request, whose size it is given; the connection ends with it.

    Attributes:
        sizes: What was asked for so far.
    """

    def __init__(self, answer: Answer) -> None:
        self.sizes: list[int] = []
        self._answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A connection that is reset is over.
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.sizes.append(int(head.split()[1][1:]))
            await self._answer(self.sizes[-1], reader, writer)
        writer.close()


def give(writer: asyncio.StreamWriter, length: int, declared: bool = True) -> None:
    """An answer of so many bytes."""
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n" if declared else "HTTP/1.1 200 OK\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + bytes(length))


async def until(condition: Callable[[], bool], more: float = 0.0) -> None:
    """Waits until it is so; some seconds more than `PATIENCE` at the most."""
    give_up = time.monotonic() + PATIENCE + more
    while not condition():
        assert time.monotonic() < give_up
        await asyncio.sleep(0.01)


async def leaves_objects_waiting(seconds: float) -> bool:
    """Whether a user whose end is after so long had as many requests waiting as it may have.

    Then nothing is asked for after its end, and its connections are reset.
    """
    pages = page(page=100_000, html=1000, objects=100, pause=60.0, origins=1)
    answered = 10
    waiting = 0
    resets = 0

    async def answer(size: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal waiting, resets
        if len(asked.sizes) <= answered:
            give(writer, size)
            return
        waiting += 1
        try:
            await reader.read()
        except ConnectionResetError:
            resets += 1

    asked = Asked(answer)
    loads, received = io.StringIO(), io.StringIO()
    async with await asyncio.start_server(asked.serve, HOST, 0) as server:
        origin = server.sockets[0].getsockname()
        end_ns = time.time_ns() + round(seconds * 1e9)
        user = web.WebUser("user", (origin,), 0, end_ns, pages, 3)
        running = asyncio.ensure_future(web_user.User(user, loads, received).run())
        # The page that is not complete is written when the end has come.
        await until(lambda: loads.getvalue().endswith(",\n"), seconds)
        if full := waiting == pages.connections:
            await until(lambda: resets == pages.connections)
            # Whatever the user has asked for, it was accepted before this.
            _, writer = await asyncio.open_connection(*origin)
            writer.write(b"GET /0 HTTP/1.1\r\n\r\n")
            await until(lambda: 0 in asked.sizes)
            assert len(asked.sizes) == answered + pages.connections + 1
            assert not running.done()
            writer.close()
        running.cancel()
        await asyncio.wait({running})
        return full


def test_nothing_is_asked_for_after_the_end() -> None:
    async def found() -> bool:
        # On a slow machine the end comes before the objects, and the next time it comes later.
        for seconds in (0.2, 1.0, 5.0, PATIENCE):
            if await leaves_objects_waiting(seconds):
                return True
        return False

    assert asyncio.run(found())


async def refused(connecting: Awaitable[object]) -> None:
    with pytest.raises(OSError, match="closed"):
        await connecting


def test_a_connection_that_is_being_set_up_ends_with_the_others() -> None:
    async def ends() -> None:
        connections = Connections()
        with socket.socket() as server, socket.socket() as first:
            server.bind((HOST, 0))
            # The kernel answers one; the next one's SYN waits for room.
            server.listen(0)
            first.connect(server.getsockname())
            waiting = asyncio.ensure_future(connections.connect(*server.getsockname()))
            await asyncio.sleep(0)
            assert not waiting.done()
            connections.reset()
            await refused(waiting)
            await refused(connections.connect(*server.getsockname()))

    asyncio.run(ends())


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("wrong", [0, 999, 1001])
def test_an_answer_of_another_length_is_no_object(
    wrong: int, declared: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(web_user, "_RETRY_SECONDS", 0.01)
    loads, received = io.StringIO(), io.StringIO()
    complete_before = []

    async def answer(size: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        complete_before.append(loads.getvalue().count("\n") > 1)
        give(writer, size if len(complete_before) == 3 else wrong, declared)

    async def load() -> str:
        asked = Asked(answer)
        pages = page(page=1000, html=1000, objects=0, pause=60.0, origins=1)
        async with await asyncio.start_server(asked.serve, HOST, 0) as server:
            origin = server.sockets[0].getsockname()
            user = web.WebUser("user", (origin,), 0, None, pages, 3)
            running = asyncio.ensure_future(web_user.User(user, loads, received).run())
            await until(lambda: loads.getvalue().count("\n") == 2)
            running.cancel()
            await asyncio.wait({running})
            assert asked.sizes == [1000, 1000, 1000]
            return f"http://{HOST}:{origin[1]}/1000"

    url = asyncio.run(load())
    assert complete_before == [False, False, False]
    [_, row] = loads.getvalue().splitlines()
    assert all(row.split(","))
    words = f"{url}: {wrong} B came, not 1000 B; once more\n"
    assert capsys.readouterr().out == 2 * words


@pytest.mark.root
@pytest.mark.parametrize("size", [999_999_999, 1_000_000_000])
def test_a_server_has_the_largest_page_as_one_object(size: int, tmp_path: Path) -> None:
    place = (HOST, 18_097)
    web.write([web.WebServer(os.getpid(), *place, "cubic")], tmp_path / "servers.json")
    with (
        running(web.serve_command(tmp_path / "servers.json")),
        socket.create_connection(place, PATIENCE) as client,
    ):
        client.sendall(f"GET /{size} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        with client.makefile("rb") as answer:
            assert answer.readline().split()[1] == b"200"
            head = iter(answer.readline, b"\r\n")
            assert f"Content-Length: {size}\r\n".encode() in list(head)


def complete(path: Path) -> list[tuple[int, int]]:
    """Pages that were loaded to the end; none before the file is there."""
    if not path.exists() or not path.read_text():
        return []
    return [(began, end) for began, end in web.read_pages(path) if end is not None]


class Hosts:
    """A session all of whose hosts are this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.testbed = SimpleNamespace(node=lambda name: SimpleNamespace(pid=os.getpid()))
        self.watched: list[str] = []

    def address(self, name: str) -> str:
        assert name.startswith("server")
        return "127.0.0.1"

    def watch(self, what: str, process: object, log: Path) -> None:
        del process, log
        self.watched.append(what)

    def launch(self, node: str, command: Sequence[str], name: str) -> subprocess.Popen[bytes]:
        assert node == "cpe1"
        with (self.folder / name).open("wb") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)


@pytest.mark.root
def test_a_run_s_users_and_what_they_leave(tmp_path: Path) -> None:
    session: Any = Hosts(tmp_path)
    pages = page(page=50_000, html=5_000, objects=5, pause=0.01)
    servers = (("server1", 18_095), ("server2", 18_096))
    users = [
        PlannedPages("web", f"web-{number}", "cpe1", servers, 0.2, None, pages, "cubic")
        for number in (1, 2)
    ]
    traffic = WebTraffic(session, users)

    def start(what: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = session.launch("cpe1", command, f"{what}.log")
        wait_until_ready(process, what, tmp_path / f"{what}.log")
        return process

    programs: list[subprocess.Popen[bytes]] = []
    origin_ns = time.time_ns()
    try:
        programs += traffic.start_servers(start)
        programs += traffic.start_users(origin_ns)
        until = time.monotonic() + PATIENCE
        files = [tmp_path / f"web-web-{number}-pages.csv" for number in (1, 2)]
        while min(len(complete(file)) for file in files) < 2 and time.monotonic() < until:
            time.sleep(0.02)
    finally:
        for program in reversed(programs):
            program.terminate()
            program.wait(PATIENCE)
    assert session.watched == ["the web user web-1", "the web user web-2"]
    found = traffic.pages(origin_ns)["web"]
    assert (found.began_s >= 0.2).all()
    assert found.loads(0.0, PATIENCE).size >= 4
    received = traffic.received(origin_ns)["web"]
    assert set(received.flow_bytes) == {"web-1", "web-2"}
    assert min(flow[-1] for flow in received.flow_bytes.values()) > 0
    assert WebTraffic(session, []).start_servers(start) == []
