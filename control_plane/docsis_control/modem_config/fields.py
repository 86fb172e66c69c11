# SPDX-License-Identifier: Apache-2.0
"""Types of values that several models of the configuration file have."""

from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema
from ruamel.yaml.scalarint import HexInt

from docsis_control.config.models import parse_mac

Byte = Annotated[int, Field(ge=0, le=0xFF)]
Number16 = Annotated[int, Field(ge=0, le=0xFFFF)]
Number32 = Annotated[int, Field(ge=0, le=0xFFFFFFFF)]

Reference8 = Annotated[int, Field(ge=1, le=0xFF)]
Reference16 = Annotated[int, Field(ge=1, le=0xFFFF)]
Reference32 = Annotated[int, Field(ge=1, le=0xFFFFFFFF)]

HexByte = Annotated[
    int,
    Field(ge=0, le=0xFF),
    PlainSerializer(lambda value: HexInt(value, width=2), return_type=int),
]
"""A byte that YAML shows as 0xb8."""

HexNumber16 = Annotated[
    int,
    Field(ge=0, le=0xFFFF),
    PlainSerializer(lambda value: HexInt(value, width=4), return_type=int),
]
FlowLabel = Annotated[
    int,
    Field(ge=0, le=0xFFFFF),
    PlainSerializer(lambda value: HexInt(value, width=5), return_type=int),
]
HexNumber32 = Annotated[
    int,
    Field(ge=0, le=0xFFFFFFFF),
    PlainSerializer(lambda value: HexInt(value, width=8), return_type=int),
]

# A classifier may well match a multicast address.
MacAddress = Annotated[
    str,
    BeforeValidator(parse_mac),
    WithJsonSchema({"type": "string", "pattern": "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$"}),
]


def _ipv4(value: object) -> IPv4Address:
    try:
        if isinstance(value, str | IPv4Address):
            return IPv4Address(value)
    except ValueError:
        pass
    raise ValueError(f'"{value}" is not an IPv4 address; write it as in "10.0.0.11"')


def _ipv6(value: object) -> IPv6Address:
    try:
        if isinstance(value, str | IPv6Address) and "%" not in str(value):
            return IPv6Address(value)
    except ValueError:
        pass
    raise ValueError(f'"{value}" is not an IPv6 address; write it as in "2001:db8::11"')


Ipv4 = Annotated[
    IPv4Address,
    BeforeValidator(_ipv4),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "format": "ipv4"}),
]
Ipv6 = Annotated[
    IPv6Address,
    BeforeValidator(_ipv6),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "format": "ipv6"}),
]

ANY_PROTOCOL: Final = 256
"""MULPI: matches every IP protocol."""

TCP_OR_UDP: Final = 257
"""MULPI: matches TCP and UDP."""

_PROTOCOLS: Final = {
    "icmp": 1,
    "tcp": 6,
    "udp": 17,
    "icmpv6": 58,
    "any": ANY_PROTOCOL,
    "tcp-or-udp": TCP_OR_UDP,
}


def parse_protocol(value: object) -> object:
    """The number of a protocol that is given by name; anything else as it is.

    Raises:
        ValueError: There is no protocol of that name.
    """
    if isinstance(value, str):
        if value not in _PROTOCOLS:
            raise ValueError(
                f'"{value}" is not a protocol; use a number from 0 to 255 or one of '
                f"{', '.join(_PROTOCOLS)}"
            )
        return _PROTOCOLS[value]
    return value


def format_protocol(value: int) -> int | str:
    """The name of a protocol where `parse_protocol` knows one, else its number."""
    return next((name for name, number in _PROTOCOLS.items() if number == value), value)


Protocol = Annotated[
    int,
    BeforeValidator(parse_protocol),
    Field(ge=0, le=TCP_OR_UDP),
    PlainSerializer(format_protocol),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": TCP_OR_UDP},
                {"enum": list(_PROTOCOLS)},
            ]
        }
    ),
]
