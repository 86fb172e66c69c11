# SPDX-License-Identifier: Apache-2.0
"""Servers of videos in hosts' namespaces: MPD, initialization segment, segments of each rate."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.web import Application, HTTPError, RequestHandler

from docsis_experiments.stages.mininet.traffic.video import VideoServer
from docsis_experiments.stages.mininet.traffic.video.boxes import initialization, media_head
from docsis_experiments.stages.mininet.traffic.video.manifest import (
    INITIALIZATION,
    MANIFEST,
    manifest,
    segments_of,
)
from docsis_experiments.stages.mininet.traffic.web.server import listening
from docsis_experiments.traffic.senders import AdaptiveVideo

_ZEROS: Final = bytes(1 << 16)


class _Answers(RequestHandler):
    """Sets the headers of every answer, for a page that comes from elsewhere and measures."""

    def set_default_headers(self) -> None:
        self.set_header("Access-Control-Allow-Origin", "*")
        self.set_header("Timing-Allow-Origin", "*")
        self.set_header("Cache-Control", "no-store")


class _Whole(_Answers):
    """A small file."""

    def initialize(self, kind: str, content: bytes) -> None:
        self._kind = kind
        self._content = content

    def get(self) -> None:
        """All of it."""
        self.set_header("Content-Type", self._kind)
        self.write(self._content)


class _Segment(_Answers):
    """A media segment of the size that its rate says."""

    def initialize(self, video: AdaptiveVideo, segments: int) -> None:
        self._video = video
        self._segments = segments

    async def get(self, place: str, number: str) -> None:
        """Sends it as fast as TCP takes it."""
        video = self._video
        if int(place) >= len(video.ladder) or int(number) >= self._segments:
            raise HTTPError(404)
        size = video.segment_bytes(video.ladder[int(place)])
        head = media_head(int(number), video.segment_ns, size)
        self.set_header("Content-Type", "video/mp4")
        self.set_header("Content-Length", str(size))
        self.write(head)
        left = size - len(head)
        # A client that has gone does not want the rest.
        with suppress(StreamClosedError):
            while left > 0:
                self.write(_ZEROS[:left])
                left -= len(_ZEROS)
                await self.flush()


def application(video: AdaptiveVideo, seconds: float) -> Application:
    """Makes the application that serves a video."""
    small = [
        (MANIFEST, "application/dash+xml", manifest(video, seconds).encode()),
        (INITIALIZATION, "video/mp4", initialization()),
    ]
    segments = {"video": video, "segments": segments_of(video, seconds)}
    return Application(
        [
            *((f"/{name}", _Whole, {"kind": kind, "content": of}) for name, kind, of in small),
            (r"/([0-9]{1,2})/([0-9]{1,9})\.m4s", _Segment, segments),
        ],
        log_function=lambda _: None,
    )


async def serve(servers: Sequence[VideoServer]) -> None:
    """Until the process is ended."""
    for server in servers:
        # A connection is the viewer's for as long as it watches.
        http = HTTPServer(application(server.video, server.seconds), idle_connection_timeout=3600)
        http.add_socket(listening(server.at))
    print("ready", flush=True)
    await asyncio.Event().wait()
