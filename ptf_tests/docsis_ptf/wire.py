# SPDX-License-Identifier: Apache-2.0
"""Raw access to an interface at the rate of a switch: batches out, a kernel ring in.

PTF's own data plane takes each frame through Python and stamps it there, which
is right for single frames and useless for thousands, or for microseconds. Here
frames leave by sendmmsg(2), and arrive in a memory-mapped ring (packet(7),
TPACKET_V2) with the kernel's time of arrival.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self

import numpy as np
import numpy.typing as npt

from docsis_control.lengths import FCS_BYTES, MIN_FRAME_BYTES
from docsis_ptf.frames import MARK, MARK_AT, SEQUENCE_AT, STREAM_AT, TOS_AT, Frames

# linux/if_packet.h, asm-generic/socket.h
_SOL_PACKET: Final = 263
_PACKET_RX_RING: Final = 5
_PACKET_STATISTICS: Final = 6
_PACKET_VERSION: Final = 10
_PACKET_IGNORE_OUTGOING: Final = 23
_TPACKET_V2: Final = 1
_TP_STATUS_USER: Final = 1
_SO_ATTACH_FILTER: Final = 26
_SO_DETACH_FILTER: Final = 27
_SO_TIMESTAMPNS: Final = 35
_ETH_P_ALL: Final = 0x0003

_SLOT: Final = 256  # bytes of a ring slot: header, and the start of a frame
_SNAP: Final = 64  # bytes kept of a frame
_BLOCK: Final = 1 << 16

# Classic BPF (linux/bpf_common.h).
_LD_HALF: Final = 0x28
_LD_WORD: Final = 0x20
_JEQ: Final = 0x15
_RET: Final = 0x06
_Instruction = tuple[int, int, int, int]


class _HasSocket(Protocol):
    """A port of PTF's data plane."""

    socket: socket.socket


def _attach_filter(sock: socket.socket, program: list[_Instruction]) -> None:
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code)
    fprog = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, fprog)


def _filter_for(stream_id: int) -> list[_Instruction]:
    """Keep the frames of one stream, and their first bytes only."""
    return [
        (_LD_HALF, 0, 0, 12),
        (_JEQ, 0, 5, 0x0800),
        (_LD_WORD, 0, 0, MARK_AT),
        (_JEQ, 0, 3, MARK),
        (_LD_WORD, 0, 0, STREAM_AT),
        (_JEQ, 0, 1, stream_id),
        (_RET, 0, 0, _SNAP),
        (_RET, 0, 0, 0),
    ]


class Deaf:
    """While entered, PTF's sockets take no frames: a stream is not theirs to read."""

    def __init__(self, ports: list[_HasSocket]) -> None:
        self._ports = ports

    def __enter__(self) -> None:
        for port in self._ports:
            _attach_filter(port.socket, [(_RET, 0, 0, 0)])

    def __exit__(self, *_: object) -> None:
        for port in self._ports:
            port.socket.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)


@dataclass(frozen=True)
class Arrivals:
    """The frames of a capture, in order of arrival."""

    sequence: npt.NDArray[np.int64]  # sequence numbers
    length: npt.NDArray[np.int64]  # bytes with FCS
    time_ns: npt.NDArray[np.int64]  # the kernel's clock (UTC)
    tos: npt.NDArray[np.int64]  # IPv4's TOS byte

    def __len__(self) -> int:
        return len(self.sequence)


class Capture:
    """The frames of one stream that arrive at an interface; use in a `with`.

    `capacity` frames fit. A frame lost to a full ring is an error when the
    arrivals are read, because a test must never take it for a switch's drop.
    """

    def __init__(self, interface: str, stream_id: int, capacity: int) -> None:
        slots = -(-capacity * _SLOT // _BLOCK) * (_BLOCK // _SLOT)
        self._interface = interface
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        try:
            _attach_filter(self._socket, _filter_for(stream_id))
            self._socket.setsockopt(_SOL_PACKET, _PACKET_VERSION, _TPACKET_V2)
            self._socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
            # Makes the kernel stamp frames on arrival, not when they reach the ring.
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            ring = struct.pack("IIII", _BLOCK, slots * _SLOT // _BLOCK, _SLOT, slots)
            self._socket.setsockopt(_SOL_PACKET, _PACKET_RX_RING, ring)
            # Shared, to be read and written: mmap's defaults.
            self._map = mmap.mmap(self._socket.fileno(), slots * _SLOT)
            self._slots: Frames = np.frombuffer(self._map, dtype=np.uint8).reshape(slots, _SLOT)
            self._socket.bind((interface, _ETH_P_ALL))
        except BaseException:
            self._socket.close()
            raise
        self._counted = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def count(self) -> int:
        """Frames that have arrived so far."""
        status = self._slots[:, 0]
        step = 1024
        while self._counted < len(status):
            window = status[self._counted : self._counted + step] & _TP_STATUS_USER
            ready = len(window) if window.all() else int(np.argmin(window))
            self._counted += ready
            if ready < step:
                break
        return self._counted

    def arrivals(self) -> Arrivals:
        """Everything that has arrived so far. RuntimeError: the ring was too small."""
        statistics = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        _, lost = struct.unpack("II", statistics)
        if lost:
            raise RuntimeError(f"{self._interface}: the capture lost {lost} frames; enlarge it")
        rows = self._slots[: self.count()].copy()
        if not len(rows):
            none = np.zeros(0, dtype=np.int64)
            return Arrivals(none, none, none, none)
        # struct tpacket2_hdr: status, len, snaplen (u32), mac, net (u16), sec, nsec (u32)
        words = np.ascontiguousarray(rows[:, :24]).view(np.uint32)
        offsets = np.ascontiguousarray(rows[:, 12:14]).view(np.uint16)[:, 0]
        at = int(offsets[0])
        if (offsets != at).any():
            raise RuntimeError(f"{self._interface}: frames of different link layers in one capture")
        tos = rows[:, at + TOS_AT].astype(np.int64)
        at += SEQUENCE_AT
        numbers = np.ascontiguousarray(rows[:, at : at + 4]).view(">u4")[:, 0]
        seconds = words[:, 4].astype(np.int64)
        return Arrivals(
            sequence=numbers.astype(np.int64),
            length=np.maximum(words[:, 1].astype(np.int64) + FCS_BYTES, MIN_FRAME_BYTES),
            time_ns=seconds * 1_000_000_000 + words[:, 5].astype(np.int64),
            tos=tos,
        )


class _IoVec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class _MsgHdr(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p),
        ("namelen", ctypes.c_uint32),
        ("iov", ctypes.POINTER(_IoVec)),
        ("iovlen", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("controllen", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    ]


class _MMsgHdr(ctypes.Structure):
    _fields_ = [("hdr", _MsgHdr), ("len", ctypes.c_uint)]


_libc = ctypes.CDLL(None, use_errno=True)


class _Batch:
    """Buffers of equal length with the headers that sendmmsg wants, made once."""

    SIZE: Final = 256

    def __init__(self, length: int) -> None:
        self.frames: Frames = np.zeros((self.SIZE, length), dtype=np.uint8)
        base = self.frames.ctypes.data
        self._vectors = (_IoVec * self.SIZE)(
            *(_IoVec(base + i * length, length) for i in range(self.SIZE))
        )
        self.messages = (_MMsgHdr * self.SIZE)()
        for i, message in enumerate(self.messages):
            message.hdr.iov = ctypes.pointer(self._vectors[i])
            message.hdr.iovlen = 1


class Injector:
    """Sends batches of frames into an interface; use in a `with`."""

    def __init__(self, interface: str) -> None:
        self._interface = interface
        self._batches: dict[int, _Batch] = {}
        # Protocol 0: this socket receives nothing.
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        try:
            self._socket.bind((interface, 0))
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def send(self, frames: Frames) -> None:
        """All rows of `frames`, in order. OSError: the interface refused one."""
        length = frames.shape[1]
        batch = self._batches.get(length)
        if batch is None:
            batch = self._batches[length] = _Batch(length)
        for first in range(0, len(frames), _Batch.SIZE):
            rows = frames[first : first + _Batch.SIZE]
            batch.frames[: len(rows)] = rows
            self._send_batch(batch, len(rows))

    def _send_batch(self, batch: _Batch, count: int) -> None:
        done = 0
        while done < count:
            start = ctypes.byref(batch.messages, done * ctypes.sizeof(_MMsgHdr))
            sent = _libc.sendmmsg(self._socket.fileno(), start, count - done, 0)
            if sent < 0:
                error = ctypes.get_errno()
                raise OSError(error, os.strerror(error), self._interface)
            done += sent
