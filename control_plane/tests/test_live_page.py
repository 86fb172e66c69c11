# SPDX-License-Identifier: Apache-2.0
"""The live page on a real controller with two fake switches: in a browser, and without one."""

import asyncio
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from live_browser import LivePage, Page, browser, live_page, needs_browser, wait_for

from docsis_control.dynamic.server import serving_changes
from docsis_control.plan import TOKENS_PER_BYTE
from docsis_control.status.collect import Collector
from docsis_control.status.health import fetch_health, serving_health
from docsis_control.status.server import serving
from docsis_live.hub import MOST_PAGES, MOST_UPDATE_BYTES
from docsis_live.pages import STALLED_SECONDS

NOW_AT_ALL_TIMES_US = 2**47
"""msr_updated in the future of the switch's clock: the register's tokens are those of now."""


@asynccontextmanager
async def held(
    switch: Any, registers: Mapping[str, int], drops: Mapping[str, int] = MappingProxyType({})
) -> AsyncIterator[None]:
    """Registers of service flow 1, and frames dropped, stay so in the block.

    A controller that a busy machine let wait for a second starts its switch afresh.
    """

    async def hold() -> None:
        while True:
            for name, value in registers.items():
                switch.registers[name, 1] = value
            for name, frames in drops.items():
                switch.counters[f"sf_drop_{name}", 1] = frames, 1_500 * frames
            await asyncio.sleep(0.005)

    task = asyncio.create_task(hold())
    try:
        yield
    finally:
        task.cancel()


@pytest.fixture
def system(running: Any, tmp_path: Path) -> Callable[[], Any]:
    """A controller with all of its sockets, and fake switches."""

    @asynccontextmanager
    async def start() -> AsyncIterator[tuple[Any, Path]]:
        folder = tmp_path / "run"
        async with running() as made:
            status = Collector(made.controller).status
            async with (
                serving(status, folder),
                serving_changes(made.controller, folder),
                serving_health(made.controller, folder),
            ):
                yield made, folder

    return start


def ask(
    page: LivePage, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    """Status and content of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=60)
    text = None if body is None else json.dumps(body)
    connection.request(
        method, path, text, {name.replace("_", "-"): v for name, v in headers.items()}
    )
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, json.loads(content) if content.startswith(b"{") else {}


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """A browser."""
    with browser(tmp_path) as made:
        yield made


async def test_health_tells_of_changes_without_a_status(system: Any) -> None:
    async with system() as (made, folder):
        first = await asyncio.to_thread(fetch_health, None, folder)
        assert [(loop.device, loop.looped) for loop in first.loops] == [
            ("cm1", True),
            ("cmts1", False),
        ]
        made.controller.deployment = made.controller.deployment.__class__(
            **vars(made.controller.deployment)
        )
        second = await asyncio.to_thread(fetch_health, None, folder)
        assert second.revision == first.revision + 1


@needs_browser
async def test_curves_are_what_registers_say(system: Any, page: Page) -> None:
    registers = {
        "msr_tokens": 40_000 * TOKENS_PER_BYTE,
        "msr_updated": NOW_AT_ALL_TIMES_US,
        "sf_dequeued_bytes": 2**32 - 1_000,
        # It has wrapped around: 90 KB are queued.
        "sf_enqueued_bytes": 89_000,
    }
    drops = {"aqm": 3, "buffer_full": 4, "policed": 5, "malformed": 6}
    async with system() as (made, folder), held(made.modem, registers, drops):

        def check(live: LivePage) -> None:
            page.look(live.address)
            page.until("live.store.rows.at(-1).f[1][live.store.columns.backlog_bytes] === 90000")
            values = page.values(1)
            assert values["backlog_bytes"] == 90_000
            assert values["tokens_bytes"] == 40_000
            # RFC 8034, A.2: 40 KB at 25 Mbit/s and 50 KB at 20.
            assert values["delay_ms"] == pytest.approx(40e3 * 8 / 25e3 + 50e3 * 8 / 20e3)
            dropped = [values[f"dropped_{name}"] for name in ("aqm", "buffer_full", "policed")]
            assert dropped == [3, 4, 5]
            assert values["dropped_other"] == 6
            # Its own law raises the probability, each 16 ms; the page shows the register.
            page.until("live.store.rows.at(-1).f[1][live.store.columns.drop_prob] > 0")
            assert values["msr_bps"] == 20_000_000
            page.until("live.shown().backlog_bytes.at(-1) === 90")
            assert page.curve("delay_ms")[-1] == pytest.approx(values["delay_ms"])
            assert page.text("#flows tbody tr td:nth-child(5)") == f"{values['delay_ms']:.1f}"
            assert page.failures() == []

        with live_page("--status-folder", str(folder)) as live:
            await asyncio.to_thread(check, live)


@needs_browser
async def test_a_manager_and_a_rate_are_switched_with_marks(system: Any, page: Page) -> None:
    async with system() as (made, folder):

        def check(live: LivePage) -> None:
            page.look(live.address)
            assert page.js("live.store.detail.service_flows[0].queue_manager") == "docsis-pie"
            page.do("document.getElementById('preset').value = 'codel'")
            page.click("#manage")
            page.until("live.store.detail.service_flows[0].queue_manager === 'codel'")
            page.until("live.shownMarks().text.includes('CoDel, 20/150 ms')")
            # The mark is at the moment, between rows of before and after.
            mark = page.js("live.store.marks[0].t")
            first, last = page.js("[live.store.rows[0].t, Date.now()]")
            assert first <= mark <= last
            page.do("document.getElementById('msr').value = 5")
            page.do("document.getElementById('peak').value = 6")
            page.click("#rate")
            page.until("live.store.rows.at(-1).f[1][live.store.columns.msr_bps] === 5000000")
            page.until("live.store.marks.length === 2")
            # Rows of before keep the limits of before.
            assert page.js("live.store.rows[0].f[1][live.store.columns.msr_bps]") == 20_000_000

        with live_page("--status-folder", str(folder)) as live:
            await asyncio.to_thread(check, live)
        plan = made.controller.devices["cm1"].plan.service_flows[0]
        assert plan.queue_manager.label == "codel"
        assert plan.max_sustained_rate == 5_000_000
        assert plan.peak_rate == 6_000_000


@needs_browser
async def test_a_reload_loses_nothing_and_two_pages_see_the_same(
    system: Any, page: Page, tmp_path: Path
) -> None:
    async with system() as (_, folder):

        def check(live: LivePage) -> None:
            page.look(live.address)
            page.until("live.store.rows.length >= 20")
            first = page.js("live.store.rows.map((row) => [row.n, row.t])")
            page.driver.refresh()
            page.until("globalThis.live !== undefined && live.store.rows.length >= 20")
            again = page.js("live.store.rows.map((row) => [row.n, row.t])")
            assert again[: len(first)] == first
            # The token is kept by the tab.
            assert page.js("document.getElementById('locked').hidden")
            with browser(tmp_path / "second") as other:
                other.look(live.address)
                number = again[-1][0]
                there = f"live.store.rows.find((row) => row.n === {number})"
                assert other.until(there) == page.until(there)
                other.click("#freeze")
                page.until(f"live.store.rows.at(-1).n > {number + 5}")

        with live_page("--status-folder", str(folder)) as live:
            await asyncio.to_thread(check, live)


FIRST_ROW_IS_LOST = """
const Real = globalThis.WebSocket;
globalThis.WebSocket = class extends Real {
  set onmessage(take) {
    super.onmessage = (event) => {
      const { row } = JSON.parse(event.data);
      if (row === undefined || globalThis.lost !== undefined) take(event);
      else globalThis.lost = row.n;
    };
  }
};
const fetched = globalThis.fetch;
let asked = false;
globalThis.fetch = async (path) => {
  const first = !asked && path.startsWith("/api/history");
  asked ||= first;
  return first ? new Response('{"rows": [], "next": null}') : fetched(path);
};
"""
"""The history is asked for before there is any, and the page is too slow for the first row."""


@needs_browser
async def test_a_page_that_is_too_slow_for_the_first_row_gets_it_from_the_history(
    system: Any, page: Page
) -> None:
    async with system() as (_, folder):

        def check(live: LivePage) -> None:
            page.driver.execute_cdp_cmd(
                "Page.addScriptToEvaluateOnNewDocument", {"source": FIRST_ROW_IS_LOST}
            )
            page.look(live.address)
            page.until("live.store.rows.length >= 5")
            numbers = page.js("live.store.rows.map((row) => row.n)")
            assert page.js("lost") in numbers
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))

        with live_page("--status-folder", str(folder)) as live:
            await asyncio.to_thread(check, live)


@needs_browser
async def test_freeze_export_and_projector(system: Any, page: Page) -> None:
    async with system() as (made, folder), held(made.modem, {"sf_enqueued_bytes": 25_000}):

        def check(live: LivePage) -> None:
            page.look(live.address)
            page.until("live.shown().backlog_bytes.filter((one) => one === 25).length >= 5")
            page.click("#freeze")
            frozen = page.curve("t")
            number = page.js("live.store.rows.at(-1).n")
            page.until(f"live.store.rows.at(-1).n > {number + 5}")
            assert page.curve("t") == frozen
            head, *lines = page.js("live.csv()").splitlines()
            assert head.startswith("time_local,sent_mbps,offered_mbps,delay_ms")
            assert len(lines) == len(frozen)
            assert lines[-1].split(",")[7] == "25"
            size = page.js(
                "(() => { const one = live.picture(); return [one.width, one.height]; })()"
            )
            assert size[0] > 300
            assert size[1] > 300
            page.click("#freeze")
            page.until(f"live.shown().t.length > {len(frozen)}")
            page.click("#projector")
            assert page.js("document.body.classList.contains('projector')")
            assert page.failures() == []

        with live_page("--status-folder", str(folder)) as live:
            await asyncio.to_thread(check, live)


@needs_browser
async def test_without_a_token_or_with_a_wrong_one_nothing_is_switched(
    system: Any, page: Page
) -> None:
    async with system() as (made, folder):

        def check(live: LivePage) -> None:
            page.look(live.address.partition("#")[0])
            assert not page.js("document.getElementById('locked').hidden")
            assert page.js("document.getElementById('manage').disabled")
            page.do("document.getElementById('token').value = 'wrong'")
            page.click("#unlock")
            page.do("document.getElementById('preset').value = 'codel'")
            page.click("#manage")
            page.until("document.getElementById('said').textContent.includes('The token is wrong')")
            assert page.js("document.getElementById('manage').disabled")
            page.do(f"document.getElementById('token').value = {json.dumps(live.token)}")
            page.click("#unlock")
            assert not page.js("document.getElementById('manage').disabled")

        before = made.controller.deployment
        with live_page("--status-folder", str(folder)) as live:
            await asyncio.to_thread(check, live)
        assert made.controller.deployment is before


async def test_who_may_ask(system: Any) -> None:
    async with system() as (made, folder):

        def check(live: LivePage) -> None:
            here = f"127.0.0.1:{live.port}"
            switch = {
                "do": "manage", "modem": "cm1", "direction": "upstream", "reference": 1,
                "preset": "codel",
            }  # fmt: skip
            for path in ("/", "/api/system", "/bokeh/bokeh.min.js", "/api/updates", "/nothing"):
                status, content = ask(live, "GET", path, Host="evil.example")
                assert (status, "open it by" in content["error"]) == (403, True), path
                status, content = ask(live, "GET", path, Origin="http://evil.example")
                assert (status, "another host" in content["error"]) == (403, True), path
            status, content = ask(live, "POST", "/api/act", switch)
            assert (status, "no token" in content["error"]) == (403, True)
            status, content = ask(live, "POST", "/api/act", switch, X_Docsis_Token="x")
            assert (status, "token is wrong" in content["error"]) == (403, True)
            status, content = ask(
                live, "POST", "/api/act", switch,
                X_Docsis_Token=live.token, Origin="http://evil.example",
            )  # fmt: skip
            assert status == 403
            assert ask(live, "GET", "/api/system", Host=here)[0] == 200
            # With the token what is no request is told, and nothing happens.
            wrongs: tuple[object, ...] = (
                {},
                {"do": "manage"},
                {**switch, "more": 1},
                {**switch, "preset": "x"},
                [],
            )
            for body in wrongs:
                status, content = ask(live, "POST", "/api/act", body, X_Docsis_Token=live.token)
                assert status == 409
                assert content["error"]
            wrong = {**switch, "reference": 77}
            status, content = ask(live, "POST", "/api/act", wrong, X_Docsis_Token=live.token)
            assert (status, "no active upstream service flow 77" in content["error"]) == (409, True)
            status, content = ask(
                live, "POST", "/api/act", {"do": "start", "modem": "cm1", "kind": "upload"},
                X_Docsis_Token=live.token,
            )  # fmt: skip
            assert (status, "docsis-p4 run" in content["error"]) == (409, True)
            # More than a request may have.
            assert ask(live, "POST", "/api/act", "x" * 5000, X_Docsis_Token=live.token)[0] == 400

        before = made.controller.deployment
        with live_page("--status-folder", str(folder)) as live:
            await asyncio.to_thread(check, live)
        assert made.controller.deployment is before


async def test_one_that_only_shows_has_no_token(system: Any) -> None:
    async with system() as (_, folder):
        with live_page("--status-folder", str(folder), "--only-show") as live:
            assert "#" not in live.address
            status, content = await asyncio.to_thread(
                ask, live, "POST", "/api/act", {"do": "stop", "id": 1}, X_Docsis_Token="x"
            )
            assert (status, "only shows" in content["error"]) == (403, True)


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = subprocess.run(
            [sys.executable, "-m", "docsis_live", "--port", str(port)],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert result.returncode == 1
    assert result.stderr == (
        f"docsis-p4 live: port {port} of 127.0.0.1 is in use; give another with --port, or 0 for "
        "any that is free\n"
    )


def test_it_ends_with_its_standard_input() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "docsis_live", "--port", "0", "--until-stdin-ends"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"ready")
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


def updates(port: int, receive_buffer: int | None = None) -> socket.socket:
    """A client of the updates, after its handshake."""
    made = socket.socket()
    if receive_buffer is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    made.settimeout(60)
    made.connect(("127.0.0.1", port))
    made.sendall(
        f"GET /api/updates HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        "Sec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    return made


def words(client: socket.socket, text: bytes) -> None:
    """Sends a masked text message."""
    client.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)


async def test_a_page_that_stalls_is_dropped_and_others_go_on(system: Any) -> None:
    async with system() as (_, folder):

        def check(live: LivePage) -> None:
            wait_for(lambda: ask(live, "GET", "/api/system")[1].get("system"))
            stalled, lively = updates(live.port, 1 << 10), updates(live.port)
            assert stalled.recv(12) == b"HTTP/1.1 101"
            for client in (stalled, lively):
                words(client, b'{"modem":"cm1"}')
            # It asks again and again for everything, and takes nothing.
            taken = 0
            gone = False
            for _ in range(4_000):
                taken += len(lively.recv(1 << 16))
                try:
                    words(stalled, b'{"modem":"cm1"}')
                except OSError:
                    gone = True
                    break
            assert gone, f"it was not dropped, while {taken} bytes went to the other"
            assert lively.recv(1 << 16)
            stalled.close()
            lively.close()

        assert STALLED_SECONDS < 60
        with live_page("--status-folder", str(folder)) as live:
            await asyncio.to_thread(check, live)


async def test_no_more_pages_than_it_can_serve(system: Any) -> None:
    async with system() as (_, folder):

        def check(live: LivePage) -> None:
            clients = [updates(live.port) for _ in range(MOST_PAGES)]
            for client in clients:
                assert client.recv(12) == b"HTTP/1.1 101"
            one_more = updates(live.port)
            assert one_more.recv(12) == b"HTTP/1.1 403"
            for client in (*clients, one_more):
                client.close()

        with live_page("--status-folder", str(folder)) as live:
            await asyncio.to_thread(check, live)


async def test_history_comes_in_pieces(system: Any) -> None:
    async with system() as (_, folder):

        def check(live: LivePage) -> None:
            wait_for(lambda: ask(live, "GET", "/api/system")[1].get("system"))
            client = updates(live.port)
            words(client, b'{"modem":"cm1"}')
            path = "/api/history?modem=cm1&since="
            wait_for(lambda: len(ask(live, "GET", f"{path}0")[1].get("rows", ())) >= 5)
            rows = ask(live, "GET", f"{path}0")[1]["rows"]
            later = ask(live, "GET", f"{path}{rows[2]['n']}")[1]["rows"]
            assert later[: len(rows) - 2] == rows[2:]
            for wrong in ("x", "-1", "9" * 30):
                assert ask(live, "GET", f"{path}{wrong}")[0] == 404
            assert ask(live, "GET", "/api/history?modem=nobody&since=0")[0] == 404
            client.close()

        assert MOST_UPDATE_BYTES <= 64_000
        with live_page("--status-folder", str(folder)) as live:
            await asyncio.to_thread(check, live)


async def test_it_waits_for_a_system_and_says_so(system: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with live_page("--status-folder", str(folder)) as live:

        def trouble() -> str:
            return str(ask(live, "GET", "/api/system")[1]["trouble"])

        await asyncio.to_thread(wait_for, lambda: "no controller runs" in trouble())
        async with system() as (made, _):
            await asyncio.to_thread(wait_for, lambda: trouble() == "")
            await made.cmts.stop()
            await asyncio.to_thread(wait_for, lambda: "cmts1 does not answer" in trouble())
        await asyncio.to_thread(wait_for, lambda: "no controller runs" in trouble())
