# SPDX-License-Identifier: Apache-2.0
"""Service flows on an upstream channel: what cannot be, and what they are promised."""

from dataclasses import replace
from fractions import Fraction

import pytest

from docsis_control.config.models import KeyedError
from docsis_control.mac.flow_check import check_flow, promised, reserved
from docsis_control.mac.profile import Profile
from docsis_control.mac.profiles import NAMES, named
from docsis_control.modem_config.scheduling import BEST_EFFORT, Scheduling, SchedulingType

PAPER = named("docsis-1.1-004")
OFDMA = named("docsis-3.1")
MS = 1_000_000
CALL = Scheduling(
    SchedulingType.UGS,
    0x17F,
    grant_size=214,
    grant_interval=20 * MS,
    grant_jitter=MS,
    grants_per_interval=1,
)
POLLED = Scheduling(SchedulingType.RTPS, 0x1F, polling_interval=10 * MS, poll_jitter=MS)
SILENT = replace(CALL, type=SchedulingType.UGS_AD, polling_interval=20 * MS, poll_jitter=MS)
PROACTIVE = Scheduling(SchedulingType.PGS, guaranteed_grant_rate=5_000_000)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("flow", [BEST_EFFORT, CALL, POLLED, SILENT])
def test_these_can_be_on_every_channel(name: str, flow: Scheduling) -> None:
    check_flow(flow, named(name))
    assert promised(flow, named(name)) >= 0


@pytest.mark.parametrize("name", ["docsis-3.0", "docsis-3.1", "cablelabs-2014"])
def test_proactive_grants_are_for_channels_with_requests_in_bytes(name: str) -> None:
    check_flow(PROACTIVE, named(name))
    assert promised(PROACTIVE, named(name)) > 0


RIGID = replace(BEST_EFFORT, policy=0x40)
CUT = replace(PAPER, fragmentation=True, stretch=False)


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
        "unsolicited_grant_size", "a MAP has 65 of them for data"),
    "a jitter without a minislot": (
        replace(CALL, grant_interval=20 * MS + 10_000, grant_jitter=24_999), PAPER,
        "tolerated_grant_jitter", "in which no minislot may begin"),
    "polls whose jitter has no minislot": (
        replace(POLLED, polling_interval=20 * MS + 10_000, poll_jitter=0), PAPER,
        "tolerated_poll_jitter", "it has to be at least 25 us"),
    "frames that must not be cut and fit no MAP": (
        RIGID, CUT,
        "request_transmission_policy", "takes 96 minislots, and a burst has at most 65"),
    "polled frames that must not be cut and fit no MAP": (
        replace(POLLED, policy=0x5F), CUT,
        "request_transmission_policy", "0x5f, which forbids fragments"),
    "proactive grants where requests are for one burst": (
        PROACTIVE, PAPER, "scheduling_type", "requests are for one burst"),
    "proactive grants longer than a MAP": (
        replace(PROACTIVE, guaranteed_grant_rate=10**9), OFDMA,
        "guaranteed_grant_rate", "a MAP has 3524 of them for data"),
    "no grants in an interval": (
        replace(CALL, grants_per_interval=0), PAPER, "grants_per_interval", "is 0"),
    "UGS-AD polls faster than MAPs": (
        replace(SILENT, polling_interval=MS), PAPER, "nominal_polling_interval", "less than a MAP"),
    "proactive grants faster than frames": (
        replace(PROACTIVE, guaranteed_grant_interval=100_000), OFDMA,
        "guaranteed_grant_interval", "100 us, less than a frame of minislots of 135 us"),
    "proactive grants of nothing": (
        replace(PROACTIVE, guaranteed_grant_rate=0), OFDMA, "guaranteed_grant_rate", "is 0"),
    "polls beside proactive grants faster than MAPs": (
        replace(PROACTIVE, guaranteed_request_interval=1_000_000), OFDMA,
        "guaranteed_request_interval", "less than a MAP of"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case: str) -> None:
    flow, profile, key, words = REFUSED[case]
    with pytest.raises(KeyedError) as caught:
        check_flow(flow, profile)
    assert (caught.value.key, words in str(caught.value)) == (key, True), str(caught.value)


def test_contention_in_what_is_left_of_a_map_is_a_way_to_ask() -> None:
    check_flow(BEST_EFFORT, replace(named("docsis-3.0"), contention_minislots=0))


def test_frames_that_must_not_be_cut_may_be_where_all_or_none_are_or_maps_stretch() -> None:
    for profile in (PAPER, replace(PAPER, fragmentation=True), named("docsis-3.0")):
        check_flow(RIGID, profile)


def test_what_is_promised() -> None:
    assert promised(BEST_EFFORT, PAPER) == 0
    # 214 and 10 bytes are 14 minislots of 16, in every tenth MAP.
    assert promised(CALL, PAPER) == Fraction(14, 10)
    assert promised(replace(CALL, grants_per_interval=3), PAPER) == Fraction(42, 10)
    assert promised(SILENT, PAPER) == promised(CALL, PAPER)
    assert promised(POLLED, PAPER) == Fraction(1, 5)
    # mac.md: 5 Mbit/s are 28 minislots with one grant a MAP of 2.025 ms, 2 in each frame of 135 us.
    assert promised(PROACTIVE, OFDMA) == 28
    each_frame = replace(PROACTIVE, guaranteed_grant_interval=135_000)
    assert promised(each_frame, OFDMA) == 15 * 2
    # An interval is rounded down to frames.
    assert promised(replace(each_frame, guaranteed_grant_interval=269_000), OFDMA) == 15 * 2
    # A poll in each second MAP.
    polled = replace(each_frame, guaranteed_request_interval=4_050_000)
    assert promised(polled, OFDMA) == 15 * 2 + Fraction(OFDMA.request_minislots, 2)


def test_what_reserved_rates_take() -> None:
    # 1522 bytes and 6 of MAC header are 96.125 minislots of 16 with the preamble, so 97: at 1522
    # bytes in 100 ms, 97 in 50 MAPs.
    assert reserved(8 * 15_220, 0, PAPER) == Fraction(97, 50)
    # 64 bytes are 5.
    assert reserved(8 * 640, 64, PAPER) == Fraction(5, 50)
    assert reserved(0, 64, PAPER) == 0
