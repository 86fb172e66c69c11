# SPDX-License-Identifier: Apache-2.0
"""Type-length-value triples: one byte of type, one of length, the value (MULPI, annex C).

No length in a modem's configuration file has more than one byte: what needs more
than 254 bytes, a certificate chain, is split over several TLVs of the same type.
The two TLVs without a length, pad and end-of-data, stand only at the top level.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

PAD: Final = 0
"""Top level: one byte without length or value."""

CM_MIC: Final = 6
CMTS_MIC: Final = 7

END_OF_DATA: Final = 255
"""Top level: one byte without length or value; only pads follow."""

MTA_DELIMITER: Final = 254
"""First and last in the file of a PacketCable MTA, whose TLV 64 has lengths of two bytes."""

NOT_A_MODEM: Final = "is what a PacketCable MTA's file begins with, not a modem's"
"""Why TLV 254 is refused."""

MAX_LENGTH: Final = 255
"""Bytes; the largest value behind a length of one byte."""

MAX_FILE: Final = 65536
"""Bytes; some tens of times what modems boot from, and a bound on time and memory."""

MIC_LENGTH: Final = 16
"""Bytes of an MD5 digest."""


@dataclass(frozen=True, slots=True)
class Tlv:
    """One TLV.

    Attributes:
        type: 1 to 254 at the top level, 0 to 255 below; 0 at the top level is a pad.
        value: Its value.
        offset: Place of its type in the file, in bytes.
    """

    type: int
    value: bytes
    offset: int = 0

    def __bytes__(self) -> bytes:
        return bytes((self.type, len(self.value))) + self.value


class TlvError(ValueError):
    """Bytes that are no sequence of TLVs.

    Attributes:
        path: Types from the top level down, as in "24.8", or "" for the file.
        offset: Place in the file, in bytes.
        message: Words for the fault.
    """

    def __init__(self, path: str, offset: int, message: str) -> None:
        self.path = path
        self.offset = offset
        self.message = message
        super().__init__(f"{place(path, offset)}: {message}")


def place(path: str, offset: int) -> str:
    """Returns the name of a TLV of a file in messages."""
    return f"TLV {path} at byte {offset}" if path else f"byte {offset}"


def join(path: str, kind: int) -> str:
    """The path of a TLV of type `kind` within the TLV at `path`."""
    return f"{path}.{kind}" if path else str(kind)


def read_tlvs(data: bytes, path: str = "", offset: int = 0) -> Iterator[Tlv]:
    """The TLVs that `data` is made of, without a look at what they hold.

    Args:
        data: The whole value of the TLV at `path`, which starts at `offset` of the file.

    Raises:
        TlvError: The last one is cut off, or longer than what is around it.
    """
    at = 0
    while at < len(data):
        here = join(path, data[at])
        if at + 1 == len(data):
            raise TlvError(
                here, offset + at, "ends before its length; the file is cut off or damaged"
            )
        length = data[at + 1]
        end = at + 2 + length
        if end > len(data):
            around = f"TLV {path}" if path else "the file"
            raise TlvError(
                here,
                offset + at,
                f"says that {length} bytes follow, but {around} ends after {len(data) - at - 2}",
            )
        yield Tlv(data[at], data[at + 2 : end], offset + at)
        at = end


def write_tlvs(tlvs: Iterable[Tlv]) -> bytes:
    """The bytes of TLVs, one behind the other."""
    return b"".join(map(bytes, tlvs))


@dataclass(frozen=True)
class Image:
    """A configuration file as it is stored.

    Attributes:
        tlvs: All before the end-of-data marker, with pads as type 0.
        padding: Pads behind the end-of-data marker.
    """

    tlvs: tuple[Tlv, ...]
    padding: int


def usual_padding(length: int) -> int:
    """Pads behind the end-of-data marker that make a file of `length` bytes a multiple of 4."""
    return -length % 4


def read_image(data: bytes) -> Image:
    """Takes a configuration file apart.

    Raises:
        TlvError: The bytes are no configuration file of a modem.
    """
    if len(data) > MAX_FILE:
        raise TlvError("", 0, f"the file is longer than {MAX_FILE} bytes, so it is no modem's")
    if not data:
        raise TlvError("", 0, "the file is empty")
    tlvs: list[Tlv] = []
    at = 0
    while at < len(data):
        kind = data[at]
        if kind == END_OF_DATA:
            rest = data[at + 1 :]
            if rest.strip(b"\0"):
                stray = at + 1 + next(i for i, byte in enumerate(rest) if byte)
                raise TlvError(
                    "", stray, "something other than pads follows the end-of-data marker, TLV 255"
                )
            return Image(tuple(tlvs), len(rest))
        if kind == MTA_DELIMITER:
            raise TlvError(str(kind), at, NOT_A_MODEM)
        if kind == PAD:
            tlvs.append(Tlv(PAD, b"", at))
            at += 1
            continue
        # To the end of the file: a length that leads beyond it is found out there.
        end = at + 2 + (data[at + 1] if at + 1 < len(data) else 0)
        tlvs.extend(read_tlvs(data[at:end], "", at))
        at = end
    raise TlvError(
        "", len(data), "the file ends without the end-of-data marker, TLV 255; it is cut off"
    )


def write_image(image: Image) -> bytes:
    """Puts a configuration file together."""
    parts = [b"\0" if tlv.type == PAD else bytes(tlv) for tlv in image.tlvs]
    return b"".join(parts) + bytes((END_OF_DATA,)) + bytes(image.padding)
