# SPDX-License-Identifier: Apache-2.0
"""Frames for streams: thousands of equal frames that differ in a sequence number.

A stream's frame is UDP over IPv4 over Ethernet, its checksum zero ("none",
RFC 768) so that the sequence number in the payload changes nothing else. All
lengths are those of the Ethernet frame to the end of its CRC, as DOCSIS counts
them; the bytes of a frame are without it.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_control.lengths import FCS_BYTES, MIN_FRAME_BYTES

ETHERNET_LEN: Final = 14
IPV4_LEN: Final = 20
UDP_LEN: Final = 8
TOS_AT: Final = ETHERNET_LEN + 1
HEADERS_LEN: Final = ETHERNET_LEN + IPV4_LEN + UDP_LEN
# Behind the headers: what tells our frames from others', then stream and sequence number.
MARK: Final = 0xD0C515F1
MARK_AT: Final = HEADERS_LEN
STREAM_AT: Final = HEADERS_LEN + 4
SEQUENCE_AT: Final = HEADERS_LEN + 8
SHORTEST: Final = MIN_FRAME_BYTES
LONGEST: Final = ETHERNET_LEN + 0xFFFF + FCS_BYTES

Frames = npt.NDArray[np.uint8]  # one row a frame


def mac_bytes(address: str) -> bytes:
    """The six bytes of a MAC address in colon notation."""
    return bytes.fromhex(address.replace(":", ""))


def internet_checksum(data: bytes) -> int:
    """RFC 1071, over an even number of bytes."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass(frozen=True)
class Stream:
    """A template: addresses, ports and length of the frames of one stream."""

    dst_mac: str
    length: int  # bytes with FCS
    src_mac: str = "02:00:00:00:0c:01"
    src_ip: str = "10.0.0.11"
    dst_ip: str = "10.0.0.101"
    src_port: int = 4000
    dst_port: int = 5000
    stream_id: int = field(default=0)

    def template(self) -> bytes:
        """One frame with sequence number 0."""
        if not SHORTEST <= self.length <= LONGEST:
            raise ValueError(f"a stream's frame has {SHORTEST} to {LONGEST} bytes: {self.length}")
        octets = self.length - FCS_BYTES
        ip_len = octets - ETHERNET_LEN
        ip = bytearray(
            struct.pack(
                "!BBHHHBBH4s4s", 0x45, 0, ip_len, 0, 0, 64, socket.IPPROTO_UDP, 0,
                socket.inet_aton(self.src_ip), socket.inet_aton(self.dst_ip),
            )
        )  # fmt: skip
        struct.pack_into("!H", ip, 10, internet_checksum(bytes(ip)))
        udp = struct.pack("!HHHH", self.src_port, self.dst_port, ip_len - IPV4_LEN, 0)
        head = mac_bytes(self.dst_mac) + mac_bytes(self.src_mac) + b"\x08\x00" + bytes(ip) + udp
        mark = struct.pack("!III", MARK, self.stream_id, 0)
        return (head + mark).ljust(octets, b"\0")

    def frames(self, count: int, first: int = 0) -> Frames:
        """`count` frames with consecutive sequence numbers from `first`; shape (count, octets)."""
        rows = np.tile(np.frombuffer(self.template(), dtype=np.uint8), (count, 1))
        numbers = np.arange(first, first + count, dtype=">u4")
        rows[:, SEQUENCE_AT : SEQUENCE_AT + 4] = numbers.view(np.uint8).reshape(count, 4)
        return rows
