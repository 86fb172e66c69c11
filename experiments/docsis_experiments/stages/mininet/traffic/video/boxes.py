# SPDX-License-Identifier: Apache-2.0
"""A video's files in the ISO base media file format (ISO/IEC 14496-12), fragmented. Pure.

The picture is one key frame of VP9, 64 x 64 pixels of grey, shown again and again; a box `free`
behind it gives a segment the bytes that its rate says. A browser plays it like any other video: it
skips such boxes (14496-12, 8.1.2), whose bytes have come over the network like all others.
"""

from __future__ import annotations

import struct
from typing import Final

CODEC: Final = "vp09.00.10.08"
"""Profile 0, level 1, 8 bits, as MPD and browser call it (VP9 in ISOBMFF, section 5)."""

SIDE: Final = 64
"""Pixels, both ways."""

PICTURE: Final = bytes.fromhex("824983424003f003f60638241c183a00002040007068e000")
"""A key frame, as WebCodecs' encoder of a browser made it of an even grey."""

TIMESCALE: Final = 1_000_000
"""Units of a second in the files."""

PICTURES: Final = 8
"""Pictures in a segment."""

_TRACK: Final = 1
_SYNC_SAMPLE: Final = 0x0200_0000
"""sample_depends_on is 2: on no other (14496-12, 8.6.4)."""
_MATRIX: Final = struct.pack(">9I", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
_FREE_HEADER: Final = 8


def box(kind: str, *parts: bytes) -> bytes:
    """A box of a four-letter kind."""
    content = b"".join(parts)
    return struct.pack(">I4s", 8 + len(content), kind.encode()) + content


def full_box(kind: str, version: int, flags: int, *parts: bytes) -> bytes:
    """A box with version and flags."""
    return box(kind, struct.pack(">I", version << 24 | flags), *parts)


def initialization() -> bytes:
    """The initialization segment, which is the same for every rate."""
    movie = full_box(
        "mvhd", 0, 0,
        struct.pack(">IIII", 0, 0, TIMESCALE, 0),
        struct.pack(">IHH8x", 1 << 16, 1 << 8, 0),
        _MATRIX,
        bytes(24),
        struct.pack(">I", _TRACK + 1),
    )  # fmt: skip
    track = full_box(
        "tkhd", 0, 3,
        struct.pack(">IIIII8x", 0, 0, _TRACK, 0, 0),
        struct.pack(">HHHH", 0, 0, 0, 0),
        _MATRIX,
        struct.pack(">II", SIDE << 16, SIDE << 16),
    )  # fmt: skip
    media = box(
        "mdia",
        full_box("mdhd", 0, 0, struct.pack(">IIIIHH", 0, 0, TIMESCALE, 0, 0x55C4, 0)),
        full_box("hdlr", 0, 0, struct.pack(">I4s12x", 0, b"vide"), b"video\0"),
        box("minf", full_box("vmhd", 0, 1, bytes(8)), _references(), _sample_table()),
    )
    extends = full_box("trex", 0, 0, struct.pack(">IIIII", _TRACK, 1, 0, 0, 0))
    brands = struct.pack(">4sI4s4s", b"iso6", 0, b"iso6", b"dash")
    return box("ftyp", brands) + box("moov", movie, box("trak", track, media), box("mvex", extends))


def _references() -> bytes:
    return box("dinf", full_box("dref", 0, 0, struct.pack(">I", 1), full_box("url ", 0, 1)))


def _sample_table() -> bytes:
    # Profile 0, level 10; 8 bits, 4:2:0, limited range; colours unspecified; no initial data.
    configuration = full_box("vpcC", 1, 0, struct.pack(">BBBBBBH", 0, 10, 0x82, 2, 2, 2, 0))
    entry = box(
        "vp09",
        struct.pack(">6xH16xHH", 1, SIDE, SIDE),
        struct.pack(">IIIH32xHh", 72 << 16, 72 << 16, 0, 1, 24, -1),
        configuration,
    )
    none = struct.pack(">I", 0)
    return box(
        "stbl",
        full_box("stsd", 0, 0, struct.pack(">I", 1), entry),
        full_box("stts", 0, 0, none),
        full_box("stsc", 0, 0, none),
        full_box("stsz", 0, 0, none, none),
        full_box("stco", 0, 0, none),
    )


def media_head(number: int, segment_ns: int, size: int) -> bytes:
    """A media segment but for the zeros that end it.

    Args:
        number: Number of the segment, from 0.
        segment_ns: Playing time of each, whole milliseconds in nanoseconds.
        size: Bytes of the segment; what of it is not returned is zeros.

    Raises:
        ValueError: It has no room for its boxes.
    """
    duration = segment_ns // 1000 // PICTURES
    content = box("mdat", PICTURE * PICTURES)
    # The offset of the first sample from the first byte of the box is known once that is made.
    length = len(_fragment(number, duration, 0))
    head = _fragment(number, duration, length + 8) + content
    left = size - len(head)
    if left == 0:
        return head
    if left < _FREE_HEADER:
        raise ValueError(f"a media segment has {len(head)} B and 8 B more, or none; not {size} B")
    return head + struct.pack(">I4s", left, b"free")


def _fragment(number: int, duration: int, offset: int) -> bytes:
    # default-base-is-moof, and duration, size and flags of all samples.
    fields = struct.pack(">IIII", _TRACK, duration, len(PICTURE), _SYNC_SAMPLE)
    return box(
        "moof",
        full_box("mfhd", 0, 0, struct.pack(">I", number + 1)),
        box(
            "traf",
            full_box("tfhd", 0, 0x02_0038, fields),
            full_box("tfdt", 1, 0, struct.pack(">Q", number * duration * PICTURES)),
            full_box("trun", 0, 1, struct.pack(">Ii", PICTURES, offset)),
        ),
    )
