# SPDX-License-Identifier: Apache-2.0
"""Adaptive video: its keys, plans, measures, and what a world makes of it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scenario_files
from hypothesis import given
from hypothesis import strategies as st
from test_tcp_and_starts import only

from docsis_control.config.errors import ConfigError
from docsis_experiments.experiment.draws import drawn
from docsis_experiments.experiment.loader import load
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.measurement.metrics import (
    played_rate,
    rate_fall,
    rate_return,
    rate_switches,
    stall_time,
)
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.viewing import Viewing, mean_rate

GAME = "  - {name: game, kind: game}\n"
RATES = "[0.3 Mbps, 0.6 Mbps, 1.2 Mbps]"


def test_each_player_has_a_server_of_its_own(tmp_path: Path) -> None:
    video = "{name: tv, kind: adaptive-video, count: 3, servers: [server2, server1], safety: 0.75}"
    loaded = scenario_files.loaded(tmp_path, (GAME, f"  - {video}\n"))
    first, second, third = plan_for(loaded.scenario, loaded.topology).videos
    assert (first.name, first.viewer, first.server, first.port) == ("tv-1", "cpe1", "server2", 8280)
    assert (second.viewer, second.server, second.port) == ("cpe2", "server1", 8281)
    assert (third.viewer, third.server, third.port) == ("cpe1", "server2", 8282)
    assert (first.start, first.end, first.congestion_control) == (0.0, None, "cubic")
    assert first.video.ladder == tuple(
        kbps * 1000 for kbps in (300, 600, 1000, 1500, 2100, 3000, 4200)
    )
    assert (first.video.safety_permille, first.video.samples) == (750, 3)
    assert (first.video.segment_ns, first.video.buffer_ns) == (4 * 10**9, 30 * 10**9)
    # 0.3 Mbit/s for 4 s.
    assert first.video.segment_bytes(300_000) == 150_000


def test_starts_are_drawn_by_name(tmp_path: Path) -> None:
    video = "  - {name: tv, kind: adaptive-video, count: 2, start_spread: 4 s}\n"
    loaded = scenario_files.loaded(tmp_path, (GAME, video))
    plan = plan_for(loaded.scenario, loaded.topology)
    one, other = (drawn(plan, seed).videos for seed in (1, 2))
    assert one == drawn(plan, 1).videos
    assert one != other
    assert len({planned.start for planned in one}) == 2
    assert all(0 <= planned.start < 4 and not planned.start_spread for planned in one)


@pytest.mark.parametrize(
    ("keys", "key", "words"),
    [
        ("ladder: []", "ladder", "there is no rate, so that nothing can be played"),
        ("ladder: [1 Mbps, 1 Mbps]", "ladder.1", "1 Mbps is not above 1 Mbps before it"),
        ("ladder: [1 Mbps, 2 Mbps, 600 kbps]", "ladder.2", "600 kbps is not above 2 Mbps"),
        ("ladder: [0 bps, 1 Mbps]", "ladder.0", "has 0 B; it must have 1 KB to 100 MB"),
        ("ladder: [1 kbps]", "ladder.0", "has 500 B"),
        ("ladder: [1 Mbps, 5 Gbps]", "ladder.1", "100 MB"),
        ("segment: 31 s", "segment", "31 s do not fit into the buffer of 30 s"),
        ("segment: 100 ms", "segment", "200 ms to 60 s"),
        ("segment: 1500500 us", "segment", "whole milliseconds"),
        ("buffer: 11 min", "buffer", ""),
        ("buffer: 601 s", "buffer", "10 minutes at most"),
        ("safety: 1.1", "safety", "less than or equal to 1"),
        ("samples: 0", "samples", "greater than or equal to 1"),
        ("request: 1 B", "request", "16 B to 100 KB"),
        ("mesh: true", "mesh", "count of players"),
        ("count: 17", "count", "there may be 16"),
        ("quality: high", "quality", ""),
        # The topology's downstream service flow has 120 Mbps.
        (
            "ladder: [200 Mbps, 300 Mbps], segment: 1 s",
            "ladder.0",
            "no rate of v can be played: the lowest, 200 Mbps, is above the",
        ),
    ],
)
def test_what_cannot_be_is_told_by_its_key(keys: str, key: str, words: str, tmp_path: Path) -> None:
    group = f"  - {{name: v, kind: adaptive-video, {keys}}}\n"
    file = scenario_files.write(tmp_path, (GAME, group))
    with pytest.raises(ConfigError) as raised:
        load(file)
    [problem] = raised.value.problems
    assert problem.key == f"traffic.2.{key}"
    assert problem.line is not None
    assert words in problem.message


def viewing(plays: list[float], rates: list[float], end_s: float = math.inf) -> Viewing:
    """Segments of 4 s that were there in time."""
    times = np.array(plays)
    return Viewing(
        asked_s=times - 2,
        came_s=times - 1,
        plays_s=times,
        rate_mbps=np.array(rates),
        bytes=np.array(rates) * 5e5,
        buffered_s=np.zeros(times.size),
        segment_s=4.0,
        end_s=end_s,
    )


def test_measures_of_a_schedule_by_hand() -> None:
    # Plays from 0, stands still from 8 to 10 and from 18 on; the last one never begins.
    one = viewing([0, 4, 10, 14, math.nan], [1, 3, 3, 1, 1])
    assert list(one.played(2, 12)) == [2, 4, 2, 0, 0]
    # (2 x 1 + 4 x 3 + 2 x 3) / 8.
    assert mean_rate([one], 2, 12) == 2.5
    assert list(one.stalls()) == [(8, 10), (18, math.inf)]
    assert one.stalled(0, 20) == 4
    assert one.stalled(9, 19) == 2
    # Of rates 1 3 3 1 1 the second and the fourth are switches, at 4 s and 14 s.
    assert (one.switches(0, 20), one.switches(5, 20), one.switches(4, 14)) == (2, 1, 1)
    assert math.isnan(mean_rate([one], 30, 40))
    assert math.isnan(mean_rate([], 0, 40))
    # Another one that plays the same at twice the rate, for half as long.
    other = viewing([0, 4], [2, 2])
    assert mean_rate([one, other], 0, 8) == 2
    # Who has gone does not stand still.
    gone = viewing([0, 4], [1, 1], end_s=6.0)
    assert gone.stalled(0, 20) == 0
    assert list(gone.played(0, 20)) == [4, 2]
    # A twentieth of a second between two segments is no stall.
    assert viewing([0, 4.05], [1, 1], end_s=8.0).stalled(0, 20) == 0


def test_rates_that_are_asked_for_by_hand() -> None:
    # Asked for at -2, 2, 6, 10, 14, 18 and 22 s.
    one = viewing([0, 4, 8, 12, 16, 20, 24], [1, 3, 3, 3, 1.5, 1, 3])
    assert list(one.asked(2, 14)) == [3, 3, 3]
    # What is asked for before the measured time is not looked at.
    assert rate_fall.fall_percent(one, 12, 15) == pytest.approx(50)
    assert rate_fall.fall_percent(one, 12, 20) == pytest.approx(100 * 2 / 3)
    assert rate_fall.fall_percent(one, 4, 12) == 0
    # The mean of 49 rates of 4.2 is not quite 4.2.
    steady = viewing([4.0 * number for number in range(60)], [4.2] * 60)
    assert rate_fall.fall_percent(steady, 196, 230) == 0
    assert rate_return.return_seconds(one, 12, 17) == 5
    assert rate_return.return_seconds(one, 12, 22) == 0
    assert rate_return.return_seconds(one, 12, 23) == math.inf
    # Nothing before it, and nothing in it.
    for start, end in ((2, 20), (12, 13)):
        assert math.isnan(rate_fall.fall_percent(one, start, end))
        assert math.isnan(rate_return.return_seconds(one, start, end))
    # The mean of equal rates is not above them.
    same = viewing([4.0 * place for place in range(12)], [4.2] * 12)
    assert rate_return.return_seconds(same, 30, 36) == 2


@given(
    gaps=st.lists(st.floats(0, 10), min_size=1, max_size=20),
    span=st.tuples(st.floats(0, 100), st.floats(0, 100)).map(sorted),
)
def test_what_is_not_played_is_stood_still(gaps: list[float], span: list[float]) -> None:
    plays = np.cumsum([0.0, *(4 + gap if gap >= 0.11 else 4.0 for gap in gaps)])
    one = viewing(list(plays), [1.0] * plays.size)
    start, end = span
    assert one.played(start, end).sum() + one.stalled(start, end) == pytest.approx(end - start)


def test_a_world_plays_the_highest_rate_and_stops_with_its_group(tmp_path: Path) -> None:
    video = f"{{name: tv, kind: adaptive-video, count: 2, ladder: {RATES}, segment: 1 s, end: 8 s}}"
    record = only(tmp_path, video)
    assert set(record.videos["tv"]) == {"tv-1", "tv-2"}
    scope = Scope(("tv",))
    for one in record.videos["tv"].values():
        assert one.rate_mbps[0] == 0.3
        assert set(one.rate_mbps[1:]) == {1.2}
        assert one.end_s == 8.0
        assert (one.bytes == one.rate_mbps * 1e6 / 8).all()
        assert (one.buffered_s <= 31).all()
        there = ~np.isnan(one.came_s)
        assert (one.plays_s[there] >= one.came_s[there]).all()
    assert played_rate.METRIC.value(scope, record) == pytest.approx(1.2)
    assert stall_time.METRIC.value(scope, record) == 0
    assert rate_switches.METRIC.value(replace(scope, during=(1.0, 8.0)), record) == 0
    assert rate_switches.METRIC.flows is not None
    assert len(rate_switches.METRIC.flows(scope, record)) == 2
    # The buffers are full at 0 s: what comes is what is played, a segment more or less.
    assert sum(record.received["tv"].mbps(0, 8)) == pytest.approx(2 * 1.2, abs=2 * 1.2 / 8)
    record.write(tmp_path)
    header = "group,player,asked_s,came_s,plays_s,rate_mbps,bytes,buffered_s\ntv,tv-1,"
    assert (tmp_path / "videos.csv").read_text().startswith(header)
