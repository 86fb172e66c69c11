# SPDX-License-Identifier: Apache-2.0
"""Profiles of upstream channels: numbers of the sources, and what cannot be."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.config.models import KeyedError
from docsis_control.mac.phy import Flat, Ofdma, Phy, ScQam
from docsis_control.mac.profile import Asking, Backoff, Packing, Profile, numbers, overrides
from docsis_control.mac.profile_check import check_profile
from docsis_control.mac.profiles import NAMES, cablelabs_2014, named


@pytest.mark.parametrize("name", NAMES)
def test_a_named_profile_can_be(name: str) -> None:
    profile = named(name)
    check_profile(profile)
    assert profile.name == name
    assert overrides(profile, profile) == {}


def test_the_channel_of_paper_004() -> None:
    profile = named("docsis-1.1-004")
    # 4 ticks of 6.25 us at 5.12 Mbit/s, 12 contention and 3 management slots of 80.
    assert (profile.clock.frame_length, profile.line_rate) == (25_000, 5_120_000)
    assert (profile.map_length, profile.data_minislots) == (2_000_000, 65)
    # mac.md: 96 minislots of a packet of 1500 bytes, 5 of an acknowledgement, 192 of two packets.
    assert profile.phy.minislots(1524) == 96
    assert profile.phy.minislots(70) == 5
    assert profile.phy.minislots(2 * 1524 + 6) == 192


def test_the_defaults_of_docsis_ns3() -> None:
    profile = named("docsis-3.1")
    assert (profile.clock.frame_length, profile.clock.per_frame) == (135_000, 235)
    assert profile.map_length == 2_025_000
    # mac.md, vector B: 668 Mbit/s, 32 minislots of 1500 bytes, 757.5 us in the modem, made 1110 us
    # before its start.
    assert profile.line_rate // 10**6 == 668
    assert profile.phy.minislots(1528) == 32
    assert (profile.timing.map_processing, profile.timing.map_ahead) == (757_500, 1_110_000)
    assert profile.timing.ack_before_start == 12 * 135_000


def test_the_line_of_k1_takes_any_multiple_of_400_kbps() -> None:
    for rate in (1_000_000_000, 100_000_000, 400_000):
        profile = cablelabs_2014(rate)
        check_profile(profile)
        assert profile.line_rate == rate
        assert profile.map_length == 2_000_000
        assert profile.capacity is not None
        assert profile.capacity.rate == rate
    for rate in (0, 399_999, 400_001):
        with pytest.raises(ValueError, match="multiple of 400000"):
            cablelabs_2014(rate)


def changed(name: str, **values: Any) -> Profile:
    """A profile in which numbers are others; those of its timing are given as timing_..."""
    profile = named(name)
    timing = {k[7:]: v for k, v in values.items() if k.startswith("timing_")}
    plain = {k: v for k, v in values.items() if not k.startswith("timing_")}
    return replace(profile, **plain, timing=replace(profile.timing, **timing))


REFUSED: dict[str, tuple[Profile, str, str]] = {
    "MAPs shorter than their lead time": (
        changed("docsis-3.1", timing_map_ahead=500_000),
        "timing.map_ahead", "made 500 us before their start, and modems need 1110 us"),
    "MAPs made with the one before, shorter than modems need": (
        changed("docsis-1.1-004", timing_map_processing=3_000_000),
        "map_time", "modems need 3 ms"),
    "contention that fills a MAP": (
        changed("docsis-1.1-004", contention_minislots=77),
        "contention_minislots", "fills a MAP of 80"),
    "contention of less than a request": (
        changed("docsis-3.0", contention_minislots=1), "contention_minislots", "one request"),
    "contention of more than its frame": (
        changed("docsis-3.1", contention_minislots=236), "contention_minislots", "one frame"),
    "a backoff start above its end": (
        changed("docsis-1.1-004", backoff=Backoff(8, 7)), "backoff.start", "above backoff.end, 7"),
    "a window beyond all bounds": (
        changed("docsis-1.1-004", backoff=Backoff(3, 16)), "backoff.end", "has to be 0 to 15"),
    "too many minislots": (
        changed("docsis-1.1-004", map_minislots=4097), "map_time", "1 to 4096"),
    "half a frame": (
        changed("docsis-3.1", map_minislots=300), "map_time", "no whole number of frames"),
    "MAPs that nobody keeps up with": (
        changed("docsis-1.1-004", map_minislots=3), "map_time", "75 us; a MAP has to take"),
    "an Ack Time for what nobody heard": (
        changed("docsis-3.1", timing_ack_before_start=1_000_000),
        "timing.ack_before_start", "at least 1420 us"),
    "a lead time of a hundred MAPs": (
        changed("docsis-3.0", timing_map_ahead=200_000_000, timing_ack_before_start=300_000_000),
        "timing.map_ahead", "more than 64 MAPs"),
    "a lead time that is not the MAP before": (
        changed("docsis-1.1-004", timing_map_ahead=1_000_000),
        "timing.map_ahead", "a MAP's length"),
    "no tries": (changed("docsis-3.1", tries=0), "tries", "1 to 255"),
    "a frame that fits no MAP": (
        changed("docsis-1.1-004", stretch=False), "map_time", "takes 96; let MAPs stretch"),
    "a frame that no request asks for": (
        changed("docsis-1.1-004", phy=Flat(4, 10)), "asking", "at most 255 minislots"),
    "a stream in one burst": (
        changed("docsis-3.1", asking=Asking.ONE_BURST), "packing", "asked for in bytes"),
    "bytes without a stream": (
        changed("docsis-1.1-004", asking=Asking.QUEUE_DEPTH), "packing", "say nothing of frames"),
    "segment headers without a stream": (
        changed("docsis-3.0", packing=Packing.SINGLE), "segment_header", "is 8 B"),
    "a concatenation of one frame": (
        changed("docsis-1.1-004", concatenated_frames=1), "concatenated_frames", "2 to 255"),
    "a header that is none": (changed("docsis-3.1", header=5), "header", "6 to 246"),
    "a code word beyond a byte": (
        changed("docsis-3.0", phy=ScQam(384, 312, 48, 223, 33)), "phy.codeword_parity", "0 to 32"),
    "MAPs in which no byte fits": (
        changed("docsis-3.0", map_minislots=9), "map_time", "not one byte fits"),
    "more than the pipeline counts": (
        changed("docsis-3.1", phy=Ofdma(4800)), "line_rate", "more than the pipeline counts"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case: str) -> None:
    profile, key, words = REFUSED[case]
    with pytest.raises(KeyedError) as caught:
        check_profile(profile)
    assert (caught.value.key, words in str(caught.value)) == (key, True), str(caught.value)


def test_overrides_name_what_differs() -> None:
    profile = changed("docsis-1.1-004", contention_minislots=20, timing_delivery=5)
    assert overrides(profile, named("docsis-1.1-004")) == {
        "contention_minislots": 20,
        "timing.delivery": 5,
    }
    assert numbers(profile)["phy.minislot_bytes"] == 16
    assert numbers(profile)["stretch"] == 1


PHYS = st.one_of(
    st.builds(Flat, st.integers(1, 600), st.integers(0, 600)),
    st.builds(Ofdma, st.integers(1, 600)),
    st.builds(
        ScQam,
        st.integers(1, 1200),
        st.integers(0, 2000),
        st.integers(0, 500),
        st.integers(16, 223),
        st.integers(0, 32),
    ),
)


@given(PHYS, st.integers(0, 4096))
def test_what_is_said_to_fit_fits_and_a_byte_more_does_not(phy: Phy, minislots: int) -> None:
    size = phy.bytes(minislots)
    assert phy.minislots(size) <= minislots
    assert phy.minislots(size + 1) > minislots
