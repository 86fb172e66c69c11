# SPDX-License-Identifier: Apache-2.0
"""The adaptive videos of a run in Mininet, and what their players left."""

from __future__ import annotations

import math
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.experiment.videos import PlannedVideo
from docsis_experiments.measurement.record import Received
from docsis_experiments.measurement.viewing import Viewing
from docsis_experiments.stages.mininet.samples import read_samples
from docsis_experiments.stages.mininet.traffic import video
from docsis_experiments.stages.mininet.traffic.video import browser
from docsis_experiments.stages.mininet.traffic.web import WebServer
from docsis_testbed.errors import TestbedError
from docsis_testbed.session import Session, wait_until_ready

Start = Callable[[str, Sequence[str]], subprocess.Popen[bytes]]
"""Starts a program outside of hosts, and waits until it is ready."""

_MARGIN_SECONDS: Final = 60.0
"""So much longer than the run is a video at least."""


def check_browser(videos: Sequence[PlannedVideo]) -> None:
    """Refuse to play videos without a browser.

    Raises:
        TestbedError: There is none.
    """
    if videos and not browser.installed():
        raise TestbedError(
            f"{videos[0].group} is an adaptive video, whose player in Mininet is a browser, and "
            f"{video.BROWSER} is not on PATH: run `make setup-video`, install Debian's "
            f"{video.BROWSER}, or run this in virtual time"
        )


class VideoTraffic:
    """Players, each a browser in its host, and one program that has all of their servers.

    Args:
        session: The switches and hosts.
        videos: Videos of the plan, with nothing left to chance.
        seconds: Length of the run.
    """

    def __init__(self, session: Session, videos: Sequence[PlannedVideo], seconds: float) -> None:
        self._session = session
        self._videos = videos
        self._seconds = seconds + _MARGIN_SECONDS
        self._players: list[tuple[PlannedVideo, subprocess.Popen[bytes]]] = []

    def start(self, start: Start) -> list[subprocess.Popen[bytes]]:
        """The servers' program and the players', which then wait for `tell`."""
        if not self._videos:
            return []
        file = self._session.folder / "video-servers.json"
        video.write([self._server(planned) for planned in self._videos], file)
        servers = start("video-servers", video.serve_command(file))
        self._players = [(planned, self._launch(planned)) for planned in self._videos]
        # They start side by side: a browser takes its time.
        for planned, process in self._players:
            what, log = f"the player {planned.name}", self._file(planned, ".log")
            self._session.watch(what, process, log)
            wait_until_ready(process, what, log)
        return [servers, *(process for _, process in self._players)]

    def _server(self, planned: PlannedVideo) -> video.VideoServer:
        node = self._session.testbed.node(planned.server)
        address = self._session.address(planned.server)
        at = WebServer(node.pid, address, planned.port, planned.congestion_control)
        return video.VideoServer(at, planned.video, self._seconds)

    def _launch(self, planned: PlannedVideo) -> subprocess.Popen[bytes]:
        address = self._session.address(planned.server)
        told = self._file(planned, ".json")
        video.write(video.VideoPlayer(planned.name, address, planned.port, planned.video), told)
        command = video.play_command(
            told,
            self._file(planned, "-times.json"),
            self._file(planned, "-segments.csv"),
            self._file(planned, "-samples.csv"),
        )
        # Not under SCHED_RR: a browser would keep a processor from what is.
        return self._session.launch(planned.viewer, command, self._file(planned, ".log").name)

    def tell(self, origin_ns: int) -> None:
        """Tell the players from when to when they play.

        Args:
            origin_ns: Start of the run's timetable, wall clock in nanoseconds.
        """
        for planned, process in self._players:
            end = None if planned.end is None else origin_ns + round(planned.end * 1e9)
            times = video.Times(origin_ns + round(planned.start * 1e9), end)
            video.write(times, self._file(planned, "-times.json"))
            process.send_signal(signal.SIGUSR1)

    def _file(self, planned: PlannedVideo, ending: str) -> Path:
        return self._session.folder / f"video-{planned.name}{ending}"

    def viewings(self, start_ns: int, measured_from: float) -> dict[str, dict[str, Viewing]]:
        """Reads the players' viewings, by group, on the record's time axis.

        Args:
            start_ns: Start of the measured time, wall clock in nanoseconds.
            measured_from: The same in seconds of the run.
        """
        found: dict[str, dict[str, Viewing]] = {}
        for planned in self._videos:
            segments = video.read_segments(self._file(planned, "-segments.csv"))
            times, counts = read_samples(self._file(planned, "-samples.csv"))
            end = math.inf if planned.end is None else planned.end - measured_from
            viewing = viewing_of(
                segments,
                (times - start_ns) / 1e9,
                counts[video.POSITION] / 1e6,
                start_ns,
                planned.video.segment_ns / 1e9,
                end,
            )
            found.setdefault(planned.group, {})[planned.name] = viewing
        return found

    def received(self, start_ns: int) -> dict[str, Received]:
        """Reads what had arrived, by group, on the same axis; players sample at their own times."""
        found: dict[str, Received] = {}
        for planned in self._videos:
            times, counts = read_samples(self._file(planned, "-samples.csv"))
            time_s = (times - start_ns) / 1e9
            flow = counts[planned.name].astype(np.float64)
            if (group := found.get(planned.group)) is None:
                found[planned.group] = Received(time_s, {planned.name: flow})
            else:
                # At the first one's times, so that the group has one axis.
                flow = np.interp(group.time_s, time_s, flow)
                flows = {**group.flow_bytes, planned.name: flow}
                found[planned.group] = Received(group.time_s, flows)
        return found


def viewing_of(
    segments: Sequence[video.Segment],
    time_s: npt.NDArray[np.float64],
    position_s: npt.NDArray[np.float64],
    start_ns: int,
    segment_s: float,
    end_s: float,
) -> Viewing:
    """Makes a player's viewing from its segments and its positions. Pure.

    Args:
        segments: In the order in which they were there.
        time_s: When it was looked where the player was.
        position_s: How much of the video had been played then.
        start_ns: 0 s, wall clock.
        segment_s: Playing time of a segment.
        end_s: When the player went.
    """
    watched = time_s <= end_s
    time_s, position_s = time_s[watched], position_s[watched]

    def seconds(at_ns: int | None) -> float:
        return math.nan if at_ns is None else (at_ns - start_ns) / 1e9

    def plays(number: int) -> float:
        after = int(np.searchsorted(position_s, number * segment_s, side="right"))
        if after == position_s.size:
            return math.nan
        # It plays as fast as time goes by; but it was not there yet when looked at before.
        began = float(time_s[after] - (position_s[after] - number * segment_s))
        return began if after == 0 else max(began, float(time_s[after - 1]))

    return Viewing(
        asked_s=np.array([seconds(one.asked_ns) for one in segments]),
        came_s=np.array([seconds(one.came_ns) for one in segments]),
        plays_s=np.array([plays(one.number) for one in segments]),
        rate_mbps=np.array([one.rate / 1e6 for one in segments]),
        bytes=np.array([float(one.bytes) for one in segments]),
        buffered_s=np.array([one.buffered_ns / 1e9 for one in segments]),
        segment_s=segment_s,
        end_s=end_s,
    )
