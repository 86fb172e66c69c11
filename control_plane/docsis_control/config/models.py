# SPDX-License-Identifier: Apache-2.0
"""Models of service tiers, and what all models share: strict, frozen, in the operator's terms.

An unknown key is an error everywhere, so that a misspelt parameter cannot
silently keep its default. Rates are bit/s, durations nanoseconds, sizes bytes
once parsed; see `units` for how they are written.
"""

import re
from collections.abc import Mapping
from ipaddress import IPv4Interface
from typing import Annotated, ClassVar, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from docsis_control.config.units import (
    Buffer,
    BufferLimit,
    ByteSize,
    DataRate,
    Duration,
    format_bytes,
    format_rate,
)

MAX_FRAME: Final = 1522
"""The largest frame of a service flow in bytes, and the depth of the peak-rate
bucket (000, appendix C; the traffic manager's second inequality)."""

MAX_RATE: Final = 2**34 - 1
"""bit/s; the pipeline's token arithmetic holds below 2^34."""

MAX_BURST: Final = 2**32 - 1
"""Bytes; the pipeline's bytes_t."""

MAX_BUFFER: Final = 2**31 - 1
"""Bytes; half the range of the pipeline's wrapping byte counters."""

DEFAULT_LATENCY_TARGET: Final = 10_000_000
"""Nanoseconds; LATENCY_TARGET of RFC 8034 A.1."""

DEFAULT_BUFFER: Final = BufferLimit(time=250_000_000)
"""000, section 9: 250 ms at the Maximum Sustained Traffic Rate."""

_NAME: Final = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
_MAC: Final = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.ASCII)
# An interface is named HOST-eth0, and Linux allows 15 characters.
_LONGEST_NODE_NAME: Final = 10


def _node_name(value: str) -> str:
    if not _NAME.fullmatch(value) or len(value) > _LONGEST_NODE_NAME:
        raise ValueError(
            f'"{value}" is not a node name; use 1 to {_LONGEST_NODE_NAME} lower-case letters, '
            "digits or hyphens, a letter first"
        )
    return value


def parse_mac(value: object) -> str:
    """A MAC address in lower case.

    Raises:
        ValueError: It is none, or not written with colons.
    """
    if not isinstance(value, str) or not _MAC.fullmatch(value.lower()):
        raise ValueError(f'"{value}" is not a MAC address; write it as in "02:00:00:00:01:01"')
    return value.lower()


def _mac(value: object) -> str:
    mac = parse_mac(value)
    if int(mac[:2], 16) & 1:
        raise ValueError(f'"{value}" is a multicast address; a station needs a unicast one')
    return mac


def _ipv4(value: object) -> IPv4Interface:
    if isinstance(value, IPv4Interface):
        return value
    try:
        if not isinstance(value, str) or "/" not in value:
            raise ValueError
        interface = IPv4Interface(value)
    except ValueError:
        raise ValueError(
            f'"{value}" is not an IPv4 address with its prefix; write it as in "10.0.0.11/24"'
        ) from None
    network = interface.network
    if network.prefixlen < 31 and interface.ip in (
        network.network_address,
        network.broadcast_address,
    ):
        raise ValueError(f'"{value}" is the address of a network, not of a host')
    return interface


NodeName = Annotated[
    str,
    AfterValidator(_node_name),
    Field(json_schema_extra={"pattern": f"^{_NAME.pattern}$", "maxLength": _LONGEST_NODE_NAME}),
]
MacAddress = Annotated[
    str,
    BeforeValidator(_mac),
    WithJsonSchema({"type": "string", "pattern": "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$"}),
]
HostAddress = Annotated[
    IPv4Interface,
    BeforeValidator(_ipv4),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+){3}/[0-9]+$"}),
]


class Model(BaseModel):
    """Base of all configuration models: no unknown keys, no coercion, immutable."""

    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Hints for keys that users look for here, and that are elsewhere or nowhere, by key."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, validate_default=False, str_strip_whitespace=False
    )


def _latency_target(value: int) -> int:
    # TLV 24.40.2 has milliseconds in one byte.
    if value % 1_000_000 or not 1 <= value // 1_000_000 <= 255:
        raise ValueError("the latency target must be whole milliseconds from 1 ms to 255 ms")
    return value


LatencyTarget = Annotated[Duration, AfterValidator(_latency_target)]
"""An AQM Latency Target that TLV 24.40.2 can hold: nanoseconds in Python, "10 ms" in YAML."""


class Aqm(Model):
    """Active queue management of a service flow (TLV 24/25.40)."""

    enabled: bool = Field(description="Whether the service flow's queue is actively managed.")
    latency_target: LatencyTarget = Field(
        default=DEFAULT_LATENCY_TARGET, description="AQM latency target; 10 ms unless given."
    )


class ServiceFlowProfile(Model):
    """QoS parameters of one direction's service flow (TLV 24 and 25)."""

    maximum_sustained_traffic_rate: DataRate = Field(
        description="R: the long-term limit, TLV 24/25.8."
    )
    peak_traffic_rate: DataRate = Field(
        description="P: the limit while a burst lasts, TLV 24/25.27."
    )
    maximum_traffic_burst: ByteSize = Field(
        description="B: depth of the sustained rate's bucket, TLV 24/25.9; at least 1522 B."
    )
    initial_tokens: ByteSize | None = Field(
        default=None, description="Bytes in the bucket at the start; full unless given."
    )
    buffer: Buffer = Field(
        default=DEFAULT_BUFFER,
        description="Queue limit: a size, or a time at the sustained rate; 250 ms unless given.",
    )
    aqm: Aqm = Field(default=Aqm(enabled=True), description="Active queue management.")

    @field_validator("maximum_sustained_traffic_rate", "peak_traffic_rate")
    @classmethod
    def _rate(cls, value: int) -> int:
        if not 0 < value <= MAX_RATE:
            raise ValueError(
                f"a rate must be above 0 and at most {MAX_RATE} bps, not {format_rate(value)}"
            )
        return value

    @field_validator("maximum_traffic_burst")
    @classmethod
    def _burst(cls, value: int) -> int:
        if value < MAX_FRAME:
            raise ValueError(
                f"a burst of {format_bytes(value)} is too small to send the largest frame; "
                f"give at least {MAX_FRAME} B"
            )
        if value > MAX_BURST:
            raise ValueError(f"a burst must be at most {MAX_BURST} B, not {format_bytes(value)}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        rate = self.maximum_sustained_traffic_rate
        if self.peak_traffic_rate < rate:
            raise KeyedError(
                "peak_traffic_rate",
                f"{format_rate(self.peak_traffic_rate)} is below the Maximum Sustained Traffic "
                f"Rate of {format_rate(rate)}; make it at least equal",
            )
        if self.initial_tokens is not None and self.initial_tokens > self.maximum_traffic_burst:
            raise KeyedError(
                "initial_tokens",
                f"{format_bytes(self.initial_tokens)} do not fit into a Maximum Traffic Burst of "
                f"{format_bytes(self.maximum_traffic_burst)}",
            )
        buffer = self.buffer_bytes
        if buffer < MAX_FRAME:
            raise KeyedError(
                "buffer",
                f"a buffer of {buffer} bytes cannot hold the largest frame; "
                f"give at least {MAX_FRAME} B",
            )
        if buffer > MAX_BUFFER:
            raise KeyedError("buffer", f"a buffer must be at most {MAX_BUFFER} bytes, not {buffer}")
        return self

    @property
    def buffer_bytes(self) -> int:
        """The buffer in bytes."""
        return self.buffer.bytes_at(self.maximum_sustained_traffic_rate)


class ServiceTier(Model):
    """The rates that a subscriber bought: one service flow in each direction."""

    name: str = Field(description="Name of the tier; the file's name without .yaml.")
    description: str = Field(default="", description="One line for people.")
    upstream: ServiceFlowProfile
    downstream: ServiceFlowProfile


class KeyedError(ValueError):
    """A problem that concerns one key below the model that found it.

    Attributes:
        key: Dotted path of the key, relative to the model.
    """

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        super().__init__(message)
