# SPDX-License-Identifier: Apache-2.0
"""A player: a browser on a page of its own, which tells what it sees.

The page comes from the loopback interface of the player's host, so that only the video is on the
network. A browser that ends, fails or falls silent ends the player, with a sentence.
"""

from __future__ import annotations

import asyncio
import json
import math
import signal
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from docsis_experiments.stages.mininet.traffic.receiving import SAMPLE_SECONDS
from docsis_experiments.stages.mininet.traffic.video import (
    POSITION,
    SEGMENT_COLUMNS,
    Times,
    VideoPlayer,
    read_times,
)
from docsis_experiments.stages.mininet.traffic.video.browser import browsing
from docsis_experiments.stages.mininet.traffic.video.manifest import MANIFEST, player_settings
from docsis_testbed.errors import TestbedError

READY_SECONDS: Final = 25.0
"""Until its page has loaded; a run waits for a program a little longer."""
SILENT_SECONDS: Final = 20.0
"""A browser tells twice a second; one that is silent for so long is no player any more."""
_MOST_BODY: Final = 1 << 20
_MOST_WORDS: Final = 500
_HERE: Final = Path(__file__).parent
_FILES: Final = {
    "/": ("text/html", _HERE / "page.html"),
    "/page.js": ("text/javascript", _HERE / "page.js"),
    "/dash.js": ("text/javascript", _HERE / "dashjs" / "dash.mediaplayer.min.js"),
}


class Told:
    """The state that the browser has told so far.

    Args:
        player: The player who watches.
        segments: Gets a line of each segment.
        samples: Gets the samples.

    Attributes:
        ready: Its page has loaded.
        failed: Done with a sentence when it says that it cannot go on.
        times: Done when it is known from when to when it plays.
        heard: It has told something since this was cleared.
    """

    def __init__(self, player: VideoPlayer, segments: IO[str], samples: IO[str]) -> None:
        loop = asyncio.get_running_loop()
        self.ready = asyncio.Event()
        self.heard = asyncio.Event()
        self.failed: asyncio.Future[str] = loop.create_future()
        self.times: asyncio.Future[Times] = loop.create_future()
        self._video = player.video
        self._segments = segments
        self._samples = samples
        segments.write(",".join(SEGMENT_COLUMNS) + "\n")
        samples.write(f"time_ns,{player.name},{POSITION}\n")

    def begin(self, times: Path) -> None:
        """The file of its times has been written."""
        if not self.times.done():
            self.times.set_result(read_times(times))

    def fail(self, words: str) -> None:
        """It cannot go on."""
        if not self.failed.done():
            self.failed.set_result(words[:_MOST_WORDS])

    def take(self, records: Any) -> None:
        """Takes the records of what the browser saw since the last time.

        Raises:
            ValueError: It makes no sense.
        """
        segments = [self._segment(row) for row in _rows(records, "segments", 5)]
        samples = _rows(records, "samples", 3)
        for row in segments:
            self._segments.write(",".join(map(str, row)) + "\n")
        for at_ms, position_us, received in samples:
            self._samples.write(f"{at_ms * 1_000_000},{received},{position_us}\n")
        self._segments.flush()
        self._samples.flush()

    def _segment(self, row: list[int]) -> tuple[int, ...]:
        number, asked_ms, came_ms, rate, buffered_ms = row
        if rate not in self._video.ladder:
            raise ValueError(f"{rate} bit/s are not of the ladder")
        size = self._video.segment_bytes(rate)
        asked, came, buffered = (ms * 1_000_000 for ms in (asked_ms, came_ms, buffered_ms))
        return (number, asked, came, rate, size, buffered)


def _rows(records: Any, key: str, width: int) -> list[list[int]]:
    if not isinstance(records, dict) or not isinstance(rows := records.get(key), list):
        raise ValueError(f"records have a list of {key}")
    for row in rows:
        if not isinstance(row, list) or len(row) != width:
            raise ValueError(f"a row of {key} has {width} numbers")
        if not all(type(value) is int and 0 <= value < 1 << 62 for value in row):
            raise ValueError(f"a row of {key} has whole numbers, not {row}")
    return rows


class _File(RequestHandler):
    def initialize(self, kind: str, content: bytes) -> None:
        self._kind = kind
        self._content = content

    def get(self) -> None:
        """All of it."""
        self.set_header("Content-Type", f"{self._kind}; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.write(self._content)


class _Post(RequestHandler):
    def initialize(self, told: Told) -> None:
        self._told = told

    def post(self, what: str) -> None:
        """The browser tells something."""
        told = self._told
        try:
            if what == "ready":
                told.ready.set()
            elif what == "failed":
                told.fail(str(json.loads(self.request.body)))
            else:
                told.heard.set()
                told.take(json.loads(self.request.body))
        except ValueError as error:
            told.fail(f"its page told what makes no sense: {error}")
        self.set_status(204)


class _ToldToPage(RequestHandler):
    def initialize(self, player: VideoPlayer, told: Told) -> None:
        self._player = player
        self._told = told

    async def get(self) -> None:
        """Answers with everything that the page has to know, once the times are known."""
        self.write(told_to_page(self._player, await asyncio.shield(self._told.times)))


def told_to_page(player: VideoPlayer, times: Times) -> dict[str, Any]:
    """Makes the document of everything that the page has to know."""
    return {
        "manifest": f"http://{player.address}:{player.port}/{MANIFEST}",
        "start_ms": times.start_ns / 1e6,
        "end_ms": None if times.end_ns is None else times.end_ns / 1e6,
        "sample_ms": math.floor(1000 * SAMPLE_SECONDS),
        "settings": player_settings(player.video),
    }


def _application(player: VideoPlayer, told: Told) -> Application:
    files = {path: (kind, file.read_bytes()) for path, (kind, file) in _FILES.items()}
    return Application(
        [
            *(
                (path, _File, {"kind": kind, "content": content})
                for path, (kind, content) in files.items()
            ),
            ("/told.json", _ToldToPage, {"player": player, "told": told}),
            (r"/(ready|records|failed)", _Post, {"told": told}),
        ],
        log_function=lambda _: None,
    )


async def play(player: VideoPlayer, times: Path, segments: Path, samples: Path) -> None:
    """Until it is cancelled.

    Args:
        player: The player who watches.
        times: File that will have from when to when.
        segments: File for the segments.
        samples: File for the samples; what the browser says goes into one beside it.

    Raises:
        TestbedError: The browser ended, failed or fell silent.
    """
    log = samples.with_suffix(".browser.log")
    with segments.open("w") as of_segments, samples.open("w") as of_samples, log.open("wb") as said:
        told = Told(player, of_segments, of_samples)
        http = HTTPServer(_application(player, told), max_body_size=_MOST_BODY)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, told.begin, times)
        [listening] = bind_sockets(0, "127.0.0.1")
        http.add_socket(listening)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        try:
            async with browsing(address, player.address, said) as browser:
                await _watch(told, browser, log)
        finally:
            http.stop()


async def _watch(told: Told, browser: asyncio.subprocess.Process, log: Path) -> None:
    ended = asyncio.ensure_future(browser.wait())
    ready = asyncio.ensure_future(told.ready.wait())
    silent = asyncio.ensure_future(_silent(told))
    first = asyncio.FIRST_COMPLETED
    try:
        await asyncio.wait((ended, told.failed, ready), timeout=READY_SECONDS, return_when=first)
        if told.ready.is_set() and not told.failed.done():
            print("ready", flush=True)
            await asyncio.wait((ended, told.failed, silent), return_when=first)
        raise TestbedError(_why(told, ended, log))
    finally:
        for task in (ended, ready, silent):
            task.cancel()


def _why(told: Told, ended: asyncio.Future[int], log: Path) -> str:
    if told.failed.done():
        return f"the browser cannot go on: {told.failed.result()}"
    if ended.done():
        return f"the browser ended with exit status {ended.result()}; see {log}"
    if not told.ready.is_set():
        return f"the browser had not loaded its page after {READY_SECONDS:.0f} s; see {log}"
    return f"the browser has been silent for {SILENT_SECONDS:.0f} s; see {log}"


async def _silent(told: Told) -> None:
    """Until it has been silent for too long."""
    await asyncio.shield(told.times)
    with suppress(TimeoutError):
        while True:
            async with asyncio.timeout(SILENT_SECONDS):
                await told.heard.wait()
            told.heard.clear()
