# SPDX-License-Identifier: Apache-2.0
"""The rules for upstream channels, as mac-wire has them, with the keys of topology files."""

from typing import Final

from docsis_control.config.models import MAX_RATE, KeyedError
from docsis_control.config.units import format_duration, format_rate
from docsis_control.mac.phy import LEAST_CODEWORD_DATA, Flat, Ofdma, ScQam
from docsis_control.mac.profile import (
    MAX_MINISLOTS,
    MOST_CONCATENATED,
    MOST_REQUESTED,
    PS_PER_NS,
    Asking,
    ContentionPlace,
    Packing,
    Profile,
)

_MAX_FRAME: Final = 100_000_000
"""Nanoseconds of the longest frame of minislots."""
_MIN_MAP: Final = 100_000
"""Nanoseconds of the shortest MAP: whoever makes MAPs has to keep up with them."""
_MAX_TIME: Final = 1_000_000_000
"""Nanoseconds of the longest of a channel's times."""
_MAX_MAPS_AHEAD: Final = 64
_MAX_SIZE: Final = 1 << 20
_MAX_CODEWORD: Final = 255
_MAX_EXPONENT: Final = 15
_HEADERS: Final = (6, 246)
"""MAC headers without and with the longest extended one, bytes."""


def frame_key(profile: Profile) -> str:
    """The key of topology files for the length of a frame: of one minislot on an SC-QAM channel."""
    return "minislot_time" if profile.clock.per_frame == 1 else "frame_time"


def check_profile(profile: Profile) -> None:
    """Checks all of it.

    Raises:
        KeyedError: The first thing that cannot be, by its key in a topology's upstream channel.
    """
    _check_clock(profile)
    _check_phy(profile)
    _check_contention(profile)
    _check_backoff(profile)
    _check_times(profile)
    _check_lead_time(profile)
    _check_bursts(profile)
    _check_rate(profile)


def _check_clock(profile: Profile) -> None:
    clock = profile.clock
    _within("minislots_per_frame", clock.per_frame, 1, MAX_MINISLOTS)
    if not PS_PER_NS <= clock.frame_ps <= _MAX_FRAME * PS_PER_NS:
        raise KeyedError(
            frame_key(profile),
            f"is {_time(clock.frame_length)}; it has to be 1 ns to {_time(_MAX_FRAME)}",
        )
    if not 1 <= profile.map_minislots <= MAX_MINISLOTS:
        raise KeyedError(
            "map_time",
            f"makes MAPs of {profile.map_minislots} minislots; a MAP has 1 to {MAX_MINISLOTS}",
        )
    if profile.map_minislots % clock.per_frame:
        raise KeyedError(
            "map_time",
            f"makes MAPs of {profile.map_minislots} minislots, which is no whole number of frames "
            f"of {clock.per_frame}",
        )
    if profile.map_length < _MIN_MAP:
        raise KeyedError(
            "map_time",
            f"makes MAPs of {_time(profile.map_length)}; a MAP has to take at least "
            f"{_time(_MIN_MAP)}; make it longer",
        )


def _check_phy(profile: Profile) -> None:
    phy = profile.phy
    match phy:
        case Flat():
            _within("phy.minislot_bytes", phy.minislot_bytes, 1, _MAX_SIZE)
            _within("phy.overhead", phy.overhead, 0, _MAX_SIZE)
        case Ofdma():
            _within("phy.minislot_bytes", phy.minislot_bytes, 1, _MAX_SIZE)
        case ScQam():
            _within("phy.minislot_bits", phy.minislot_bits, 1, _MAX_SIZE)
            _within("phy.preamble_bits", phy.preamble_bits, 0, _MAX_SIZE)
            _within("phy.guard_bits", phy.guard_bits, 0, _MAX_SIZE)
            _within("phy.codeword_data", phy.codeword_data, LEAST_CODEWORD_DATA, _MAX_CODEWORD)
            most = _MAX_CODEWORD - phy.codeword_data
            _within("phy.codeword_parity", phy.codeword_parity, 0, most)


def _check_contention(profile: Profile) -> None:
    key, contention = "contention_minislots", profile.contention_minislots
    _within("request_minislots", profile.request_minislots, 1, MAX_MINISLOTS)
    _within(key, contention, 0, MAX_MINISLOTS)
    _within("maintenance_minislots", profile.maintenance_minislots, 0, MAX_MINISLOTS)
    if contention and not profile.contention_opportunities:
        raise KeyedError(
            key,
            f"is {contention}, less than the {profile.request_minislots} of one request; lengthen "
            "it, or make it 0",
        )
    if not profile.data_minislots:
        raise KeyedError(
            key,
            f"is {contention}, which with {profile.maintenance_minislots} for maintenance fills a "
            f"MAP of {profile.map_minislots}; leave minislots for data",
        )
    per_frame = profile.clock.per_frame
    if profile.contention_place is ContentionPlace.RANDOM_FRAME and contention > per_frame:
        raise KeyedError(
            key, f"is {contention}, more than the {per_frame} of the one frame that has them"
        )


def _check_backoff(profile: Profile) -> None:
    start, end = profile.backoff.start, profile.backoff.end
    _within("backoff.start", start, 0, _MAX_EXPONENT)
    _within("backoff.end", end, 0, _MAX_EXPONENT)
    if start > end:
        raise KeyedError(
            "backoff.start",
            f"is {start}, above backoff.end, {end}; the first window is the smallest",
        )
    _within("tries", profile.tries, 1, 255)


def _check_times(profile: Profile) -> None:
    timing = profile.timing
    for name in (
        "map_ahead",
        "map_to_modem",
        "map_processing",
        "request_heard",
        "piggyback_heard",
        "delivery",
        "burst_preparation",
        "ack_before_start",
    ):
        time = getattr(timing, name)
        if not 0 <= time <= _MAX_TIME:
            raise KeyedError(
                f"timing.{name}", f"is {_time(time)}; it has to be at most {_time(_MAX_TIME)}"
            )
    heard = timing.map_ahead + max(timing.request_heard, timing.piggyback_heard)
    if timing.ack_before_start < heard:
        raise KeyedError(
            "timing.ack_before_start",
            f"is {_time(timing.ack_before_start)}; it has to be at least {_time(heard)} "
            "(map_ahead, and request_heard or piggyback_heard), or modems would take requests for "
            "lost that were not heard yet",
        )


def _check_lead_time(profile: Profile) -> None:
    """A MAP has to be at the modems in time."""
    timing, length = profile.timing, profile.map_length
    ahead = _time(timing.map_ahead)
    if timing.map_with_previous and timing.map_ahead != length:
        raise KeyedError(
            "timing.map_ahead",
            f"is {ahead}; a MAP that is made when the one before begins is made a MAP's length, "
            f"{_time(length)}, ahead",
        )
    lead = timing.map_to_modem + max(timing.map_processing, timing.burst_preparation)
    if timing.map_ahead < lead:
        raise KeyedError(
            "map_time" if timing.map_with_previous else "timing.map_ahead",
            f"has MAPs that are made {ahead} before their start, and modems need {_time(lead)} "
            "(timing.map_to_modem, and map_processing or burst_preparation); make it longer",
        )
    if timing.map_ahead > _MAX_MAPS_AHEAD * length:
        raise KeyedError(
            "timing.map_ahead",
            f"is {ahead}, more than {_MAX_MAPS_AHEAD} MAPs of {_time(length)}; make it shorter",
        )


def _check_bursts(profile: Profile) -> None:
    _within("header", profile.header, *_HEADERS)
    _within("concatenated_frames", profile.concatenated_frames, 2, MOST_CONCATENATED)
    continuous = profile.packing is Packing.CONTINUOUS
    segment = profile.segment_header
    if segment and not (continuous and segment == 8):
        raise KeyedError(
            "segment_header",
            f"is {segment} B; it has to be 8 B, or 0 B where it is not counted or packing is not "
            "continuous",
        )
    if continuous and profile.asking is Asking.ONE_BURST:
        raise KeyedError(
            "packing",
            "is continuous, and asking is for one burst of minislots; a stream is asked for in "
            "bytes (queue-depth)",
        )
    if not continuous and profile.asking is Asking.QUEUE_DEPTH:
        raise KeyedError(
            "packing",
            "is not continuous, and asking is in bytes (queue-depth), which say nothing of frames; "
            "make packing continuous, or ask for one burst of minislots",
        )
    if continuous or profile.fragmentation:
        return
    frame, minislots = profile.longest_frame, profile.longest_frame_minislots
    if minislots > profile.longest_grant:
        raise KeyedError(
            "map_time",
            f"leaves {profile.longest_grant} minislots for data, and a frame of {frame} bytes "
            f"takes {minislots}; let MAPs stretch, or frames be cut (fragmentation)",
        )
    if profile.asking is Asking.ONE_BURST and minislots > MOST_REQUESTED:
        raise KeyedError(
            "asking",
            f"is for one burst of at most {MOST_REQUESTED} minislots, and a frame of {frame} "
            f"bytes takes {minislots}; make minislots longer, or let frames be cut (fragmentation)",
        )


def _check_rate(profile: Profile) -> None:
    if profile.capacity is not None:
        _within("capacity.variation_percent", profile.capacity.variation_percent, 0, 100)
        if not 1 <= profile.capacity.rate <= MAX_RATE:
            raise KeyedError(
                "capacity.rate",
                f"is {format_rate(profile.capacity.rate)}; it has to be 1 bps to "
                f"{format_rate(MAX_RATE)}",
            )
    if not profile.data_rate:
        raise KeyedError(
            "map_time",
            f"leaves {profile.data_minislots} minislots for data, in which not one byte fits; "
            "make MAPs longer",
        )
    if profile.data_rate > MAX_RATE:
        raise KeyedError(
            "line_rate",
            f"makes a channel of {format_rate(profile.data_rate)}, more than the pipeline counts, "
            f"{format_rate(MAX_RATE)}",
        )


def _within(key: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise KeyedError(key, f"is {value}; it has to be {least} to {most}")


def _time(value: int) -> str:
    return format_duration(value)
