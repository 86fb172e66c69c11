# SPDX-License-Identifier: Apache-2.0
"""The rules for service flows on an upstream channel, as mac-wire has them.

Whether the windows of all unsolicited grants fit beside each other is the scheduler's to say, when
it admits them.
"""

import math
from fractions import Fraction
from typing import Final

from docsis_control.config.models import KeyedError
from docsis_control.config.units import format_bytes, format_duration
from docsis_control.mac.profile import MOST_REQUESTED, PS_PER_NS, Asking, Packing, Profile
from docsis_control.modem_config.provisioned import Modem
from docsis_control.modem_config.scheduling import Policy, Scheduling, SchedulingType

_BITS_NS = 8 * 10**9
_BITS_S = 8 * 10**12
"""Bits of a byte, times picoseconds of a second."""

PROACTIVE_PERCENT: Final = 5
"""Per cent that a proactive grant has beyond the guaranteed rate, as mac-cmts makes it
(docsis-ns3)."""

MOST_PROMISED: Final = Fraction(90, 100)
"""The greatest part of a channel's data minislots that unsolicited grants, polls and reserved rates
may take; mac-cmts admits no more."""

_ASSUMED_FRAME = 1522
"""Bytes of the frames of a reserved rate whose flow assumes none."""


def check_flows(service: Modem, profile: Profile) -> None:
    """Checks the active upstream service flows of a modem on a channel.

    Raises:
        KeyedError: A service flow that the channel cannot have; the key is from the root of the
            modem's configuration.
    """
    upstream = [flow for flow in service.service_flows if flow.direction == "upstream"]
    for index, flow in enumerate(upstream):
        if flow.scheduling is None or not flow.active:
            continue
        try:
            check_flow(flow.scheduling, profile)
        except KeyedError as error:
            raise KeyedError(f"upstream_service_flows.{index}.{error.key}", str(error)) from None


def check_flow(scheduling: Scheduling, profile: Profile) -> None:
    """Checks a service flow on a channel whose profile is in order.

    Raises:
        KeyedError: An interval that is 0 or shorter than a MAP, a jitter in which no minislot may
            begin, a grant without a request of no bytes or of more than a MAP holds, a policy that
            leaves no way to ask or to send a long frame, proactive grants where requests are for
            one burst; the key is that of the modem's configuration.
    """
    kind = scheduling.type
    if kind is SchedulingType.BEST_EFFORT:
        _check_contention(scheduling, profile)
    if kind.polled:
        interval, jitter = scheduling.polling_interval, scheduling.poll_jitter
        _check_interval("nominal_polling_interval", "polls", interval, profile)
        _check_jitter("tolerated_poll_jitter", interval, jitter, profile)
    if not kind.unsolicited:
        _check_whole(scheduling, profile)
    if kind.unsolicited:
        _check_unsolicited(scheduling, profile)
    if kind is SchedulingType.PGS:
        _check_proactive(scheduling, profile)


def promised(scheduling: Scheduling, profile: Profile) -> Fraction:
    """Minislots of each MAP, on average, that a service flow has without asking.

    Args:
        scheduling: Scheduling of a service flow that `check_flow` accepts.
    """
    kind = scheduling.type
    if kind.unsolicited:
        cost = scheduling.grants_per_interval * _minislots(scheduling.grant_size, profile)
        interval = scheduling.grant_interval
    elif kind.polled:
        cost, interval = profile.request_minislots, scheduling.polling_interval
    elif kind is SchedulingType.PGS:
        # Whole frames, or one MAP, as proactive grants come.
        frame = Fraction(profile.clock.frame_ps, 1000)
        frames = scheduling.guaranteed_grant_interval // frame
        length = frames * frame if frames else Fraction(profile.map_ps, 1000)
        bits = scheduling.guaranteed_grant_rate * (100 + PROACTIVE_PERCENT) * length
        size = math.ceil(bits / (100 * _BITS_NS))
        grants = Fraction(_minislots(size, profile)) * Fraction(profile.map_ps, 1000) / length
        if not (interval := scheduling.guaranteed_request_interval):
            return grants
        return grants + Fraction(profile.request_minislots * profile.map_ps, interval * 1000)
    else:
        return Fraction(0)
    return Fraction(cost * profile.map_ps, interval * 1000)


def reserved(rate: int, assumed_packet_size: int, profile: Profile) -> Fraction:
    """Minislots of each MAP, on average, that a Minimum Reserved Traffic Rate takes.

    Args:
        rate: bit/s.
        assumed_packet_size: Bytes that a shorter frame counts for; 0 where the flow has none.
        profile: Profile of the channel.
    """
    frame = assumed_packet_size or _ASSUMED_FRAME
    return Fraction(
        rate * profile.map_ps * _minislots(frame + profile.header, profile), _BITS_S * frame
    )


def _minislots(size: int, profile: Profile) -> int:
    return profile.phy.minislots(size + profile.segment_header)


def _check_contention(scheduling: Scheduling, profile: Profile) -> None:
    """A best-effort flow has nothing that brings it grants but requests in contention."""
    if scheduling.policy & Policy.BROADCAST_REQUESTS:
        raise KeyedError(
            "request_transmission_policy",
            f"is {scheduling.policy:#x}, which forbids broadcast requests (bit 0): a best-effort "
            "flow then has no way to ask; clear the bit, or have the flow polled",
        )
    if not profile.contention_opportunities and not profile.extra_contention:
        raise KeyedError(
            "scheduling_type",
            "is best effort, and the upstream channel has no contention_minislots in which to ask; "
            "give it some, or have the flow polled",
        )


def _check_whole(scheduling: Scheduling, profile: Profile) -> None:
    """Frames that must not be cut have to fit one burst where the channel cuts those of others."""
    cuts = profile.fragmentation and profile.packing is not Packing.CONTINUOUS
    if not cuts or not scheduling.policy & Policy.FRAGMENTATION:
        return
    most = min(profile.longest_grant, MOST_REQUESTED)
    if profile.longest_frame_minislots > most:
        raise KeyedError(
            "request_transmission_policy",
            f"is {scheduling.policy:#x}, which forbids fragments (bit 6): a frame of "
            f"{profile.longest_frame} bytes takes {profile.longest_frame_minislots} minislots, and "
            f"a burst has at most {most}; clear the bit, or let MAPs be longer",
        )


def _check_jitter(key: str, interval: int, jitter: int, profile: Profile) -> None:
    """Checks that an interval begins within the jitter, wherever in a minislot it begins."""
    frame = profile.clock.frame_ps
    aligned = frame % PS_PER_NS == 0 and interval * PS_PER_NS % frame == 0
    if not aligned and min(jitter, interval) * PS_PER_NS < frame:
        raise KeyedError(
            key,
            f"is {format_duration(jitter)}, in which no minislot may begin; with an interval of "
            f"{format_duration(interval)}, which is no whole number of frames of minislots, it has "
            f"to be at least {format_duration(profile.clock.frame_length)}",
        )


def _check_grant(key: str, size: int, profile: Profile) -> None:
    """Checks that a grant without a request fits a MAP of usual length."""
    minislots, most = _minislots(size, profile), profile.data_minislots
    if minislots > most:
        raise KeyedError(
            key,
            f"makes grants of {format_bytes(size)}, which take {minislots} minislots; a MAP has "
            f"{most} of them for data",
        )


def _check_interval(key: str, what: str, interval: int, profile: Profile) -> None:
    if interval == 0:
        raise KeyedError(key, f"is 0; say how often {what} come")
    if interval < profile.map_length:
        raise KeyedError(
            key,
            f"is {format_duration(interval)}, less than a MAP of "
            f"{format_duration(profile.map_length)}; lengthen it, or shorten the MAPs",
        )


def _check_unsolicited(scheduling: Scheduling, profile: Profile) -> None:
    interval = scheduling.grant_interval
    _check_interval("nominal_grant_interval", "grants", interval, profile)
    _check_jitter("tolerated_grant_jitter", interval, scheduling.grant_jitter, profile)
    size = scheduling.grant_size
    if size == 0:
        raise KeyedError("unsolicited_grant_size", "is 0; say how much each grant holds")
    _check_grant("unsolicited_grant_size", size, profile)
    if scheduling.grants_per_interval == 0:
        raise KeyedError("grants_per_interval", "is 0; say how many grants come in each interval")


def _check_proactive(scheduling: Scheduling, profile: Profile) -> None:
    if profile.asking is Asking.ONE_BURST:
        raise KeyedError(
            "scheduling_type",
            "is pgs, and the upstream channel's requests are for one burst, which a grant of "
            "another size would answer; use a channel whose requests are in bytes (queue-depth)",
        )
    interval, frame = scheduling.guaranteed_grant_interval, profile.clock.frame_length
    if interval and interval < frame:
        raise KeyedError(
            "guaranteed_grant_interval",
            f"is {format_duration(interval)}, less than a frame of minislots of "
            f"{format_duration(frame)}; lengthen it, or leave it out for one MAP",
        )
    if scheduling.guaranteed_grant_rate == 0:
        raise KeyedError("guaranteed_grant_rate", "is 0; say how much comes without a request")
    each = interval or profile.map_length
    size = scheduling.guaranteed_grant_rate * each // _BITS_NS
    _check_grant("guaranteed_grant_rate", size, profile)
    if polls := scheduling.guaranteed_request_interval:
        _check_interval("guaranteed_request_interval", "polls", polls, profile)
