# SPDX-License-Identifier: Apache-2.0
"""Packet classifiers of the configuration file, TLV 22 and 23 (MULPI, annex C.2.1)."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, model_serializer, model_validator
from pydantic_core import CoreSchema

from docsis_control.config.models import KeyedError, Model
from docsis_control.modem_config.aggregate import Aggregate
from docsis_control.modem_config.fields import (
    Byte,
    FlowLabel,
    HexByte,
    HexNumber16,
    Ipv4,
    Ipv6,
    MacAddress,
    Number16,
    Protocol,
    Reference8,
    Reference16,
    Reference32,
)
from docsis_control.modem_config.wire import (
    Address,
    Bytes,
    Choice,
    EtherType,
    Flag,
    Mac,
    MaskedMac,
    Unsigned,
    Vlan,
    Wire,
)


def _ascending(low: int, high: int, low_key: str, high_key: str) -> None:
    if low > high:
        raise KeyedError(high_key, f"{high} is below {low_key}, {low}")


class ByteRange(Model):
    """Values of the ToS or traffic-class byte: low <= (byte AND mask) <= high."""

    low: HexByte
    high: HexByte
    mask: HexByte

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _ascending(self.low, self.high, "low", "high")
        return self


class PriorityRange(Model):
    """802.1p priorities from low to high."""

    low: int = Field(ge=0, le=7)
    high: int = Field(ge=0, le=7)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _ascending(self.low, self.high, "low", "high")
        return self


class MaskedMacAddress(Model):
    """An Ethernet address; bits of which the mask is 0 do not count."""

    address: MacAddress
    mask: MacAddress = "ff:ff:ff:ff:ff:ff"


class EthernetProtocol(Model):
    """The protocol of an Ethernet frame."""

    kind: Literal["none", "ethertype", "dsap", "mac-management", "all-data"] = "ethertype"
    value: HexNumber16


class VlanId(Model):
    """A VLAN; YAML has the number alone where the ignored bits are 0."""

    id: int = Field(ge=0, le=0xFFF)
    ignored_bits: int = Field(default=0, ge=0, le=0xF)

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool):
            return {"id": value}
        return value

    @model_serializer(mode="plain")
    def _as_number(self) -> int | dict[str, int]:
        if self.ignored_bits:
            return {"id": self.id, "ignored_bits": self.ignored_bits}
        return self.id

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        number = {"type": "integer", "minimum": 0, "maximum": 0xFFF}
        return {"anyOf": [number, handler(core_schema)]}


class Ip(Aggregate):
    """IPv4 header, and the ports of TCP and UDP whatever the version of IP."""

    tos: Annotated[
        ByteRange | None,
        Wire(1, "IPv4 Type of Service Range and Mask", Bytes(("low", "high", "mask"))),
    ] = None
    protocol: Annotated[Protocol | None, Wire(2, "IP Protocol", Unsigned(2))] = None
    source_address: Annotated[Ipv4 | None, Wire(3, "IPv4 Source Address", Address(4))] = None
    source_mask: Annotated[Ipv4 | None, Wire(4, "IPv4 Source Mask", Address(4))] = None
    destination_address: Annotated[Ipv4 | None, Wire(5, "IPv4 Destination Address", Address(4))] = (
        None
    )
    destination_mask: Annotated[Ipv4 | None, Wire(6, "IPv4 Destination Mask", Address(4))] = None
    source_port_start: Annotated[
        Number16 | None, Wire(7, "TCP/UDP Source Port Start", Unsigned(2))
    ] = None
    source_port_end: Annotated[Number16 | None, Wire(8, "TCP/UDP Source Port End", Unsigned(2))] = (
        None
    )
    destination_port_start: Annotated[
        Number16 | None, Wire(9, "TCP/UDP Destination Port Start", Unsigned(2))
    ] = None
    destination_port_end: Annotated[
        Number16 | None, Wire(10, "TCP/UDP Destination Port End", Unsigned(2))
    ] = None

    @property
    def only_ipv4(self) -> str | None:
        """A key that only an IPv4 packet can match, or None."""
        names = (
            *("tos", "protocol", "source_address", "source_mask"),
            *("destination_address", "destination_mask"),
        )
        return next((name for name in names if getattr(self, name) is not None), None)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for end in ("source", "destination"):
            start, stop = getattr(self, f"{end}_port_start"), getattr(self, f"{end}_port_end")
            # Omitted, they are 0 and 65535.
            if start is not None and stop is not None:
                _ascending(start, stop, f"{end}_port_start", f"{end}_port_end")
        return self


class Ethernet(Aggregate):
    """Ethernet header."""

    destination_mac: Annotated[
        MaskedMacAddress | None, Wire(1, "Destination MAC Address", MaskedMac())
    ] = None
    source_mac: Annotated[MacAddress | None, Wire(2, "Source MAC Address", Mac())] = None
    ethertype: Annotated[
        EthernetProtocol | None, Wire(3, "Ethertype/DSAP/MacType", EtherType())
    ] = None


class Tag(Aggregate):
    """802.1Q tag."""

    user_priority: Annotated[
        PriorityRange | None,
        Wire(1, "IEEE 802.1P User_Priority", Bytes(("low", "high"), hexadecimal=False)),
    ] = None
    vlan_id: Annotated[VlanId | None, Wire(2, "IEEE 802.1Q VLAN_ID", Vlan())] = None


class Ipv6Header(Aggregate):
    """IPv6 header."""

    traffic_class: Annotated[
        ByteRange | None,
        Wire(1, "IPv6 Traffic Class Range and Mask", Bytes(("low", "high", "mask"))),
    ] = None
    flow_label: Annotated[
        FlowLabel | None,
        Wire(2, "IPv6 Flow Label", Unsigned(4, hexadecimal=True)),
    ] = None
    next_header: Annotated[Protocol | None, Wire(3, "IPv6 Next Header Type", Unsigned(2))] = None
    source_address: Annotated[Ipv6 | None, Wire(4, "IPv6 Source Address", Address(6))] = None
    source_prefix_length: Annotated[
        Annotated[int, Field(ge=0, le=128)] | None,
        Wire(5, "IPv6 Source Prefix Length", Unsigned(1)),
    ] = None
    destination_address: Annotated[Ipv6 | None, Wire(6, "IPv6 Destination Address", Address(6))] = (
        None
    )
    destination_prefix_length: Annotated[
        Annotated[int, Field(ge=0, le=128)] | None,
        Wire(7, "IPv6 Destination Prefix Length", Unsigned(1)),
    ] = None

    @property
    def only_ipv6(self) -> str | None:
        """A key that only an IPv6 packet can match, or None."""
        names = (
            *("traffic_class", "flow_label", "next_header", "source_address"),
            *("source_prefix_length", "destination_address", "destination_prefix_length"),
        )
        return next((name for name in names if getattr(self, name) is not None), None)


DYNAMIC_ACTIONS = {"add": 0, "replace": 1, "delete": 2}


class Classifier(Aggregate):
    """A packet classifier: every condition that is given must hold."""

    classifier_reference: Annotated[
        Reference8 | None, Wire(1, "Classifier Reference", Unsigned(1))
    ] = None
    classifier_id: Annotated[Reference16 | None, Wire(2, "Classifier Identifier", Unsigned(2))] = (
        None
    )
    service_flow_reference: Annotated[
        Reference16 | None, Wire(3, "Service Flow Reference", Unsigned(2))
    ] = None
    service_flow_id: Annotated[
        Reference32 | None, Wire(4, "Service Flow Identifier", Unsigned(4))
    ] = None
    rule_priority: Annotated[Byte | None, Wire(5, "Rule Priority", Unsigned(1))] = None
    active: Annotated[bool | None, Wire(6, "Classifier Activation State", Flag())] = None
    dynamic_action: Annotated[
        Literal["add", "replace", "delete"] | None,
        Wire(7, "Dynamic Service Change Action", Choice(DYNAMIC_ACTIONS)),
    ] = None
    ip: Annotated[Ip | None, Wire(9, "IPv4 and TCP/UDP Packet Classification")] = None
    ethernet: Annotated[Ethernet | None, Wire(10, "Ethernet LLC Packet Classification")] = None
    ieee_802_1q: Annotated[Tag | None, Wire(11, "IEEE 802.1P/Q Packet Classification")] = None
    ipv6: Annotated[Ipv6Header | None, Wire(12, "IPv6 Packet Classification")] = None
