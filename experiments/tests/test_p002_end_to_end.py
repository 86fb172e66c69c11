# SPDX-License-Identifier: Apache-2.0
"""One queue under several service flows, from a row's settings to goodput, in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from docsis_experiments.reproduction.row import Level
from docsis_experiments.reproduction.settings.p002_network import FRAME
from docsis_experiments.reproduction.settings.p002_outcomes import goodput_mbps, measured
from docsis_experiments.reproduction.settings.p002_quantities import least_over_most
from docsis_experiments.reproduction.settings.p002_readings import Reading
from docsis_experiments.reproduction.settings.p002_traffic import TIER2, VIDEO, ftp
from docsis_experiments.reproduction.settings.p002_units import Experiment, Setting
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.runs.play import play

pytestmark = pytest.mark.long

PAYLOAD = 1460 / FRAME


def played(setting: Setting, folder: Path) -> Outcome:
    outcome = play(setting.unit(Level.SMOKE, Reading.FIRST, 901), folder)
    assert not outcome.withheld
    # The sums are those of the one queue.
    counters = outcome.counters
    dropped = sum(count for name, count in counters.items() if name.startswith("sf_drop"))
    queued = counters["sf_received"] - counters["sf_forwarded"] - dropped
    # What was queued at the end of the time, less what was at its start.
    assert abs(queued) <= 3 * 2048
    return outcome


def test_caps_in_front_of_an_idle_channel_hold(tmp_path: Path) -> None:
    setting = Setting("drop-tail", 1, Experiment.TIERS)
    outcome = played(setting, tmp_path)
    during = setting.times(Level.SMOKE).middle
    for group, cap in ((ftp(1), 6), (TIER2, 12)):
        # The bucket of 3044 bytes beside it.
        most = cap * PAYLOAD + 8e-6 * 3044 / (during[1] - during[0])
        assert 0 < goodput_mbps(outcome, group, during) <= most
    # Each has its own.
    assert goodput_mbps(outcome, TIER2, during) > 6
    # 18 of 38 Mbit/s: the queue behind the caps has nothing to drop.
    assert outcome.counters["sf_drop_buffer_full"] == 0


def test_udp_gets_its_share_from_turns_and_nearly_all_from_one_queue(tmp_path: Path) -> None:
    """002's EXP4 in a minute: which of the two it is, not how much."""
    found = {}
    for manager in ("drr", "drop-tail"):
        setting = Setting(manager, 5, Experiment.OVERLOAD)
        during = setting.times(Level.SMOKE).middle
        found[manager] = goodput_mbps(played(setting, tmp_path), "udp", during)
    assert found["drr"] < 7
    assert found["drop-tail"] > 9


def test_turns_give_downloads_and_videos_the_same(tmp_path: Path) -> None:
    """Two of the 17 flows in one queue would have half of the others' shares."""
    setting = Setting("drr", 11, Experiment.VIDEOS)
    outcome = played(setting, tmp_path)
    assert measured(outcome, least_over_most((*setting.downloads, VIDEO))) > 0.8
