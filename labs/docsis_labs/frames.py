# SPDX-License-Identifier: Apache-2.0
"""Frames as bytes, without their CRC, for packets one by one."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address
from typing import Final

SHORTEST: Final = 60
"""Bytes of a frame without its CRC; shorter ones are filled up with zeros."""

CRC: Final = 4

_IPV4: Final = 0x0800
_TCP, _UDP = 6, 17
_MAC: Final = (0x0200_0000_0001, 0x0200_0000_0002)
"""Destination and source, where nobody says anything else."""


def ethernet(
    payload: bytes, *, ethertype: int = _IPV4, dst: int = _MAC[0], src: int = _MAC[1]
) -> bytes:
    """An Ethernet frame.

    Args:
        payload: What follows the header.
        ethertype: Ethertype of the payload.
        dst, src: MAC addresses, as numbers.
    """
    header = dst.to_bytes(6, "big") + src.to_bytes(6, "big") + ethertype.to_bytes(2, "big")
    return (header + payload).ljust(SHORTEST, b"\0")


def ipv4_udp(
    src: str, dst: str, sport: int, dport: int, payload_length: int = 18, *, tos: int = 0
) -> bytes:
    """A UDP datagram in an Ethernet frame.

    Args:
        src, dst: IPv4 addresses.
        sport, dport: UDP ports.
        payload_length: Bytes behind the UDP header; 18 make the shortest frame.
        tos: ToS byte: DSCP in the upper six bits.
    """
    header = struct.pack("!HHHH", sport, dport, 8 + payload_length, 0)
    return ethernet(_ipv4(src, dst, _UDP, tos, header + bytes(payload_length)))


def ipv4_tcp(
    src: str,
    dst: str,
    sport: int,
    dport: int,
    payload_length: int = 0,
    *,
    tos: int = 0,
    sequence: int = 0,
    flags: int = 0x10,
) -> bytes:
    """A TCP segment in an Ethernet frame; its checksum is left out.

    Args:
        src, dst: IPv4 addresses.
        sport, dport: TCP ports.
        payload_length: Bytes behind the TCP header.
        tos: ToS byte.
        sequence: Sequence number.
        flags: As in the header; ACK alone unless given.
    """
    header = struct.pack("!HHIIBBHHH", sport, dport, sequence, 0, 5 << 4, flags, 65535, 0, 0)
    return ethernet(_ipv4(src, dst, _TCP, tos, header + bytes(payload_length)))


def _ipv4(src: str, dst: str, protocol: int, tos: int, payload: bytes) -> bytes:
    fields = (0x45, tos, 20 + len(payload), 0, 0x4000, 64, protocol)
    addresses = IPv4Address(src).packed + IPv4Address(dst).packed
    unsummed = struct.pack("!BBHHHBBH", *fields, 0) + addresses
    total = sum(struct.unpack("!10H", unsummed))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return struct.pack("!BBHHHBBH", *fields, checksum) + addresses + payload
