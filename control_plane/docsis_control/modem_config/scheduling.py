# SPDX-License-Identifier: Apache-2.0
"""The whole scheduling of an upstream service flow: TLV 24.14 to 24.22, .25, .26, .44, .45.

Defaults that are marked [?] were not verified in a text of the standard.
"""

from dataclasses import dataclass
from enum import IntFlag, StrEnum
from typing import Final

from docsis_control.modem_config.service_flows import UpstreamQos


class SchedulingType(StrEnum):
    """The Service Flow Scheduling Type, TLV 24.15."""

    BEST_EFFORT = "best-effort"
    NRTPS = "nrtps"
    RTPS = "rtps"
    UGS_AD = "ugs-ad"
    UGS = "ugs"
    PGS = "pgs"

    @property
    def unsolicited(self) -> bool:
        """Whether grants of a fixed size come by themselves."""
        return self in (SchedulingType.UGS, SchedulingType.UGS_AD)

    @property
    def polled(self) -> bool:
        """Whether it is asked by unicast request opportunities, at least at times."""
        return self in (SchedulingType.NRTPS, SchedulingType.RTPS, SchedulingType.UGS_AD)


class Policy(IntFlag):
    """The Request/Transmission Policy, TLV 24.16: a bit that is set forbids."""

    BROADCAST_REQUESTS = 1 << 0
    PRIORITY_REQUESTS = 1 << 1
    REQUESTS_IN_REQUEST_DATA = 1 << 2
    DATA_IN_REQUEST_DATA = 1 << 3
    PIGGYBACK = 1 << 4
    CONCATENATION = 1 << 5
    FRAGMENTATION = 1 << 6
    SUPPRESSION = 1 << 7
    OVERSIZED = 1 << 8


USUAL_UNSOLICITED: Final = 0x17F
"""The usual policy of UGS and UGS-AD [?]: neither requests nor parts, and nothing that is too
long."""

USUAL_REAL_TIME_POLLING: Final = 0x1F
"""The usual policy of rtPS [?]: requests in polls only."""

_USUAL_POLICIES: Final = {
    SchedulingType.UGS: USUAL_UNSOLICITED,
    SchedulingType.UGS_AD: USUAL_UNSOLICITED,
    SchedulingType.RTPS: USUAL_REAL_TIME_POLLING,
}

DEFAULT_POLLING_INTERVAL: Final = 1_000_000_000
"""nrtPS's polling interval, nanoseconds; the standard leaves it to the CMTS, "about every second"
[?]."""

DEFAULT_BACKOFF_EIGHTHS: Final = 8
"""The whole window (DOCS-QOS3-MIB, docsQosParamSetMultiplierContentionReqWindow)."""

DEFAULT_REQUEST_UNIT: Final = 4
"""Bytes that a queue-depth request counts in [?]."""


@dataclass(frozen=True)
class Scheduling:
    """The scheduling of an upstream service flow. Times are nanoseconds, sizes bytes.

    Attributes:
        type: The scheduling service; "undefined" (1) is best effort here.
        policy: Things that it must not do: bits of `Policy`.
        polling_interval: Between two polls; 0 of services that are not polled.
        poll_jitter: How much later than that a poll may come. Unless given, that of the grants
            with UGS-AD, and else the interval: a poll comes somewhere in each.
        grant_size: Size of each unsolicited grant, from FC on; 0 of other services.
        grant_interval: Between two intervals of unsolicited grants; 0 of other services.
        grant_jitter: How much later than that a grant may come.
        grants_per_interval: Unsolicited grants in each; 0 of other services.
        guaranteed_grant_interval: Interval of proactive grants; 0 is one MAP.
        guaranteed_grant_rate: Rate of proactive grants, bit/s; 0 of other services.
        guaranteed_request_interval: Interval of polls beside proactive grants; 0 is none.
        activity_detection_disable: Whether the channel may not take proactive grants from the flow
            while it is idle.
        absolute_requests: Whether requests are to tell all that is queued. They tell what was not
            asked for before in any case.
        max_concatenated_burst: 0 is no limit.
        backoff_eighths: Multiplier of the contention window, in eighths.
        request_unit: Bytes that a queue-depth request counts in.
    """

    type: SchedulingType
    policy: int = 0
    polling_interval: int = 0
    poll_jitter: int = 0
    grant_size: int = 0
    grant_interval: int = 0
    grant_jitter: int = 0
    grants_per_interval: int = 0
    guaranteed_grant_interval: int = 0
    guaranteed_grant_rate: int = 0
    guaranteed_request_interval: int = 0
    activity_detection_disable: bool = False
    absolute_requests: bool = False
    max_concatenated_burst: int = 0
    backoff_eighths: int = DEFAULT_BACKOFF_EIGHTHS
    request_unit: int = DEFAULT_REQUEST_UNIT


BEST_EFFORT: Final = Scheduling(SchedulingType.BEST_EFFORT)
"""The scheduling of a service flow that says nothing of it."""


def scheduling_of(flow: UpstreamQos) -> Scheduling:
    """The scheduling of a service flow with every default; what its service does not use is 0."""
    named = flow.scheduling_type
    kind = SchedulingType(named) if named not in (None, "undefined") else BEST_EFFORT.type
    policy = flow.request_transmission_policy
    unsolicited, proactive = kind.unsolicited, kind is SchedulingType.PGS
    interval, jitter = _polls(flow, kind)
    return Scheduling(
        type=kind,
        policy=_USUAL_POLICIES.get(kind, 0) if policy is None else policy,
        polling_interval=interval,
        poll_jitter=jitter,
        grant_size=flow.unsolicited_grant_size or 0 if unsolicited else 0,
        grant_interval=flow.nominal_grant_interval or 0 if unsolicited else 0,
        grant_jitter=flow.tolerated_grant_jitter or 0 if unsolicited else 0,
        grants_per_interval=flow.grants_per_interval or 0 if unsolicited else 0,
        guaranteed_grant_interval=flow.guaranteed_grant_interval or 0 if proactive else 0,
        guaranteed_grant_rate=flow.guaranteed_grant_rate or 0 if proactive else 0,
        guaranteed_request_interval=flow.guaranteed_request_interval or 0 if proactive else 0,
        activity_detection_disable=proactive and flow.pgs_activity_detection_disable is True,
        absolute_requests=flow.absolute_queue_depth_requests is True,
        max_concatenated_burst=flow.maximum_concatenated_burst or 0,
        backoff_eighths=flow.backoff_window_multiplier or DEFAULT_BACKOFF_EIGHTHS,
        request_unit=flow.bytes_requested_multiplier or DEFAULT_REQUEST_UNIT,
    )


def _polls(flow: UpstreamQos, kind: SchedulingType) -> tuple[int, int]:
    """Interval and jitter of a service flow's polls."""
    if not kind.polled:
        return 0, 0
    interval, jitter = flow.nominal_polling_interval, flow.tolerated_poll_jitter
    if kind is SchedulingType.UGS_AD:
        # The Nominal Grant Interval unless given (DOCS-QOS-MIB).
        interval = flow.nominal_grant_interval or 0 if interval is None else interval
        return interval, flow.tolerated_grant_jitter or 0 if jitter is None else jitter
    if interval is None:
        interval = DEFAULT_POLLING_INTERVAL
    return interval, interval if jitter is None else jitter
