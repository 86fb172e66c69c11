# SPDX-License-Identifier: Apache-2.0
"""The controller's status: modems, their service flows, the classifiers of each, the devices.

One document of one moment, the same for the terminal, JSON, metrics and whatever
comes later. Units are in the names; what a view does not need is not in it.
"""

from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from docsis_control.config.schema import DIALECT
from docsis_control.priority import paced
from docsis_control.queue_managers import names
from docsis_control.status.upstream import UpstreamChannel

SCHEMA_VERSION: Final = 4
"""Raised when a field changes its meaning or goes; new fields do not raise it."""

# A reader takes documents of a newer controller, which may hold more.
_LENIENT: Final = ConfigDict(extra="ignore")

Direction = Literal["upstream", "downstream"]
QueueManager = Annotated[
    str, Field(json_schema_extra={"enum": [manager.label for manager in names.QueueManager]})
]
"""Its label; a reader takes those of a newer controller, too."""
AqmState = Literal["INACTIVE", "QUIESCENT", "ACTIVE"]


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Traffic:
    """A counter of frames."""

    packets: int = Field(ge=0, description="Frames.")
    octets: int = Field(
        ge=0,
        description="Their bytes as DOCSIS counts them: from the destination address to the end "
        "of the FCS, at least 64 a frame.",
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Counters:
    """The fates of a service flow's frames since the device was provisioned.

    received = forwarded + flooded + all that is dropped + queued.
    """

    received: Traffic = Field(description="Frames classified into the service flow.")
    forwarded: Traffic = Field(description="Frames that left the queue.")
    flooded: Traffic = Field(description="Frames without a service flow, copied to a group.")
    dropped_aqm: Traffic = Field(description="Dropped early by active queue management.")
    dropped_buffer_full: Traffic = Field(description="Dropped because the buffer was full.")
    dropped_policed: Traffic = Field(
        description="Dropped because longer than the service flow may ever send."
    )
    dropped_no_classifier: Traffic = Field(
        description="Dropped because no classifier matched or the flow was not provisioned."
    )
    dropped_malformed: Traffic = Field(description="Dropped because of an impossible header.")
    dropped_unroutable: Traffic = Field(
        description="Dropped because ingress port or destination were not provisioned."
    )
    controller_silent: Traffic = Field(
        description="Spared from early drops because the controller was silent; no fate."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Scheduling:
    """The scheduling of an upstream service flow: its way to grants."""

    upstream_channel: str | None = Field(
        description="Name of its upstream channel; null where none has a request/grant MAC, and "
        "the rest is not in force."
    )
    scheduling_type: str = Field(
        description="best-effort, nrtps, rtps, ugs-ad, ugs or pgs (TLV 24.15)."
    )
    request_transmission_policy: int = Field(
        ge=0, description="Bits that are set forbid (TLV 24.16)."
    )
    nominal_polling_interval_ms: float | None = Field(
        description="Time between two polls, milliseconds; null where it is not polled."
    )
    tolerated_poll_jitter_ms: float | None = Field(description="Jitter of polls, milliseconds.")
    unsolicited_grant_size_bytes: int | None = Field(
        description="Size of each unsolicited grant; null where there are none."
    )
    nominal_grant_interval_ms: float | None = Field(
        description="Interval of unsolicited grants, milliseconds."
    )
    tolerated_grant_jitter_ms: float | None = Field(
        description="Jitter of unsolicited grants, milliseconds."
    )
    grants_per_interval: int | None = Field(description="Unsolicited grants in each interval.")
    guaranteed_grant_rate_bps: int | None = Field(
        description="Rate of proactive grants, bit/s; null where there are none."
    )
    guaranteed_grant_interval_ms: float | None = Field(
        description="Interval of proactive grants, milliseconds; 0 is one MAP."
    )
    guaranteed_request_interval_ms: float | None = Field(
        default=None,
        description="Interval of polls beside proactive grants, milliseconds; null where there are "
        "none.",
    )
    activity_detection_disabled: bool = Field(
        default=False, description="Whether proactive grants come while the flow is idle, too."
    )
    absolute_queue_depth_requests: bool = Field(
        default=False,
        description="Whether requests are to tell all that is queued (TLV 24.48); not in force.",
    )
    maximum_concatenated_burst_bytes: int = Field(
        ge=0, description="Longest concatenated burst; 0 is no limit."
    )
    backoff_window_multiplier_eighths: int = Field(
        ge=1, description="Multiplier of the contention window, in eighths."
    )
    bytes_requested_multiplier: int = Field(
        ge=1, description="Bytes that a queue-depth request counts in."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Provisioned:
    """The parameters that a service flow was given."""

    traffic_priority: int = Field(ge=0, le=7, description="Traffic priority; 7 goes first.")
    maximum_sustained_traffic_rate_bps: int | None = Field(
        ge=1, description="bit/s; null for no limit but the channel's."
    )
    peak_traffic_rate_bps: int | None = Field(
        ge=1, description="bit/s; null for no limit but the channel's."
    )
    maximum_traffic_burst_bytes: int = Field(ge=0, description="Bytes.")
    minimum_reserved_traffic_rate_bps: int = Field(ge=0, description="bit/s; 0 for none.")
    assumed_minimum_reserved_rate_packet_size_bytes: int = Field(
        ge=0,
        description="Bytes that a shorter frame counts for in the minimum rate; 0: its own length.",
    )
    tos_and_mask: int = Field(
        ge=0, le=255, description="New ToS byte: (byte AND this) OR tos_or_mask; 255 and 0: as is."
    )
    tos_or_mask: int = Field(ge=0, le=255, description="See tos_and_mask.")
    buffer_bytes: int = Field(ge=0, description="Limit of the queue, bytes.")
    minimum_buffer_bytes: int | None = Field(
        ge=0, description="Buffer Control's minimum, as configured; null where it is not."
    )
    target_buffer_bytes: int | None = Field(
        ge=0, description="Buffer Control's target, as configured; null where it is not."
    )
    maximum_buffer_bytes: int | None = Field(
        ge=0, description="Buffer Control's maximum, as configured; null where it is not."
    )
    aqm_enabled: bool = Field(description="Whether frames are dropped early.")
    queue_manager: QueueManager = Field(description="The queue manager that decides early drops.")
    queue_management: dict[str, Any] = Field(
        default_factory=dict,
        description=(
            "The same with its parameters and flow queues, as a file for --aqm has it; what is "
            "the service flow's own is not repeated. Its JSON Schema is queue-manager."
        ),
    )
    latency_target_ms: float | None = Field(
        ge=0,
        description=(
            "The AQM latency target that the queue manager goes by, milliseconds: its own, or the "
            "service flow's; null for a queue manager without one."
        ),
    )
    scheduling: Scheduling | None = Field(
        default=None, description="How the service flow comes to grants; null downstream."
    )
    ack_suppression: str = Field(
        default="none",
        description="Which queued TCP acknowledgements later ones replace: none, always or safe.",
    )
    suppresses_acks: bool = Field(
        default=False, description="Whether its queue replaces them; flow queues do not."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Queue:
    """A service flow's queue now."""

    backlog_bytes: int = Field(ge=0, description="Bytes queued.")
    delay_ms: float = Field(
        ge=0,
        description=(
            "How long a frame that comes now will wait, from backlog, tokens and rates "
            "(RFC 8034, A.2), or from the rate that the queue manager measures, milliseconds."
        ),
    )
    msr_tokens_bytes: float = Field(
        ge=0,
        description="Tokens of the Maximum Sustained Traffic Rate's bucket, bytes; behind a "
        "request/grant MAC those for what is queued are spent.",
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Aqm:
    """A law of the controller's on a service flow now: DOCSIS-PIE, PIE or Adaptive RED."""

    state: AqmState = Field(
        description="The state in force (RFC 8034); ACTIVE where the law has no states."
    )
    drop_prob: float = Field(
        ge=0,
        description="drop_prob_ of DOCSIS-PIE, from 0 to 13.6, or of PIE; Adaptive RED's maxp.",
    )
    burst_allowance_ms: float = Field(
        ge=0, description="Burst allowance that is left, milliseconds; 0 where the law has none."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Classifier:
    """A rule that selects a service flow."""

    reference: int | None = Field(
        ge=1,
        description=(
            "Its Classifier Reference (its id where it has none), unique in the modem; null for "
            "what no classifier takes, which goes to the primary service flow."
        ),
    )
    rule_priority: int | None = Field(
        ge=0,
        le=255,
        description=(
            "The highest that matches wins, of equal ones the lowest reference; null where the "
            "reference is."
        ),
    )
    active: bool = Field(description="Its activation state; one that is not takes nothing.")
    match: dict[str, str] = Field(
        description="Conditions by their keys in the configuration file; none: every frame."
    )
    matched: Traffic | None = Field(
        description="Frames it took; null where it is not active or the target does not tell."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class ServiceFlow:
    """A service flow. The last five are null while its device does not answer."""

    sfid: int = Field(ge=1, description="Service Flow Identifier, unique in the deployment.")
    service_flow_reference: int = Field(
        ge=0, description="Unique in the modem and direction; 0 for the CMTS's group flow."
    )
    class_name: str = Field(description='Its Service Class Name, or "".')
    name: str = Field(description="Name for people.")
    direction: Direction = Field(description="Direction of its frames.")
    primary: bool = Field(description="Whether it takes frames that no classifier takes.")
    device: str = Field(description="The device that queues it.")
    index: int = Field(ge=1, description="Its index in that device's registers and counters.")
    provisioned: Provisioned = Field(description="Its parameters.")
    counters: Counters | None = Field(description="Its counters since the device was provisioned.")
    delayed: Traffic | None = Field(
        description=(
            "Forwarded frames that its rates made wait, themselves or the frames before them; "
            "null, too, where the target does not tell."
        )
    )
    suppressed: Traffic | None = Field(
        default=None,
        description=(
            "TCP acknowledgements that were taken out of its queue, as later ones replaced them; "
            "null, too, where the target does not tell."
        ),
    )
    resynchronized: int | None = Field(
        default=None,
        ge=0,
        description=(
            "How often its backlog was made right after frames were lost inside the switch, "
            "between ingress and egress."
        ),
    )
    queue: Queue | None = Field(description="Its queue now.")
    aqm: Aqm | None = Field(
        description="Its law; null, too, where its queue manager has none in the controller."
    )
    classifiers: tuple[Classifier, ...] | None = Field(
        description="Its classifiers, in the order of priority."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Modem:
    """A cable modem and its service flows of both directions."""

    name: str = Field(description="Its name in the topology.")
    number: int = Field(ge=1, le=255, description="Its number in the pipelines' tables.")
    service_flows: tuple[ServiceFlow, ...] = Field(description="Its service flows, by SFID.")


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Quantiles:
    """Quantiles of a time in milliseconds over the last minute; 0 where there was none."""

    p50: float = Field(ge=0, description="Median.")
    p99: float = Field(ge=0, description="99th percentile.")
    max: float = Field(ge=0, description="The longest.")


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Loop:
    """Punctuality of a control loop, which has 16 ms for an update."""

    cycles: int = Field(ge=0, description="Updates that the device acknowledged.")
    missed: int = Field(ge=0, description="Intervals without one while the device was there.")
    lateness_ms: Quantiles = Field(
        description="Time from an interval's deadline to its update's start."
    )
    cycle_ms: Quantiles = Field(
        description="Time from the start of an update to its acknowledgement."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Lateness:
    """How late a switch ran what was due, since it was started.

    Time inside a switch is the schedule's, so lateness costs no rate; but what was due while it
    slept leaves back to back. Of p50 and p99 the values are exact within an eighth.
    """

    events: int = Field(ge=0, description="Departures, and arrivals on delay lines.")
    p50_ms: float = Field(ge=0, description="Median, milliseconds.")
    p99_ms: float = Field(ge=0, description="99th percentile, milliseconds.")
    max_ms: float = Field(ge=0, description="The longest, milliseconds.")
    bound_ms: float = Field(ge=0, description="Later than this, time jumps, milliseconds.")
    jumps: int = Field(
        ge=0, description="How often time jumped; results with a jump are not valid."
    )
    jumped_ms: float = Field(ge=0, description="Sum of the jumps, milliseconds.")


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Link:
    """The link of a host or server that has loss or jitter, in each of its two directions."""

    name: str = Field(description="Name of the host or server.")
    port: int = Field(ge=1, description="The device's port that it is at.")
    loss_ppm: int = Field(
        ge=0, le=1_000_000, description="Share of the frames that it is to lose, millionths."
    )
    jitter_ms: float = Field(ge=0, description="A frame takes up to so much longer, milliseconds.")
    lost_from_host: Traffic | None = Field(
        description="Frames lost on their way to the device; null while it does not answer."
    )
    lost_to_host: Traffic | None = Field(
        description="Frames lost on their way from the device; null while it does not answer."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Device:
    """A switch."""

    name: str = Field(description="Name of its node in the topology.")
    role: Literal["cm", "cmts"] = Field(description="The program it runs.")
    device_id: int = Field(ge=0, description="P4Runtime device id.")
    address: str = Field(description="host:port of its P4Runtime server.")
    connected: bool = Field(description="Whether it answered for this document.")
    reconnects: int = Field(ge=0, description="How often the connection was lost and made again.")
    state_access: str = Field(description='"registers" or "packets"; "" before it is known.')
    traffic_manager: bool = Field(description="Whether it has the service docsis.tm.v1.")
    loop: Loop | None = Field(description="Null where no queue of it is managed or observed.")
    lateness: Lateness | None = Field(
        default=None, description="Null where it does not answer, or does not tell."
    )
    links: tuple[Link, ...] = Field(
        default=(), description="Links of hosts and servers with loss or jitter, by port."
    )
    service_flows: tuple[ServiceFlow, ...] = Field(
        description="Service flows of no modem: the CMTS's group flow, which takes flooded frames."
    )
    without_service_flow: Counters | None = Field(
        description="Frames that belong to no service flow; null while it does not answer."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Channel:
    """The rates of the shared channel, bit/s of Ethernet frames."""

    upstream_bps: int = Field(ge=1, description="Rate from all modems to the CMTS, bit/s.")
    downstream_bps: int = Field(ge=1, description="Rate from the CMTS to all modems, bit/s.")


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Status:
    """The controller's status at one moment."""

    schema_version: int = Field(description="Raised when a field changes its meaning or goes.")
    time_unix_s: float = Field(description="Time at which it was made, seconds since 1970.")
    pid: int = Field(description="The controller's process.")
    uptime_s: float = Field(ge=0, description="How long the controller has run, seconds.")
    revision: int = Field(
        ge=0,
        description="Changes of the deployment that are in it; the health counts the same. Whoever "
        "asks soon after a change may still get a status without it.",
    )
    topology: str = Field(description="Name of the topology.")
    tier: str = Field(description="Name of the service tier.")
    aqm: str = Field(description="Queue manager of the upstream service flows.")
    channel: Channel | None = Field(description="Null where it is as fast as the link.")
    modems: tuple[Modem, ...] = Field(
        description="The modems, with their service flows of both directions."
    )
    devices: tuple[Device, ...] = Field(description="The switches.")
    upstream_channels: tuple[UpstreamChannel, ...] = Field(
        default=(),
        description="Upstream channels with a request/grant MAC, as far as the switches tell, by "
        "number.",
    )


_ADAPTER: Final = TypeAdapter(Status)
_MODEM: Final = TypeAdapter(Modem)
_NO_MODEMS: Final = b'"modems":[]'


def encode(status: Status) -> bytes:
    """The status as JSON in UTF-8.

    Modem by modem: other threads can go on in between, where hundreds of service flows in one
    piece would keep the interpreter's lock from them for milliseconds.
    """
    head, key, tail = _ADAPTER.dump_json(replace(status, modems=())).partition(_NO_MODEMS)
    return b"".join(
        (
            head,
            key[:-1],
            b",".join([_MODEM.dump_json(modem) for modem in paced(status.modems)]),
            b"]",
            tail,
        )
    )


def decode(text: bytes) -> Status:
    """The status from JSON.

    Raises:
        ValueError: It is not one; the message says where.
    """
    return _ADAPTER.validate_json(text)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the document."""
    return {"$schema": DIALECT, **_ADAPTER.json_schema(mode="serialization")}
