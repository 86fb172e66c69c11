# SPDX-License-Identifier: Apache-2.0
"""Header blocks of HTTP/2 (RFC 7541) without a dynamic table.

The table's size is 0 by our settings, so that a block means the same whenever it comes.
"""

from collections.abc import Iterable, Iterator
from typing import Final

Header = tuple[bytes, bytes]

_STATIC: Final[tuple[Header, ...]] = tuple(
    (name, value)
    for name, _, value in (
        line.partition(b"=")
        for line in (
            b":authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|"
            b":scheme=https|:status=200|:status=204|:status=206|:status=304|:status=400|"
            b":status=404|:status=500|accept-charset|accept-encoding=gzip, deflate|"
            b"accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|"
            b"authorization|cache-control|content-disposition|content-encoding|content-language|"
            b"content-length|content-location|content-range|content-type|cookie|date|etag|expect|"
            b"expires|from|host|if-match|if-modified-since|if-none-match|if-range|"
            b"if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|"
            b"proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|"
            b"strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate"
        ).split(b"|")
    )
)
"""RFC 7541, appendix A; the first has index 1."""

# RFC 7541, appendix B: the length in bits of each byte's code. Codes of a length follow one
# another in the order of their bytes, and shorter ones come first, so lengths say everything.
_LENGTHS: Final = bytes.fromhex(
    "0d171c1c1c1c1c1c1c181e1c1c1e1c1c1c1c1c1c1c1c1e1c1c1c1c1c1c1c1c1c"
    "060a0a0c0d06080b0a0a080b080606060505050606060606060607080f060c0a"
    "0d06070707070707070707070707070707070707070707070807080d130d0e06"
    "0f05060506050606060507070606060506070605050607070707070f0b0e0d1c"
    "1416141416161617161717171717181718181617181717171715161716171718"
    "1615141616171715171616181516171715151615171617171416161617161617"
    "1a1a141316171619 1a1a1a1b1b1a181913151a1b1b1a1b1815151a1a1c1b1b1b"
    "1418141516151517161619191818 1a171a1b1a1a1b1b1b1b1b1c1b1b1b1b1b1a"
)
_END: Final = 256
_END_LENGTH: Final = 30


class CompressionError(Exception):
    """A header block that is none, or that needs a dynamic table."""


def _codes() -> Iterator[tuple[int, int, int]]:
    """Length, code and byte, in the order of the codes."""
    order = sorted([(length, byte) for byte, length in enumerate(_LENGTHS)] + [(_END_LENGTH, _END)])
    code, before = 0, order[0][0]
    for length, byte in order:
        code <<= length - before
        yield length, code, byte
        code, before = code + 1, length


_DECODED: Final = {(length, code): byte for length, code, byte in _codes()}


def huffman_decoded(data: bytes) -> bytes:
    """A string that was sent in Huffman's code.

    Raises:
        CompressionError: It is none.
    """
    found = bytearray()
    code = length = 0
    for octet in data:
        for shift in range(7, -1, -1):
            code, length = code << 1 | octet >> shift & 1, length + 1
            byte = _DECODED.get((length, code))
            if byte is not None:
                if byte == _END:
                    raise CompressionError("a string goes on behind its end")
                found.append(byte)
                code = length = 0
            elif length > _END_LENGTH:
                raise CompressionError("a string has a code that does not exist")
    # The last octet is padded with ones, which are the first bits of the code for the end
    # (RFC 7541, 5.2).
    if length > 7 or code != (1 << length) - 1:
        raise CompressionError("a string ends in the middle of a code")
    return bytes(found)


def encoded(headers: Iterable[Header]) -> bytes:
    """A block of headers that no table keeps, in plain text."""
    block = bytearray()
    for header in headers:
        if header in _STATIC:
            block += _integer(_STATIC.index(header) + 1, 7, 0x80)
            continue
        block.append(0)
        for text in header:
            block += _integer(len(text), 7, 0) + text
    return bytes(block)


def _integer(value: int, bits: int, first: int) -> bytes:
    most = (1 << bits) - 1
    if value < most:
        return bytes((first | value,))
    octets = bytearray((first | most,))
    value -= most
    while value >= 0x80:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def decoded(block: bytes) -> list[Header]:
    """The headers of a block.

    Raises:
        CompressionError: It is none, or needs a dynamic table.
    """
    found: list[Header] = []
    reader = _Reader(block)
    while not reader.at_end:
        first = reader.peek()
        if first & 0x80:
            found.append(_of_table(reader.integer(7)))
        elif first & 0xE0 == 0x20:
            if reader.integer(5):
                raise CompressionError("the peer uses a dynamic table, which it was told not to")
        else:
            # With indexing, without, or never: without a table it is all the same.
            index = reader.integer(6 if first & 0x40 else 4)
            name = _of_table(index)[0] if index else reader.string()
            found.append((name, reader.string()))
    return found


def _of_table(index: int) -> Header:
    if not 1 <= index <= len(_STATIC):
        raise CompressionError(f"there is no header {index} in the table")
    return _STATIC[index - 1]


class _Reader:
    """Goes through a block."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._block)

    def peek(self) -> int:
        if self.at_end:
            raise CompressionError("a header block ends too early")
        return self._block[self._at]

    def integer(self, bits: int) -> int:
        most = (1 << bits) - 1
        value = self.peek() & most
        self._at += 1
        if value < most:
            return value
        for shift in range(0, 28, 7):
            octet = self.peek()
            self._at += 1
            value += (octet & 0x7F) << shift
            if octet < 0x80:
                return value
        raise CompressionError("a number in a header block is too large")

    def string(self) -> bytes:
        huffman = self.peek() & 0x80
        length = self.integer(7)
        text = self._block[self._at : self._at + length]
        if len(text) < length:
            raise CompressionError("a header block ends too early")
        self._at += length
        return huffman_decoded(text) if huffman else text
