# SPDX-License-Identifier: Apache-2.0
"""Service flows on an upstream channel: what cannot be, and what they are promised."""

from dataclasses import replace
from fractions import Fraction

import pytest

from docsis_control.config.models import KeyedError
from docsis_control.mac.flow_check import check_flow, promised
from docsis_control.mac.profile import Profile
from docsis_control.mac.profiles import NAMES, named
from docsis_control.modem_config.scheduling import BEST_EFFORT, Scheduling, SchedulingType

PAPER = named("docsis-1.1-004")
OFDMA = named("docsis-3.1")
MS = 1_000_000
CALL = Scheduling(
    SchedulingType.UGS, 0x17F, grant_size=214, grant_interval=20 * MS, grants_per_interval=1
)
POLLED = Scheduling(SchedulingType.RTPS, 0x1F, polling_interval=10 * MS)
SILENT = replace(CALL, type=SchedulingType.UGS_AD, polling_interval=20 * MS, poll_jitter=MS)
PROACTIVE = Scheduling(SchedulingType.PGS, guaranteed_grant_rate=5_000_000)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("flow", [BEST_EFFORT, CALL, POLLED, SILENT, PROACTIVE])
def test_these_can_be_on_every_channel(name: str, flow: Scheduling) -> None:
    check_flow(flow, named(name))
    assert promised(flow, named(name)) >= 0


REFUSED: dict[str, tuple[Scheduling, Profile, str, str]] = {
    "best effort that may not ask": (
        replace(BEST_EFFORT, policy=0x1F), PAPER,
        "request_transmission_policy", "0x1f, which forbids broadcast requests"),
    "best effort without contention": (
        BEST_EFFORT, replace(PAPER, contention_minislots=0),
        "scheduling_type", "no contention_minislots"),
    "polls faster than MAPs": (
        replace(POLLED, polling_interval=MS), PAPER,
        "nominal_polling_interval", "1 ms, less than a MAP of 2 ms"),
    "polls without an interval": (
        replace(POLLED, polling_interval=0), PAPER, "nominal_polling_interval", "how often"),
    "grants faster than MAPs": (
        replace(CALL, grant_interval=MS), PAPER,
        "nominal_grant_interval", "1 ms, less than a MAP of 2 ms"),
    "grants of nothing": (
        replace(CALL, grant_size=0), PAPER, "unsolicited_grant_size", "is 0"),
    "grants longer than a MAP": (
        replace(CALL, grant_size=65_535), PAPER,
        "unsolicited_grant_size", "a MAP has 4081 of them for data"),
    "no grants in an interval": (
        replace(CALL, grants_per_interval=0), PAPER, "grants_per_interval", "is 0"),
    "UGS-AD polls faster than MAPs": (
        replace(SILENT, polling_interval=MS), PAPER, "nominal_polling_interval", "less than a MAP"),
    "proactive grants faster than frames": (
        replace(PROACTIVE, guaranteed_grant_interval=100_000), OFDMA,
        "guaranteed_grant_interval", "100 us, less than a frame of minislots of 135 us"),
    "proactive grants of nothing": (
        replace(PROACTIVE, guaranteed_grant_rate=0), OFDMA, "guaranteed_grant_rate", "is 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case: str) -> None:
    flow, profile, key, words = REFUSED[case]
    with pytest.raises(KeyedError) as caught:
        check_flow(flow, profile)
    assert (caught.value.key, words in str(caught.value)) == (key, True), str(caught.value)


def test_contention_in_what_is_left_of_a_map_is_a_way_to_ask() -> None:
    check_flow(BEST_EFFORT, replace(named("docsis-3.0"), contention_minislots=0))


def test_what_is_promised() -> None:
    assert promised(BEST_EFFORT, PAPER) == 0
    # 214 and 10 bytes are 14 minislots of 16, in every tenth MAP.
    assert promised(CALL, PAPER) == Fraction(14, 10)
    assert promised(replace(CALL, grants_per_interval=3), PAPER) == Fraction(42, 10)
    assert promised(SILENT, PAPER) == promised(CALL, PAPER)
    assert promised(POLLED, PAPER) == Fraction(1, 5)
    # mac.md: 5 Mbit/s are 28 minislots with one grant a MAP of 2.025 ms, 2 in each frame of 135 us;
    # 1.05 of it there, which is the scheduler's.
    assert promised(PROACTIVE, OFDMA) == -(-1266 // 48)
    each_frame = replace(PROACTIVE, guaranteed_grant_interval=135_000)
    assert promised(each_frame, OFDMA) == 15 * 2
    # An interval is rounded down to frames.
    assert promised(replace(each_frame, guaranteed_grant_interval=269_000), OFDMA) == 15 * 2
