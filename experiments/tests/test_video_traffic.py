# SPDX-License-Identifier: Apache-2.0
"""The adaptive video of Mininet: its files, what a player left, and a browser on the loopback
interface."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_experiments.experiment.videos import PlannedVideo
from docsis_experiments.stages.mininet import videos
from docsis_experiments.stages.mininet.samples import read_samples
from docsis_experiments.stages.mininet.traffic import video
from docsis_experiments.stages.mininet.traffic.video import boxes, browser, manifest, player
from docsis_experiments.stages.mininet.traffic.web import WebServer
from docsis_experiments.traffic.senders import AdaptiveVideo
from docsis_testbed.errors import TestbedError

VIDEO = AdaptiveVideo(
    ladder=(300_000, 600_000, 1_200_000),
    segment_ns=1_000_000_000,
    buffer_ns=4_000_000_000,
    safety_permille=800,
    samples=3,
    request=400,
)
PATIENCE = 40.0
"""Seconds until a test gives up; none waits for as long unless it fails."""

DASHJS = Path(player.__file__).parent / "dashjs"


def parsed(data: bytes) -> list[tuple[str, bytes]]:
    """The boxes of a file, and nothing is left of it."""
    found = []
    while data:
        size, kind = struct.unpack_from(">I4s", data)
        assert 8 <= size <= len(data)
        found.append((kind.decode(), data[8:size]))
        data = data[size:]
    return found


def test_an_initialization_segment_has_a_track_of_vp9() -> None:
    top = parsed(boxes.initialization())
    assert [kind for kind, _ in top] == ["ftyp", "moov"]
    movie = parsed(top[1][1])
    assert [kind for kind, _ in movie] == ["mvhd", "trak", "mvex"]
    # Lengths that the standard gives (14496-12, 8.2.2, 8.3.2).
    assert [len(movie[0][1]), len(parsed(movie[1][1])[0][1])] == [100, 84]
    assert b"vp09" in movie[1][1]
    assert b"vpcC" in movie[1][1]


def test_a_picture_is_a_key_frame_of_its_size() -> None:
    # VP9 bitstream, section 6.2: marker 2, profile 0, not shown again, key frame, shown; then the
    # synchronization code, and 4 bits on until both sides less one.
    first = boxes.PICTURE[0]
    assert (first >> 6, first >> 2 & 1, first >> 1 & 1) == (2, 0, 1)
    assert boxes.PICTURE[1:4] == bytes.fromhex("498342")
    bits = int.from_bytes(boxes.PICTURE[4:10])
    sides = bits >> 48 - 4 - 32 & (1 << 32) - 1
    assert (sides >> 16, sides & 0xFFFF) == (boxes.SIDE - 1, boxes.SIDE - 1)


@given(
    number=st.integers(0, 100_000),
    segment_ms=st.integers(200, 60_000),
    size=st.integers(1_000, 100_000),
)
def test_a_media_segment_has_its_bytes_and_times(number: int, segment_ms: int, size: int) -> None:
    head = boxes.media_head(number, segment_ms * 1_000_000, size)
    fragment, data, free = parsed(head + bytes(size - len(head)))
    assert [fragment[0], data[0], free[0]] == ["moof", "mdat", "free"]
    assert data[1] == boxes.PICTURE * boxes.PICTURES
    sequence, track = parsed(fragment[1])
    assert struct.unpack(">4xI", sequence[1]) == (number + 1,)
    defaults, begins, run = (content for _, content in parsed(track[1]))
    # Duration of a picture times their number, and where they begin.
    duration = struct.unpack_from(">I", defaults, 8)[0]
    assert duration * boxes.PICTURES == segment_ms * 1000
    assert struct.unpack(">4xQ", begins) == (number * segment_ms * 1000,)
    offset = struct.unpack(">4xIi", run)[1]
    assert head[offset : offset + len(boxes.PICTURE)] == boxes.PICTURE


def test_a_media_segment_without_room_is_refused() -> None:
    least = len(boxes.media_head(0, 10**9, 1000)) - 8
    assert len(boxes.media_head(0, 10**9, least)) == least
    for size in (least - 1, least + 7):
        with pytest.raises(ValueError, match="a media segment has"):
            boxes.media_head(0, 10**9, size)


def test_the_manifest_says_what_is_served() -> None:
    text = manifest.manifest(VIDEO, 100.5)
    root = ElementTree.fromstring(text)
    space = {"m": "urn:mpeg:dash:schema:mpd:2011"}
    rates = root.findall(".//m:Representation", space)
    assert [int(one.attrib["bandwidth"]) for one in rates] == list(VIDEO.ladder)
    template = root.find(".//m:SegmentTemplate", space)
    assert template is not None
    assert template.attrib["duration"] == "1000"
    # As long as the run, and what is in the buffer then.
    assert manifest.segments_of(VIDEO, 100.5) == 106
    assert root.attrib["mediaPresentationDuration"] == "PT106.000S"


def test_what_is_shipped_of_dashjs_is_what_was_published() -> None:
    lines = (DASHJS / "SHA256SUMS").read_text().splitlines()
    told = {name: digest for digest, name in map(str.split, lines)}
    assert set(told) == {"dash.mediaplayer.min.js", "dash.mediaplayer.min.js.LICENSE.txt"}
    for name, digest in told.items():
        assert hashlib.sha256((DASHJS / name).read_bytes()).hexdigest() == digest
    assert "BSD License" in (DASHJS / "LICENSE.md").read_text()


def test_played_times_are_read_from_where_the_player_was() -> None:
    # It is looked at every 0.1 s; the player begins at 1.04 s, and stands still from 5.04 to 7.02.
    time_s = np.arange(0, 12.05, 0.1)
    position_s = np.clip(time_s - 1.04, 0, 4) + np.clip(time_s - 7.02, 0, None)
    segments = [
        video.Segment(number, 10**9 * number, 10**9 * (number + 1), 300_000, 37_500, 0)
        for number in range(3)
    ]
    segments.append(video.Segment(3, 4 * 10**9, None, 600_000, 75_000, 10**9))
    one = videos.viewing_of(segments, time_s, position_s, 10**9, 4.0, math.inf)
    assert one.plays_s[:2] == pytest.approx([1.04, 7.02])
    assert one.plays_s[2] == pytest.approx(11.02)
    assert math.isnan(one.plays_s[3])
    assert math.isnan(one.came_s[3])
    assert list(one.asked_s) == [-1, 0, 1, 3]
    assert one.stalled(0, 11) == pytest.approx(7.02 - 5.04)
    # After it has gone, a page says that it is at the beginning.
    gone = videos.viewing_of(segments, time_s, np.where(time_s > 9, 0, position_s), 10**9, 4.0, 9.0)
    assert gone.plays_s[:2] == pytest.approx([1.04, 7.02])
    assert math.isnan(gone.plays_s[2])


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([], "a list of segments"),
        ({"segments": [], "samples": {}}, "a list of samples"),
        ({"segments": [[1, 2]], "samples": []}, "has 5 numbers"),
        ({"segments": [], "samples": [[1, 2, 0.5]]}, "whole numbers"),
        ({"segments": [], "samples": [[1, 2, True]]}, "whole numbers"),
        ({"segments": [[0, 1, 2, 7, 3]], "samples": []}, "7 bit/s are not of the ladder"),
        ({"segments": [], "samples": [[1 << 62, 0, 0]]}, "whole numbers"),
    ],
)
def test_what_a_page_tells_is_checked(records: object, words: str, tmp_path: Path) -> None:
    async def tell() -> None:
        with (tmp_path / "a").open("w") as segments, (tmp_path / "b").open("w") as samples:
            told = player.Told(video.VideoPlayer("v", "10.0.0.1", 80, VIDEO), segments, samples)
            with pytest.raises(ValueError, match=words):
                told.take(records)

    asyncio.run(tell())


def test_a_player_that_left_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=r"segments\.csv: no segments of the player"):
        video.read_segments(tmp_path / "segments.csv")


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that is ready, until the end of the block."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def files(tmp_path: Path) -> tuple[Path, Path, Path, Path]:
    """The files of a player of VIDEO: what it is told, its times, its segments and its samples."""
    # Another address than that of the player's page, as in Mininet.
    server = video.VideoServer(WebServer(os.getpid(), "127.0.0.2", 18_380, "cubic"), VIDEO, 60.0)
    video.write([server], tmp_path / "servers.json")
    assert video.read_servers(tmp_path / "servers.json") == [server]
    told = tmp_path / "player.json"
    video.write(video.VideoPlayer("tv", "127.0.0.2", 18_380, VIDEO), told)
    assert video.read_player(told).video == VIDEO
    return told, tmp_path / "times.json", tmp_path / "segments.csv", tmp_path / "samples.csv"


@pytest.mark.root
def test_a_browser_plays_and_goes(tmp_path: Path) -> None:
    assert browser.installed(), "make setup-video"
    told, times, of_segments, of_samples = files(tmp_path)
    with (
        running(video.serve_command(tmp_path / "servers.json")),
        running(video.play_command(told, times, of_segments, of_samples)) as playing,
    ):
        start_ns = time.time_ns() + 200_000_000
        end_ns = start_ns + 6_000_000_000
        video.write(video.Times(start_ns, end_ns), times)
        playing.send_signal(signal.SIGUSR1)
        until = time.monotonic() + PATIENCE
        while time.time_ns() < end_ns + 1_000_000_000 and time.monotonic() < until:
            assert playing.poll() is None
            time.sleep(0.05)
    segments = video.read_segments(of_segments)
    # The rule of the model: the lowest rate first, then the highest that the loopback carries.
    assert [one.number for one in segments] == list(range(len(segments)))
    assert segments[0].rate == 300_000
    assert {one.rate for one in segments[2:]} == {1_200_000}
    assert all(one.bytes == one.rate // 8 for one in segments)
    assert segments[0].asked_ns >= start_ns
    for one, following in pairwise(segments):
        assert one.came_ns is not None
        assert one.asked_ns <= one.came_ns <= following.asked_ns
    # It asks where the buffer of 4 s is not full.
    assert max(one.buffered_ns for one in segments) <= 4_000_000_000
    times_ns, counts = read_samples(of_samples)
    assert counts["tv"].max() >= sum(one.bytes for one in segments)
    played = counts[video.POSITION].max() / 1e6
    assert 3 < played <= 6.2
    watched = times_ns <= end_ns
    viewing = videos.viewing_of(
        segments,
        (times_ns[watched] - start_ns) / 1e9,
        counts[video.POSITION][watched] / 1e6,
        start_ns,
        1.0,
        6.0,
    )
    assert viewing.stalled(0.0, 6.0) == 0
    assert all(viewing.plays_s[:3] >= viewing.came_s[:3] - 0.001)


@pytest.mark.root
def test_a_browser_that_ends_ends_its_player_with_a_sentence(tmp_path: Path) -> None:
    told, times, of_segments, of_samples = files(tmp_path)
    with running(video.play_command(told, times, of_segments, of_samples)) as playing:
        children = Path(f"/proc/{playing.pid}/task/{playing.pid}/children").read_text().split()
        assert len(children) == 1
        os.kill(int(children[0]), signal.SIGKILL)
        playing.wait(PATIENCE)
        assert playing.stderr is not None
        said = playing.stderr.read()
    assert playing.returncode == 1
    assert said.startswith("the browser ended with exit status -9; see ")


def test_without_a_browser_mininet_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "BROWSER", "no-such-browser")
    monkeypatch.setattr(browser, "BROWSER", "no-such-browser")
    planned = PlannedVideo("tv", "tv", "a", "b", 8280, 0.0, None, VIDEO, "cubic")
    videos.check_browser([])
    with pytest.raises(TestbedError, match=r"tv is an adaptive video.*make setup-video"):
        videos.check_browser([planned])


def test_settings_name_what_dashjs_has() -> None:
    settings = json.dumps(manifest.player_settings(VIDEO))
    shipped = (DASHJS / "dash.mediaplayer.min.js").read_text()

    def names(tree: object) -> Iterator[str]:
        if isinstance(tree, dict):
            for key, value in tree.items():
                yield key
                yield from names(value)

    for name in set(names(json.loads(settings))):
        assert name in shipped, name
    assert "throughputCalculationModeArithmeticMean" in shipped
    # 0.8, three segments, and a buffer with room for one more than the model's.
    streaming = json.loads(settings)["streaming"]
    assert streaming["abr"]["throughput"]["bandwidthSafetyFactor"] == 0.8
    assert streaming["abr"]["throughput"]["sampleSettings"]["vod"] == 3
    assert streaming["buffer"]["bufferTimeDefault"] == 5.0
    active = [name for name, rule in streaming["abr"]["rules"].items() if rule["active"]]
    assert active == ["throughputRule"]
