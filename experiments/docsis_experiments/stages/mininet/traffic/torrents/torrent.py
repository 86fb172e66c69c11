# SPDX-License-Identifier: Apache-2.0
"""The torrents that are uploaded: zeros, as many as a run can carry. Pure.

The data are those of /dev/zero, at both ends: a client reads from there, and a peer writes there
and checks what came by reading it again. So nothing is on a disk, however long the run is, and all
pieces of a torrent have the same hash. A torrent is larger than what its upload can carry in the
run, so that no upload is complete before the run's end: a peer that has everything leaves, and one
that began again would pause in between, which an endless upload of virtual time does not.
"""

from __future__ import annotations

import hashlib
import math
from typing import Final

DATA: Final = "/dev/zero"
"""File that both ends have in place of the torrent's."""

_SMALLEST_PIECE: Final = 256 << 10
_MOST_PIECES: Final = 16_384
"""Larger torrents have larger pieces: 20 bytes of each piece are in memory."""
_MARGIN: Final = 1.25
"""A limit of libtorrent is a mean, which a burst may exceed for a moment."""
_AT_LEAST: Final = 4 << 20

Info = dict[bytes, bytes | int]


def size_for(rate: int, seconds: float) -> int:
    """Bytes of a torrent that an upload at a rate does not bring to its end.

    Args:
        rate: bit/s, of the upload or else of what carries it.
        seconds: Length of the run.
    """
    least = math.ceil(rate / 8 * seconds * _MARGIN) + _AT_LEAST
    piece = piece_length(least)
    return -(-least // piece) * piece


def piece_length(size: int) -> int:
    """Bytes of a torrent's pieces: a power of two."""
    piece = _SMALLEST_PIECE
    while piece * _MOST_PIECES < size:
        piece *= 2
    return piece


def document(name: str, size: int) -> dict[bytes, Info]:
    """Builds the dictionary of a .torrent file (BEP 3), before it is bencoded.

    Args:
        name: The torrent's name, which tells it from others of its size.
        size: Bytes; a multiple of its `piece_length`.

    Raises:
        ValueError: The last piece would be a shorter one.
    """
    piece = piece_length(size)
    if size % piece:
        raise ValueError(f"{size} B are no multiple of pieces of {piece} B")
    info: Info = {
        b"name": name.encode(),
        b"length": size,
        b"piece length": piece,
        b"pieces": hashlib.sha1(bytes(piece)).digest() * (size // piece),
        # Peers of it are told by nobody but us (BEP 27).
        b"private": 1,
    }
    return {b"info": info}
