# SPDX-License-Identifier: Apache-2.0
"""Encodings of values in TLVs: integers in network order, times and rates in fixed units.

A codec turns the value of a TLV into what an operator writes in YAML, and back. It
knows lengths and units; what a value may be is said where the key is declared.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema
from ruamel.yaml.scalarint import HexInt

from docsis_control.config.units import (
    format_bytes,
    format_duration,
    format_frequency,
    format_rate,
)


class Codec(ABC):
    """Between the value of a TLV and a YAML value."""

    @property
    @abstractmethod
    def form(self) -> str:
        """The TLV's value in words, for the documentation."""

    @abstractmethod
    def decode(self, value: bytes, scale: int) -> object:
        """The YAML value; `scale` is bit/s of the rate unit in force.

        Raises:
            ValueError: A length or a code that the standard does not know.
        """

    @abstractmethod
    def encode(self, value: Any, scale: int) -> bytes:
        """The TLV's value of what the model holds."""

    def takes(self, value: bytes) -> bool:
        """Whether a TLV of this type with this value is the key's, and no other vendor's."""
        return True

    def fault(self, value: Any, scale: int) -> str | None:
        """Why what the model holds cannot be encoded, or None."""
        return None


@dataclass(frozen=True)
class Wire:
    """Ties a key of a model to a TLV.

    Attributes:
        type: Type of the TLV within its parent.
        name: Its name in the standard.
        codec: How its value stands there; None where it holds TLVs itself.
    """

    type: int
    name: str
    codec: Codec | None = None

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler(core_schema)
        schema["title"] = f"{self.name} (type {self.type})"
        return schema


def _exactly(value: bytes, size: int) -> bytes:
    if len(value) != size:
        raise ValueError(f"holds {_count(len(value))}; it must hold {size}")
    return value


def _count(size: int) -> str:
    return "1 byte" if size == 1 else f"{size} bytes"


@dataclass(frozen=True)
class Unsigned(Codec):
    """An unsigned integer of `size` bytes; written in hexadecimal where it is a mask."""

    size: int
    hexadecimal: bool = False

    @property
    def form(self) -> str:
        return f"{_count(self.size)}"

    def decode(self, value: bytes, scale: int) -> object:
        number = int.from_bytes(_exactly(value, self.size))
        return HexInt(number, width=2 * self.size) if self.hexadecimal else number

    def encode(self, value: int, scale: int) -> bytes:
        return value.to_bytes(self.size)


@dataclass(frozen=True)
class Flag(Codec):
    """A byte, 0 or 1."""

    form = "1 byte, 0 or 1"

    def decode(self, value: bytes, scale: int) -> object:
        code = _exactly(value, 1)[0]
        if code > 1:
            raise ValueError(f"holds {code}; it must be 0 or 1")
        return code == 1

    def encode(self, value: bool, scale: int) -> bytes:
        return bytes((value,))


@dataclass(frozen=True)
class Choice(Codec):
    """A byte that stands for a word."""

    words: Mapping[str, int]

    @property
    def form(self) -> str:
        return "1 byte: " + ", ".join(f"{code} {word}" for word, code in self.words.items())

    def decode(self, value: bytes, scale: int) -> object:
        code = _exactly(value, 1)[0]
        for word, known in self.words.items():
            if known == code:
                return word
        raise ValueError(f"holds {code}; it must be one of {self.form.removeprefix('1 byte: ')}")

    def encode(self, value: str, scale: int) -> bytes:
        return bytes((self.words[value],))


@dataclass(frozen=True)
class Rate(Codec):
    """Four bytes of bit/s, or of the multiple that the Data Rate Unit Setting names."""

    form = "4 bytes: a rate in the Data Rate Unit"

    def decode(self, value: bytes, scale: int) -> object:
        return format_rate(int.from_bytes(_exactly(value, 4)) * scale)

    def encode(self, value: int, scale: int) -> bytes:
        return (value // scale).to_bytes(4)

    def fault(self, value: int, scale: int) -> str | None:
        unit = format_rate(scale).removeprefix("1 ")
        if value % scale:
            return f"{format_rate(value)} is no whole number of {unit}, the data_rate_unit"
        if value // scale > 0xFFFFFFFF:
            return (
                f"{format_rate(value)} does not fit into four bytes of {unit}, the data_rate_unit"
            )
        return None


@dataclass(frozen=True)
class BitRate(Codec):
    """Four bytes of bit/s, whatever the Data Rate Unit Setting says."""

    form = "4 bytes: a rate in bit/s"

    def decode(self, value: bytes, scale: int) -> object:
        return format_rate(int.from_bytes(_exactly(value, 4)))

    def encode(self, value: int, scale: int) -> bytes:
        return value.to_bytes(4)


@dataclass(frozen=True)
class Hertz(Codec):
    """Four bytes of hertz."""

    form = "4 bytes: a frequency in Hz"

    def decode(self, value: bytes, scale: int) -> object:
        return format_frequency(int.from_bytes(_exactly(value, 4)))

    def encode(self, value: int, scale: int) -> bytes:
        return value.to_bytes(4)


@dataclass(frozen=True)
class Octets(Codec):
    """A size in bytes, as an integer of `size` bytes."""

    size: int

    @property
    def form(self) -> str:
        return f"{_count(self.size)}: a size in bytes"

    def decode(self, value: bytes, scale: int) -> object:
        return format_bytes(int.from_bytes(_exactly(value, self.size)))

    def encode(self, value: int, scale: int) -> bytes:
        return value.to_bytes(self.size)


_UNITS: Final = {1: "ns", 10**3: "us", 10**6: "ms", 10**9: "s"}


@dataclass(frozen=True)
class Time(Codec):
    """A duration in `unit` nanoseconds, as an integer of `size` bytes."""

    size: int
    unit: int

    @property
    def form(self) -> str:
        return f"{_count(self.size)}: a time in {_UNITS[self.unit]}"

    def decode(self, value: bytes, scale: int) -> object:
        return format_duration(int.from_bytes(_exactly(value, self.size)) * self.unit)

    def encode(self, value: int, scale: int) -> bytes:
        return (value // self.unit).to_bytes(self.size)

    def fault(self, value: int, scale: int) -> str | None:
        most = (1 << 8 * self.size) - 1
        if value % self.unit or value // self.unit > most:
            unit = _UNITS[self.unit]
            return f"{format_duration(value)} must be whole {unit}, at most {most} {unit}"
        return None


@dataclass(frozen=True)
class Text(Codec):
    """ASCII with a zero at the end, `longest` bytes at most with it."""

    longest: int

    @property
    def form(self) -> str:
        return f"2 to {self.longest} bytes, ASCII and a zero"

    def decode(self, value: bytes, scale: int) -> object:
        if not 2 <= len(value) <= self.longest:
            raise ValueError(f"holds {_count(len(value))}; it must hold 2 to {self.longest}")
        if value[-1]:
            raise ValueError("holds a text without the zero at its end")
        text = value[:-1]
        if not all(0x20 <= byte < 0x7F for byte in text):
            raise ValueError("holds a text with something other than printable ASCII")
        return text.decode("ascii")

    def encode(self, value: str, scale: int) -> bytes:
        return value.encode("ascii") + b"\0"


@dataclass(frozen=True)
class Address(Codec):
    """An IP address of version 4 or 6."""

    version: int

    @property
    def form(self) -> str:
        return f"{4 if self.version == 4 else 16} bytes"

    def decode(self, value: bytes, scale: int) -> object:
        if self.version == 4:
            return str(IPv4Address(_exactly(value, 4)))
        return str(IPv6Address(_exactly(value, 16)))

    def encode(self, value: IPv4Address | IPv6Address, scale: int) -> bytes:
        return value.packed


def _mac(value: bytes) -> str:
    return value.hex(":")


def _mac_bytes(value: str) -> bytes:
    return bytes.fromhex(value.replace(":", ""))


@dataclass(frozen=True)
class Mac(Codec):
    """An Ethernet address."""

    form = "6 bytes"

    def decode(self, value: bytes, scale: int) -> object:
        return _mac(_exactly(value, 6))

    def encode(self, value: str, scale: int) -> bytes:
        return _mac_bytes(value)


@dataclass(frozen=True)
class MaskedMac(Codec):
    """An Ethernet address and its mask."""

    form = "12 bytes: address, mask"

    def decode(self, value: bytes, scale: int) -> object:
        _exactly(value, 12)
        return {"address": _mac(value[:6]), "mask": _mac(value[6:])}

    def encode(self, value: Any, scale: int) -> bytes:
        return _mac_bytes(value.address) + _mac_bytes(value.mask)


@dataclass(frozen=True)
class Bytes(Codec):
    """Some bytes by name, each an integer."""

    names: tuple[str, ...]
    hexadecimal: bool = True

    @property
    def form(self) -> str:
        return f"{_count(len(self.names))}: {', '.join(self.names)}"

    def decode(self, value: bytes, scale: int) -> object:
        _exactly(value, len(self.names))
        return {
            name: HexInt(byte, width=2) if self.hexadecimal else byte
            for name, byte in zip(self.names, value, strict=True)
        }

    def encode(self, value: Any, scale: int) -> bytes:
        return bytes(getattr(value, name) for name in self.names)


ETHERTYPES: Final = {"none": 0, "ethertype": 1, "dsap": 2, "mac-management": 3, "all-data": 4}
"""The kinds of value that the Ethertype encoding compares with."""


@dataclass(frozen=True)
class EtherType(Codec):
    """A kind of Ethernet frame, and the value of that kind."""

    form = "3 bytes: kind, value"

    def decode(self, value: bytes, scale: int) -> object:
        kind = Choice(ETHERTYPES).decode(_exactly(value, 3)[:1], scale)
        return {"kind": kind, "value": HexInt(int.from_bytes(value[1:]), width=4)}

    def encode(self, value: Any, scale: int) -> bytes:
        return bytes((ETHERTYPES[value.kind],)) + int(value.value).to_bytes(2)


@dataclass(frozen=True)
class Vlan(Codec):
    """A VLAN_ID in the upper 12 bits; the modem ignores the lower four."""

    form = "2 bytes: 12 bits, 4 that are ignored"

    def decode(self, value: bytes, scale: int) -> object:
        number = int.from_bytes(_exactly(value, 2))
        if number & 0xF:
            return {"id": number >> 4, "ignored_bits": number & 0xF}
        return number >> 4

    def encode(self, value: Any, scale: int) -> bytes:
        return int(value.id << 4 | value.ignored_bits).to_bytes(2)


@dataclass(frozen=True)
class Numbers(Codec):
    """1 to `most` integers of two bytes."""

    most: int

    @property
    def form(self) -> str:
        return f"1 to {self.most} times 2 bytes"

    def decode(self, value: bytes, scale: int) -> object:
        if len(value) % 2 or not 2 <= len(value) <= 2 * self.most:
            raise ValueError(f"holds {_count(len(value))}; it must hold {self.form}")
        return [int.from_bytes(value[i : i + 2]) for i in range(0, len(value), 2)]

    def encode(self, value: tuple[int, ...], scale: int) -> bytes:
        return b"".join(number.to_bytes(2) for number in value)
