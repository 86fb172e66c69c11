# SPDX-License-Identifier: Apache-2.0
"""Service flows of the configuration file, TLV 24 and 25 (MULPI, annex C.2.2)."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from docsis_control.config.models import KeyedError, Model
from docsis_control.config.units import ByteSize, DataRate, Duration
from docsis_control.config.yaml_file import Location
from docsis_control.modem_config.ack_suppression import AckSuppressionCodec
from docsis_control.modem_config.aggregate import Aggregate
from docsis_control.modem_config.fields import (
    HexByte,
    HexNumber32,
    Number16,
    Number32,
    Reference16,
    Reference32,
)
from docsis_control.modem_config.tlv import Tlv
from docsis_control.modem_config.wire import (
    BitRate,
    Bytes,
    Choice,
    Flag,
    Numbers,
    Octets,
    Rate,
    Text,
    Time,
    Unsigned,
    Wire,
)

US: Final = 10**3
MS: Final = 10**6
S: Final = 10**9

RATE_UNITS: Final = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9}
"""bit/s of the Data Rate Unit Settings, in the order of their codes."""

DATA_RATE_UNIT: Final = 41
"""Type of the Data Rate Unit Setting."""

RATES: Final = (
    "maximum_sustained_traffic_rate",
    "minimum_reserved_traffic_rate",
    "peak_traffic_rate",
)
"""Keys that the Data Rate Unit Setting holds for."""

SCHEDULING_TYPES: Final = {
    "undefined": 1,
    "best-effort": 2,
    "nrtps": 3,
    "rtps": 4,
    "ugs-ad": 5,
    "ugs": 6,
    "pgs": 7,
}
AQM_ALGORITHMS: Final = {"default": 0, "docsis-pie": 1, "immediate": 2}


def _class_name(value: object) -> str:
    if isinstance(value, str) and 1 <= len(value) <= 15 and value.isascii() and value.isprintable():
        return value
    raise ValueError(f'"{value}" is no class name; use 1 to 15 printable ASCII characters')


ClassName = Annotated[
    str,
    BeforeValidator(_class_name),
    WithJsonSchema({"type": "string", "pattern": "^[ -~]{1,15}$"}),
]

_Rate = Annotated[DataRate, Field(le=(2**32 - 1) * 10**9)]
_GrantRate = Annotated[DataRate, Field(le=2**32 - 1)]
_Size16 = Annotated[ByteSize, Field(le=0xFFFF)]
_Size32 = Annotated[ByteSize, Field(le=0xFFFFFFFF)]


class BufferControl(Aggregate):
    """Sizes of the service flow's queue."""

    minimum_buffer: Annotated[_Size32 | None, Wire(1, "Minimum Buffer", Octets(4))] = None
    target_buffer: Annotated[_Size32 | None, Wire(2, "Target Buffer", Octets(4))] = None
    maximum_buffer: Annotated[_Size32 | None, Wire(3, "Maximum Buffer", Octets(4))] = None


class AqmEncodings(Aggregate):
    """Active queue management of the service flow."""

    disable: Annotated[bool | None, Wire(1, "SF AQM Disable", Flag())] = None
    latency_target: Annotated[Duration | None, Wire(2, "AQM Latency Target", Time(1, MS))] = None
    algorithm: Annotated[
        Literal["default", "docsis-pie", "immediate"] | None,
        Wire(3, "AQM Algorithm", Choice(AQM_ALGORITHMS)),
    ] = None
    immediate_maximum_threshold: Annotated[
        Duration | None, Wire(4, "Immediate AQM Max Threshold", Time(2, US))
    ] = None
    immediate_range_exponent: Annotated[
        Annotated[int, Field(ge=0, le=25)] | None,
        Wire(5, "Immediate AQM Range Exponent of Ramp Function", Unsigned(1)),
    ] = None
    latency_histogram: Annotated[
        Annotated[tuple[Number16, ...], Field(strict=False, min_length=1, max_length=15)] | None,
        Wire(6, "Latency Histogram Encodings", Numbers(15)),
    ] = None

    @model_validator(mode="after")
    def _target_above_zero(self) -> Self:
        if self.latency_target == 0:
            raise KeyedError("latency_target", "must be 1 ms to 255 ms, not 0")
        return self


class TosOverwrite(Model):
    """New ToS byte of every packet: (byte AND and_mask) OR or_mask."""

    and_mask: HexByte
    or_mask: HexByte


class QosParameters(Aggregate):
    """The parameters that a service flow of either direction, or a service class, may have."""

    traffic_priority: Annotated[
        Annotated[int, Field(ge=0, le=7)] | None, Wire(7, "Traffic Priority", Unsigned(1))
    ] = None
    maximum_sustained_traffic_rate: Annotated[
        _Rate | None, Wire(8, "Maximum Sustained Traffic Rate", Rate())
    ] = None
    maximum_traffic_burst: Annotated[
        _Size32 | None, Wire(9, "Maximum Traffic Burst", Octets(4))
    ] = None
    minimum_reserved_traffic_rate: Annotated[
        _Rate | None, Wire(10, "Minimum Reserved Traffic Rate", Rate())
    ] = None
    assumed_minimum_reserved_rate_packet_size: Annotated[
        _Size16 | None, Wire(11, "Assumed Minimum Reserved Rate Packet Size", Octets(2))
    ] = None
    timeout_for_active_qos_parameters: Annotated[
        Duration | None, Wire(12, "Timeout for Active QoS Parameters", Time(2, S))
    ] = None
    timeout_for_admitted_qos_parameters: Annotated[
        Duration | None, Wire(13, "Timeout for Admitted QoS Parameters", Time(2, S))
    ] = None
    tos_overwrite: Annotated[
        TosOverwrite | None,
        Wire(23, "IP Type of Service (DSCP) Overwrite", Bytes(("and_mask", "or_mask"))),
    ] = None
    peak_traffic_rate: Annotated[_Rate | None, Wire(27, "Peak Traffic Rate", Rate())] = None
    required_attribute_mask: Annotated[
        HexNumber32 | None,
        Wire(31, "Service Flow Required Attribute Mask", Unsigned(4, hexadecimal=True)),
    ] = None
    forbidden_attribute_mask: Annotated[
        HexNumber32 | None,
        Wire(32, "Service Flow Forbidden Attribute Mask", Unsigned(4, hexadecimal=True)),
    ] = None
    attribute_aggregation_rule_mask: Annotated[
        HexNumber32 | None,
        Wire(33, "Service Flow Attribute Aggregation Rule Mask", Unsigned(4, hexadecimal=True)),
    ] = None
    application_identifier: Annotated[
        Number32 | None, Wire(34, "Application Identifier", Unsigned(4))
    ] = None
    buffer_control: Annotated[BufferControl | None, Wire(35, "Buffer Control")] = None
    aggregate_service_flow_reference: Annotated[
        Reference16 | None, Wire(36, "Aggregate Service Flow Reference", Unsigned(2))
    ] = None
    aqm: Annotated[AqmEncodings | None, Wire(40, "AQM Encodings")] = None
    data_rate_unit: Annotated[
        Literal["bps", "kbps", "Mbps", "Gbps"] | None,
        Wire(
            DATA_RATE_UNIT,
            "Data Rate Unit Setting",
            Choice({unit: code for code, unit in enumerate(RATE_UNITS)}),
        ),
    ] = None

    @classmethod
    def scale_of(cls, tlvs: list[Tlv]) -> int:
        units = tuple(RATE_UNITS.values())
        for tlv in tlvs:
            if tlv.type == DATA_RATE_UNIT and len(tlv.value) == 1 and tlv.value[0] < len(units):
                return units[tlv.value[0]]
        return 1

    @property
    def rate_unit(self) -> str:
        """The unit of the rates: what is given, else the smallest that holds all of them."""
        if self.data_rate_unit:
            return self.data_rate_unit
        rates = [getattr(self, name) or 0 for name in RATES]
        for unit, scale in RATE_UNITS.items():
            if all(rate % scale == 0 and rate // scale <= 0xFFFFFFFF for rate in rates):
                return unit
        return "bps"

    @property
    def scale(self) -> int:
        return RATE_UNITS[self.rate_unit]

    def parts(self) -> Iterator[tuple[int, Location, bytes]]:
        yield from super().parts()
        if self.data_rate_unit is None and self.scale != 1:
            code = tuple(RATE_UNITS).index(self.rate_unit)
            yield DATA_RATE_UNIT, ("data_rate_unit",), bytes((code,))

    def present(self) -> list[int]:
        automatic = self.data_rate_unit is None and self.scale != 1
        return super().present() + [DATA_RATE_UNIT] * automatic


class UpstreamQos(QosParameters):
    """The parameters that an upstream service flow, or a service class for them, may have."""

    maximum_concatenated_burst: Annotated[
        _Size16 | None, Wire(14, "Maximum Concatenated Burst", Octets(2))
    ] = None
    scheduling_type: Annotated[
        Literal["undefined", "best-effort", "nrtps", "rtps", "ugs-ad", "ugs", "pgs"] | None,
        Wire(15, "Service Flow Scheduling Type", Choice(SCHEDULING_TYPES)),
    ] = None
    request_transmission_policy: Annotated[
        HexNumber32 | None, Wire(16, "Request/Transmission Policy", Unsigned(4, hexadecimal=True))
    ] = None
    nominal_polling_interval: Annotated[
        Duration | None, Wire(17, "Nominal Polling Interval", Time(4, US))
    ] = None
    tolerated_poll_jitter: Annotated[
        Duration | None, Wire(18, "Tolerated Poll Jitter", Time(4, US))
    ] = None
    unsolicited_grant_size: Annotated[
        _Size16 | None, Wire(19, "Unsolicited Grant Size", Octets(2))
    ] = None
    nominal_grant_interval: Annotated[
        Duration | None, Wire(20, "Nominal Grant Interval", Time(4, US))
    ] = None
    tolerated_grant_jitter: Annotated[
        Duration | None, Wire(21, "Tolerated Grant Jitter", Time(4, US))
    ] = None
    grants_per_interval: Annotated[
        Annotated[int, Field(ge=0, le=127)] | None, Wire(22, "Grants per Interval", Unsigned(1))
    ] = None
    backoff_window_multiplier: Annotated[
        # In eighths; the range is that of DOCS-QOS3-MIB.
        Annotated[int, Field(ge=4, le=12)] | None,
        Wire(25, "Multiplier to Contention Request Backoff Window", Unsigned(1)),
    ] = None
    bytes_requested_multiplier: Annotated[
        Literal[1, 2, 4, 8, 16] | None,
        Wire(26, "Multiplier to Number of Bytes Requested", Unsigned(1)),
    ] = None
    guaranteed_grant_interval: Annotated[
        Duration | None, Wire(44, "Guaranteed Grant Interval", Time(2, US))
    ] = None
    guaranteed_grant_rate: Annotated[
        _GrantRate | None, Wire(45, "Guaranteed Grant Rate", BitRate())
    ] = None
    guaranteed_request_interval: Annotated[
        Duration | None, Wire(46, "Guaranteed Request Interval", Time(2, US))
    ] = None
    absolute_queue_depth_requests: Annotated[
        bool | None, Wire(48, "Absolute Queue-Depth Requests", Flag())
    ] = None
    pgs_activity_detection_disable: Annotated[
        bool | None, Wire(49, "PGS Activity Detection Disable", Flag())
    ] = None
    ack_suppression: Annotated[
        Literal["none", "always", "safe"] | None,
        Wire(43, "Vendor Specific QoS Parameters", AckSuppressionCodec()),
    ] = Field(
        default=None,
        description="Which queued TCP acknowledgements a later one of their connection replaces.",
    )


class DownstreamQos(QosParameters):
    """The parameters that a downstream service flow, or a service class for them, may have."""

    maximum_downstream_latency: Annotated[
        Duration | None, Wire(14, "Maximum Downstream Latency", Time(4, US))
    ] = None
    resequencing: Annotated[
        Literal["if-bonded", "never"] | None,
        Wire(17, "Downstream Resequencing", Choice({"if-bonded": 0, "never": 1})),
    ] = None


class _Identity(Aggregate):
    """The parameters that turn a set of QoS parameters into a service flow."""

    service_flow_reference: Annotated[
        Reference16, Wire(1, "Service Flow Reference", Unsigned(2))
    ] = Field(description="Number by which classifiers name the service flow.")
    service_flow_id: Annotated[
        Reference32 | None, Wire(2, "Service Flow Identifier", Unsigned(4))
    ] = None
    service_class_name: Annotated[
        ClassName | None,
        Wire(4, "Service Class Name", Text(16)),
    ] = None
    qos_parameter_set_type: Annotated[
        Annotated[int, Field(ge=1, le=7)],
        Wire(6, "Quality of Service Parameter Set Type", Unsigned(1)),
    ] = Field(
        description="Sum of the states of the parameters: 1 provisioned, 2 admitted, 4 active."
    )


class UpstreamServiceFlow(UpstreamQos, _Identity):
    """A service flow from the modem to the CMTS."""

    service_identifier: Annotated[Number16 | None, Wire(3, "Service Identifier", Unsigned(2))] = (
        None
    )


class DownstreamServiceFlow(DownstreamQos, _Identity):
    """A service flow from the CMTS to the modem."""
