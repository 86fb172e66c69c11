# SPDX-License-Identifier: Apache-2.0
"""Adaptive videos: dash.js in a headless Chromium, and servers with Tornado.

    python -m ...traffic.video serve SERVERS.json
    python -m ...traffic.video play PLAYER.json TIMES.json SEGMENTS.csv SAMPLES.csv

The servers are one process with sockets in the namespaces of their hosts. Each player is a process
in the namespace of its host, which has a browser. Both say "ready" and go on until they are ended.
A browser takes seconds to start, so a player is ready first; SIGUSR1 tells it that the file of its
times, from when to when it plays, has been written.

A player writes of each segment when it was asked for and when all of it was there, and ten times a
second how far the video was played, and what had come.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from docsis_experiments.stages.mininet.traffic.web import WebServer
from docsis_experiments.stages.mininet.traffic.whole_files import whole
from docsis_experiments.traffic.senders import AdaptiveVideo
from docsis_testbed.errors import TestbedError

BROWSER: Final = "chromium"
"""The browser's program."""

POSITION: Final = "position_us"
"""Column of the samples: microseconds of the video that have been played."""

SEGMENT_COLUMNS: Final = ("number", "asked_ns", "came_ns", "rate", "bytes", "buffered_ns")


@dataclass(frozen=True)
class VideoServer:
    """A server of a video.

    Attributes:
        at: Address and port.
        video: What is served.
        seconds: It lasts as long at least.
    """

    at: WebServer
    video: AdaptiveVideo
    seconds: float


@dataclass(frozen=True)
class VideoPlayer:
    """A player of a video.

    Attributes:
        name: Column of the samples.
        address: IPv4 address of the server.
        port: Its TCP port.
        video: What is watched.
    """

    name: str
    address: str
    port: int
    video: AdaptiveVideo


@dataclass(frozen=True)
class Times:
    """From when to when a video is watched, wall clock in nanoseconds.

    Attributes:
        start_ns: The beginning.
        end_ns: When the viewer goes; None for never.
    """

    start_ns: int
    end_ns: int | None


@dataclass(frozen=True)
class Segment:
    """A segment that was asked for; times are of the wall clock, nanoseconds.

    Attributes:
        number: Number of the segment, from 0.
        asked_ns: When it was asked for.
        came_ns: When all of it was there; None where it never was.
        rate: bit/s.
        bytes: Its size.
        buffered_ns: Playing time in the buffer when it was asked for.
    """

    number: int
    asked_ns: int
    came_ns: int | None
    rate: int
    bytes: int
    buffered_ns: int


def serve_command(servers: Path) -> list[str]:
    """The servers of a file."""
    return [sys.executable, "-m", __name__, "serve", str(servers)]


def play_command(player: Path, times: Path, segments: Path, samples: Path) -> list[str]:
    """The player of a file, where its times will be, and where it writes."""
    files = map(str, (player, times, segments, samples))
    return [sys.executable, "-m", __name__, "play", *files]


def write(what: VideoPlayer | Times | Sequence[VideoServer], path: Path) -> None:
    """Write something for its program, which finds all of it or nothing."""
    data: Any = [asdict(one) for one in what] if isinstance(what, Sequence) else asdict(what)
    with whole(path) as part:
        part.write_text(json.dumps(data, indent=1) + "\n")


def read_servers(path: Path) -> list[VideoServer]:
    """Reads a file of `write` with servers."""
    return [
        VideoServer(WebServer(**item["at"]), _video(item["video"]), item["seconds"])
        for item in json.loads(path.read_text())
    ]


def read_player(path: Path) -> VideoPlayer:
    """Reads a file of `write` with a player."""
    data = json.loads(path.read_text())
    return VideoPlayer(video=_video(data.pop("video")), **data)


def read_times(path: Path) -> Times:
    """Reads a file of `write` with times."""
    return Times(**json.loads(path.read_text()))


def _video(data: dict[str, Any]) -> AdaptiveVideo:
    return AdaptiveVideo(ladder=tuple(data.pop("ladder")), **data)


def read_segments(path: Path) -> list[Segment]:
    """The segments that a player asked for, in that order.

    Raises:
        TestbedError: They are not there, or not whole.
    """
    try:
        with path.open(newline="") as file:
            return [_segment(row) for row in csv.DictReader(file)]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise TestbedError(
            f"{path}: no segments of the player ({error!r}); its log beside it may say why"
        ) from None


def _segment(row: dict[str, str]) -> Segment:
    number, asked, came, rate, size, buffered = (row[name] for name in SEGMENT_COLUMNS)
    return Segment(
        int(number), int(asked), int(came) if came else None, int(rate), int(size), int(buffered)
    )
