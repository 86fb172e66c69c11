# SPDX-License-Identifier: Apache-2.0
"""Quantities as an operator writes them: a number, a space, a unit.

Multiples are decimal (SI) throughout, as they are in DOCSIS: 1 Mbps is 1,000,000
bit/s and 1 KB is 1,000 bytes. Parsing is exact: decimal fractions are never
taken through binary floating point, and a value between two units of the result
is refused instead of rounded.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_QUANTITY: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?) ?(?P<unit>[A-Za-z/%]+)", re.ASCII)

_RATE_UNITS: Final = {
    "bps": 1,
    "bit/s": 1,
    "kbps": 10**3,
    "kbit/s": 10**3,
    "Mbps": 10**6,
    "Mbit/s": 10**6,
    "Gbps": 10**9,
    "Gbit/s": 10**9,
}
_DURATION_UNITS: Final = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_FREQUENCY_UNITS: Final = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
_SHARE_UNITS: Final = {"ppm": 1, "%": 10**4}
_SMALL_SHARE: Final = 100
"""Smaller shares are written in ppm."""
_BDP: Final = re.compile(r"(?P<times>\d+(?:\.\d+)?) ?BDP at (?P<round_trip>.+)", re.ASCII)
_BYTE_UNITS: Final = {"B": 1, "bytes": 1, "KB": 10**3, "kB": 10**3, "MB": 10**6, "GB": 10**9}


def _parse(value: object, units: dict[str, int], what: str, example: str) -> int:
    choice = ", ".join(units)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f'is not {what}; write a number and a unit, as in "{example}"')
    if not isinstance(value, str):
        raise ValueError(
            f'{value} has no unit; write {what} as a number and one of {choice}, as in "{example}"'
        )
    match = _QUANTITY.fullmatch(value.strip())
    if match is None:
        raise ValueError(
            f'"{value}" is not {what}; write a number and one of {choice}, as in "{example}"'
        )
    factor = units.get(match["unit"])
    if factor is None:
        raise ValueError(
            f'"{match["unit"]}" is not a unit of {what}; use one of {choice}, as in "{example}"'
        )
    # Whole numbers are as exact here as a Fraction, and ten times as fast.
    whole, _, decimals = match["number"].partition(".")
    denominator: int = 10 ** len(decimals)
    exact, rest = divmod(int(whole + decimals) * factor, denominator)
    if rest:
        raise ValueError(f'"{value}" is finer than 1 {next(iter(units))}, the smallest unit')
    return exact


def parse_rate(value: object) -> int:
    """Parses a data rate such as "20 Mbps" into bit/s.

    Raises:
        ValueError: Not a rate; the message is for the operator.
    """
    return _parse(value, _RATE_UNITS, "a data rate", "20 Mbps")


def parse_duration(value: object) -> int:
    """Parses a duration such as "250 ms" into nanoseconds.

    Raises:
        ValueError: Not a duration; the message is for the operator.
    """
    return _parse(value, _DURATION_UNITS, "a duration", "20 ms")


def parse_bytes(value: object) -> int:
    """Parses a size such as "500 KB" into bytes.

    Raises:
        ValueError: Not a size; the message is for the operator.
    """
    return _parse(value, _BYTE_UNITS, "a size", "500 KB")


def parse_frequency(value: object) -> int:
    """Parses a frequency such as "603 MHz" into hertz.

    Raises:
        ValueError: Not a frequency; the message is for the operator.
    """
    return _parse(value, _FREQUENCY_UNITS, "a frequency", "603 MHz")


def parse_share(value: object) -> int:
    """Reads "0.5 %" as millionths.

    Raises:
        ValueError: It is not a share with its unit, or above all.
    """
    share = _parse(value, _SHARE_UNITS, "a share", "0.5 %")
    if share > 10**6:
        raise ValueError(f'"{value}" is more than 100 %')
    return share


def format_rate(value: int) -> str:
    """Writes bit/s the way `parse_rate` reads them, without loss."""
    for unit in ("Gbps", "Mbps", "kbps"):
        if value and value % _RATE_UNITS[unit] == 0:
            return f"{value // _RATE_UNITS[unit]} {unit}"
    return f"{value} bps"


def format_duration(value: int) -> str:
    """Writes nanoseconds the way `parse_duration` reads them, without loss."""
    for unit in ("s", "ms", "us"):
        if value and value % _DURATION_UNITS[unit] == 0:
            return f"{value // _DURATION_UNITS[unit]} {unit}"
    return f"{value} ns"


def format_frequency(value: int) -> str:
    """Writes hertz the way `parse_frequency` reads them, without loss."""
    for unit in ("GHz", "MHz", "kHz"):
        if value and value % _FREQUENCY_UNITS[unit] == 0:
            return f"{value // _FREQUENCY_UNITS[unit]} {unit}"
    return f"{value} Hz"


def format_bytes(value: int) -> str:
    """Writes bytes the way `parse_bytes` reads them, without loss."""
    for unit in ("GB", "MB", "KB"):
        if value and value % _BYTE_UNITS[unit] == 0:
            return f"{value // _BYTE_UNITS[unit]} {unit}"
    return f"{value} B"


def format_share(value: int) -> str:
    """Writes millionths the way `parse_share` reads them, without loss."""
    if 0 < value < _SMALL_SHARE:
        return f"{value} ppm"
    whole, rest = divmod(value, _SHARE_UNITS["%"])
    decimals = f"{rest:04}".rstrip("0")
    return f"{whole}.{decimals} %" if decimals else f"{whole} %"


@dataclass(frozen=True)
class BufferLimit:
    """A buffer given as a size or as a time at the Maximum Sustained Traffic Rate.

    Attributes:
        size: Bytes, or None.
        time: Nanoseconds, or None. Exactly one of the two is set.
    """

    size: int | None = None
    time: int | None = None

    def __post_init__(self) -> None:
        if (self.size is None) == (self.time is None):
            raise ValueError("a buffer is either a size or a time")

    def bytes_at(self, rate: int) -> int:
        """The buffer in bytes at `rate` bit/s, rounded down."""
        if self.size is not None:
            return self.size
        assert self.time is not None
        return self.time * rate // (8 * 10**9)

    def __str__(self) -> str:
        if self.size is not None:
            return format_bytes(self.size)
        assert self.time is not None
        return format_duration(self.time)


def parse_buffer(value: object) -> BufferLimit:
    """Parses "250 KB", "250 ms", or "2 BDP at 50 ms".

    The last is a multiple of the bandwidth-delay product, the rate times the round-trip time (001,
    Type C): at the rate, that lasts a multiple of the round-trip time.

    Raises:
        ValueError: None of them; the message is for the operator.
    """
    if isinstance(value, BufferLimit):
        return value
    product = _BDP.fullmatch(value.strip()) if isinstance(value, str) else None
    if product is not None:
        exact = Fraction(product["times"]) * parse_duration(product["round_trip"])
        if exact.denominator != 1:
            raise ValueError(f'"{value}" is finer than 1 ns, the smallest unit')
        return BufferLimit(time=exact.numerator)
    units = _BYTE_UNITS | _DURATION_UNITS
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is not None and match["unit"] in _BYTE_UNITS:
        return BufferLimit(size=parse_bytes(value))
    if match is not None and match["unit"] in _DURATION_UNITS:
        return BufferLimit(time=parse_duration(value))
    _parse(value, units, 'a size, a duration or a multiple like "2 BDP at 50 ms"', "250 ms")
    raise AssertionError("unreachable: every known unit was handled")


def _pattern(units: Iterable[str]) -> str:
    return rf"[0-9]+(\.[0-9]+)? ?({'|'.join(units)})"


def _schema(units: Iterable[str], description: str, *examples: str) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^{_pattern(units)}$",
            "description": description,
            "examples": list(examples),
        }
    )


DataRate = Annotated[
    int,
    BeforeValidator(parse_rate),
    PlainSerializer(format_rate, return_type=str),
    _schema(_RATE_UNITS, "Data rate with its unit", "20 Mbps", "512 kbps"),
]
"""bit/s in Python, "20 Mbps" in YAML."""

Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    _schema(_DURATION_UNITS, "Duration with its unit", "20 ms", "500 us"),
]
"""Nanoseconds in Python, "20 ms" in YAML."""

Share = Annotated[
    int,
    BeforeValidator(parse_share),
    PlainSerializer(format_share, return_type=str),
    _schema(_SHARE_UNITS, "Share with its unit", "0.5 %", "100 ppm"),
]
"""Millionths in Python, "0.5 %" in YAML."""

Frequency = Annotated[
    int,
    BeforeValidator(parse_frequency),
    PlainSerializer(format_frequency, return_type=str),
    _schema(_FREQUENCY_UNITS, "Frequency with its unit", "603 MHz"),
]
"""Hertz in Python, "603 MHz" in YAML."""

ByteSize = Annotated[
    int,
    BeforeValidator(parse_bytes),
    PlainSerializer(format_bytes, return_type=str),
    _schema(_BYTE_UNITS, "Size with its unit", "500 KB", "30 MB"),
]
"""Bytes in Python, "500 KB" in YAML."""

Buffer = Annotated[
    BufferLimit,
    BeforeValidator(parse_buffer),
    PlainSerializer(str, return_type=str),
    _schema(
        [*_BYTE_UNITS, *_DURATION_UNITS, f"BDP at {_pattern(_DURATION_UNITS)}"],
        "Buffer: a size, or a time at the Maximum Sustained Traffic Rate, or a multiple of that "
        "rate's bandwidth-delay product at a round-trip time",
        "250 ms",
        "625 KB",
        "2 BDP at 50 ms",
    ),
]
"""A `BufferLimit` in Python, "250 ms", "625 KB" or "2 BDP at 50 ms" in YAML."""
