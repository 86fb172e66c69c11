# SPDX-License-Identifier: Apache-2.0
"""Models whose keys are TLVs: how they are read from bytes and written to them.

A key that is annotated with `Wire` is a TLV. What no key stands for is kept as it
is in `other_tlvs`, and an order other than ascending types in `tlv_order`, so that
the bytes of a file can be had back from its model.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Final, Self, get_args

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from docsis_control.config.models import KeyedError, Model
from docsis_control.config.yaml_file import Location
from docsis_control.modem_config.tlv import MAX_LENGTH, Tlv, TlvError, join, read_tlvs, write_tlvs
from docsis_control.modem_config.wire import Wire

UNQUOTED: Final = (
    "is without quotes, so YAML takes it for a number and its zeros are lost; write it as in "
    '"0x0803ffffff", quotes and all'
)
"""Why hexadecimal that YAML read as a number is refused."""

MAX_ENTRIES: Final = 256
"""The most service flows, and the most classifiers, of a direction; no modem has room for near as
many, and it bounds what a damaged file can ask for."""


def parse_hex(value: object) -> bytes:
    """Parses "0x0803ffffff".

    Raises:
        ValueError: Not hexadecimal; the message is for the operator.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, int):
        raise ValueError(UNQUOTED)
    try:
        if not isinstance(value, str) or not value.startswith("0x"):
            raise ValueError
        # fromhex() would let spaces pass.
        if any(character.isspace() for character in value):
            raise ValueError
        return bytes.fromhex(value[2:])
    except ValueError:
        raise ValueError(
            f'"{value}" is not hexadecimal; write two digits a byte, as in "0x0803ffffff"'
        ) from None


def format_hex(value: bytes) -> str:
    """Writes bytes the way `parse_hex` reads them."""
    return "0x" + value.hex()


HexBytes = Annotated[
    bytes,
    BeforeValidator(parse_hex),
    PlainSerializer(format_hex, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^0x([0-9A-Fa-f]{2})*$"}),
]
"""bytes in Python, "0x0803ffffff" in YAML."""


class OtherTlv(Model):
    """A TLV that has no key, kept as it is."""

    type: int = Field(ge=0, le=255, description="Type of the TLV.")
    value: HexBytes = Field(description="Its value, in hexadecimal.", max_length=MAX_LENGTH)


@dataclass(frozen=True)
class Key:
    """A key that is a TLV.

    Attributes:
        name: The key.
        wire: Its TLV.
        inner: The model of the TLVs that it holds, or None.
        repeated: Whether it is a list, one TLV an entry.
    """

    name: str
    wire: Wire
    inner: "type[Aggregate] | None"
    repeated: bool

    def takes(self, value: bytes) -> bool:
        """Whether a TLV of its type with this value is the key's."""
        return self.wire.codec is None or self.wire.codec.takes(value)


class Aggregate(Model):
    """A model whose keys are TLVs."""

    other_tlvs: Annotated[tuple[OtherTlv, ...], Field(strict=False)] = Field(
        default=(), description="TLVs that have no key, kept as they are."
    )
    tlv_order: Annotated[tuple[int, ...], Field(strict=False)] | None = Field(
        default=None,
        description="Types in the order of the file, where that is not the usual one.",
    )

    @classmethod
    def rank(cls, kind: int) -> int:
        """The rank by which types are sorted where `tlv_order` is not given."""
        return kind

    @classmethod
    def scale_of(cls, tlvs: list[Tlv]) -> int:
        """bit/s of the rate unit that `tlvs` set."""
        return 1

    @property
    def scale(self) -> int:
        """bit/s of the rate unit in force."""
        return 1

    def parts(self) -> Iterator[tuple[int, Location, bytes]]:
        """Type, location and value of every TLV that there is, in no order."""
        for key in keys(type(self)):
            content = getattr(self, key.name)
            if content is None:
                continue
            if key.repeated:
                for index, entry in enumerate(content):
                    yield key.wire.type, (key.name, index), entry.to_bytes()
            elif key.inner:
                yield key.wire.type, (key.name,), content.to_bytes()
            else:
                assert key.wire.codec is not None
                yield key.wire.type, (key.name,), key.wire.codec.encode(content, self.scale)
        for index, other in enumerate(self.other_tlvs):
            yield other.type, ("other_tlvs", index), other.value

    def to_tlvs(self) -> list[Tlv]:
        """The TLVs, in the order that is asked for."""
        tlvs = [Tlv(kind, value) for kind, _, value in self.parts()]
        tlvs.sort(key=lambda tlv: self.rank(tlv.type))
        if self.tlv_order is None:
            return tlvs
        queues: dict[int, list[Tlv]] = {}
        for tlv in reversed(tlvs):
            queues.setdefault(tlv.type, []).append(tlv)
        return [queues[kind].pop() for kind in self.tlv_order]

    def to_bytes(self) -> bytes:
        """The value of the TLV that holds this."""
        return write_tlvs(self.to_tlvs())

    @model_validator(mode="after")
    def _values_fit(self) -> Self:
        for key in keys(type(self)):
            content = getattr(self, key.name)
            if content is None or key.wire.codec is None:
                continue
            fault = key.wire.codec.fault(content, self.scale)
            if fault:
                raise KeyedError(key.name, fault)
        return self

    @model_validator(mode="after")
    def _others_have_no_key(self) -> Self:
        by_type = _keys_by_type(type(self))
        known = {kind: key.name for kind, key in by_type.items()} | self.own_types()
        for index, other in enumerate(self.other_tlvs):
            key = by_type.get(other.type)
            if other.type in known and (key is None or key.takes(other.value)):
                raise KeyedError(
                    f"other_tlvs.{index}.type",
                    f"TLV {other.type} has a key of its own here, {known[other.type]}; use that",
                )
        return self

    @model_validator(mode="after")
    def _order_is_complete(self) -> Self:
        if self.tlv_order is None:
            return self
        there = sorted(self.present())
        if sorted(self.tlv_order) != there:
            raise KeyedError(
                "tlv_order",
                f"lists the types {_listed(self.tlv_order)}, but there are {_listed(there)}; leave "
                "the key out where the order does not matter",
            )
        return self

    @classmethod
    def own_types(cls) -> dict[int, str]:
        """Types, with their keys, that this model handles beside its `Wire` keys."""
        return {}

    def present(self) -> list[int]:
        """The types of all TLVs that there are."""
        types = [other.type for other in self.other_tlvs]
        for key in keys(type(self)):
            content = getattr(self, key.name)
            if content is not None:
                types += [key.wire.type] * (len(content) if key.repeated else 1)
        return types


def _listed(types: object) -> str:
    assert isinstance(types, list | tuple)
    shown = ", ".join(map(str, types[:40]))
    return (f"{shown}, ..." if len(types) > 40 else shown) or "none"


@cache
def keys(model: type[Aggregate]) -> tuple[Key, ...]:
    """The keys of a model that are TLVs, in the order in which it declares them."""
    found = []
    for name, info in model.model_fields.items():
        wire = next((entry for entry in info.metadata if isinstance(entry, Wire)), None)
        if wire is None:
            continue
        inner = next(
            (
                kind
                for kind in (info.annotation, *get_args(info.annotation))
                if isinstance(kind, type) and issubclass(kind, Aggregate)
            ),
            None,
        )
        # A codec stands for the whole value, even where the model has keys for it.
        found.append(Key(name, wire, inner, inner is not None and info.default == ()))
    return tuple(found)


@cache
def _keys_by_type(model: type[Aggregate]) -> dict[int, Key]:
    return {key.wire.type: key for key in keys(model)}


def tlv_path(model: type[Aggregate], location: Location) -> str:
    """The TLV of what is at `location`, as in "24.8"; as far down as there are TLVs."""
    path = ""
    current: type[Aggregate] | None = model
    for part in location:
        if current is None or isinstance(part, int):
            continue
        key = next((key for key in keys(current) if key.name == part), None)
        if key is None:
            break
        path = join(path, key.wire.type)
        current = key.inner
    return path


@dataclass
class Places:
    """Positions in a file of the values of its model.

    Attributes:
        tlvs: Path and offset of the TLV of a location.
    """

    tlvs: dict[Location, tuple[str, int]] = field(default_factory=dict)

    def of(self, location: Location) -> tuple[str, int]:
        """The TLV at `location`, or the nearest one around it."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.tlvs:
                return self.tlvs[location[:end]]
        return "", 0


_NOTHING: Final[Location] = ()


def decode(
    model: type[Aggregate],
    tlvs: list[Tlv],
    places: Places,
    path: str = "",
    location: Location = _NOTHING,
) -> dict[str, Any]:
    """Turns `tlvs` into what an operator would write, to be validated by `model`.

    Args:
        places: Gets the places that the values came from.
        path: Types of the TLVs around these.
        location: Keys of what is around them.

    Raises:
        TlvError: A known TLV has a value that it cannot have, or is there twice.
    """
    by_type = _keys_by_type(model)
    scale = model.scale_of(tlvs)
    data: dict[str, Any] = {}
    for tlv in tlvs:
        key = by_type.get(tlv.type)
        here = join(path, tlv.type)
        if key is None or not key.takes(tlv.value):
            others = data.setdefault("other_tlvs", [])
            places.tlvs[(*location, "other_tlvs", len(others))] = here, tlv.offset
            others.append({"type": tlv.type, "value": format_hex(tlv.value)})
            continue
        at: Location = (*location, key.name)
        if key.repeated:
            entries = data.setdefault(key.name, [])
            if len(entries) == MAX_ENTRIES:
                raise TlvError(here, tlv.offset, f"is one more than {MAX_ENTRIES} of its type")
            at = (*at, len(entries))
        elif key.name in data:
            raise TlvError(here, tlv.offset, f"{key.wire.name} is given twice")
        elif any(other["type"] == tlv.type for other in data.get("other_tlvs", ())):
            raise TlvError(
                here, tlv.offset, f"{key.wire.name} of the testbed must stand before other vendors'"
            )
        places.tlvs[at] = here, tlv.offset
        value: object
        if key.inner:
            inner = list(read_tlvs(tlv.value, here, tlv.offset + 2))
            value = decode(key.inner, inner, places, here, at)
        else:
            assert key.wire.codec is not None
            try:
                value = key.wire.codec.decode(tlv.value, scale)
            except ValueError as error:
                raise TlvError(here, tlv.offset, f"{key.wire.name} {error}") from None
        if key.repeated:
            entries.append(value)
        else:
            data[key.name] = value
    order = [tlv.type for tlv in tlvs]
    if order != sorted(order, key=model.rank):
        data["tlv_order"] = order
    return data
