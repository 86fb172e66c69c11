# SPDX-License-Identifier: Apache-2.0
"""What no service flow may be told on its upstream channel; the rules of mac-wire.

Whether the windows of all unsolicited grants fit beside each other is the scheduler's to say, when
it admits them.
"""

from fractions import Fraction

from docsis_control.config.models import KeyedError
from docsis_control.config.units import format_bytes, format_duration
from docsis_control.mac.profile import Profile
from docsis_control.modem_config.provisioned import Modem
from docsis_control.modem_config.scheduling import Policy, Scheduling, SchedulingType

_BITS_NS = 8 * 10**9


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
        KeyedError: An interval that is 0 or shorter than a MAP, an unsolicited grant of no bytes or
            of more than a MAP holds, a policy that leaves no way to ask; the key is that of the
            modem's configuration.
    """
    kind = scheduling.type
    if kind is SchedulingType.BEST_EFFORT:
        _check_contention(scheduling, profile)
    if kind.polled:
        _check_interval("nominal_polling_interval", "polls", scheduling.polling_interval, profile)
    if kind.unsolicited:
        _check_unsolicited(scheduling, profile)
    if kind is SchedulingType.PGS:
        _check_proactive(scheduling, profile)


def promised(scheduling: Scheduling, profile: Profile) -> Fraction:
    """Minislots of each MAP, on average, that a service flow has without asking.

    Args:
        scheduling: Of a service flow that `check_flow` accepts.
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
        size = -int(-scheduling.guaranteed_grant_rate * length // _BITS_NS)
        return Fraction(_minislots(size, profile)) * Fraction(profile.map_ps, 1000) / length
    else:
        return Fraction(0)
    return Fraction(cost * profile.map_ps, interval * 1000)


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
    _check_interval("nominal_grant_interval", "grants", scheduling.grant_interval, profile)
    size = scheduling.grant_size
    if size == 0:
        raise KeyedError("unsolicited_grant_size", "is 0; say how much each grant holds")
    minislots, most = _minislots(size, profile), profile.longest_grant
    if minislots > most:
        raise KeyedError(
            "unsolicited_grant_size",
            f"is {format_bytes(size)}, which take {minislots} minislots; a MAP has {most} of them "
            "for data",
        )
    if scheduling.grants_per_interval == 0:
        raise KeyedError("grants_per_interval", "is 0; say how many grants come in each interval")


def _check_proactive(scheduling: Scheduling, profile: Profile) -> None:
    interval, frame = scheduling.guaranteed_grant_interval, profile.clock.frame_length
    if interval and interval < frame:
        raise KeyedError(
            "guaranteed_grant_interval",
            f"is {format_duration(interval)}, less than a frame of minislots of "
            f"{format_duration(frame)}; lengthen it, or leave it out for one MAP",
        )
    if scheduling.guaranteed_grant_rate == 0:
        raise KeyedError("guaranteed_grant_rate", "is 0; say how much comes without a request")
