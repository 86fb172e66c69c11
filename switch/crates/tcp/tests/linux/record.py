#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records how the kernel's TCP sends and acknowledges when a script loses segments.

Two network namespaces of this process have a TUN device each. Between them is this program: it
delays every packet, lets data pass at a rate, and drops exactly the segments that a script names.
Each ACK that it hands to the sender is followed by a sample of TCP_INFO. Run as root:

    record.py FOLDER            # writes a trace for every script
    record.py FOLDER NAME...    # only these

The namespaces are nameless and end with the process.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import platform
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
SO_SNDBUFFORCE = 32
SYN, PSH = 0x02, 0x08
MSS = 1448
MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
# What Ethernet adds to a packet: header and FCS.
FRAMING = 18
A, B = "10.9.8.1", "10.9.8.2"
PORT = 5001
# Silence after which a transfer that has ended is over.
QUIET = SECOND


@dataclass(frozen=True)
class Script:
    """One transfer: the path, and what is lost.

    Segments are counted from 0, of full ones; one that stands twice loses its retransmission, too.
    ACKs are counted from 0, the handshake's not.
    """

    segments: int = 150
    rate: int = 10_000_000
    delay: int = 30 * MILLISECOND
    congestion: str = "cubic"
    lost: tuple[int, ...] = ()
    lost_acks: tuple[int, ...] = ()
    # Segments that take so many milliseconds longer.
    late: tuple[tuple[int, int], ...] = ()
    lost_syns: int = 0
    # The trace of a long transfer is about the sender only.
    receiver: bool = True


def scripts() -> dict[str, Script]:
    """All scripts by name."""
    both: dict[str, dict[str, object]] = {
        "one-loss": {"lost": (40,)},
        "burst": {"lost": (40, 41, 42, 43, 47, 52)},
        "many": {"lost": tuple(range(50, 90, 2))},
        "lost-syn": {"segments": 50, "lost_syns": 1},
        "two-lost-syns": {"segments": 50, "lost_syns": 2},
        "tail": {"segments": 100, "lost": (99,)},
        "tail-of-three": {"segments": 100, "lost": (97, 98, 99)},
        "lost-retransmission": {"lost": (40, 40)},
        "lost-acks": {"lost_acks": tuple(n for n in range(10, 90) if n % 4)},
        "loss-and-lost-acks": {"lost": (60,), "lost_acks": tuple(range(30, 60, 2))},
        "flight": {"lost": (*range(30, 100), 99)},
        "timeout-in-recovery": {"lost": (40, 40, 40, *range(60, 150))},
        "late": {"late": ((60, 25),)},
        "all-late": {"late": tuple((n, 400) for n in range(40, 150))},
    }
    named = {
        f"{name}-{congestion}": Script(congestion=congestion, **settings)  # type: ignore[arg-type]
        for name, settings in both.items()
        for congestion in ("cubic", "reno")
    }
    # Slow start on paths that are found full by the delay and by the train.
    named["hystart-delay"] = Script(segments=400, rate=20_000_000, delay=20 * MILLISECOND)
    named["hystart-train"] = Script(segments=700, rate=50_000_000, delay=40 * MILLISECOND)
    # Congestion avoidance, long enough for CUBIC's plateau.
    for congestion in ("cubic", "reno"):
        named[f"long-{congestion}"] = Script(
            segments=2400, congestion=congestion, lost=(60, 1200), receiver=False
        )
    return named


def clock() -> int:
    return time.monotonic_ns()


def shell(*command: str) -> None:
    subprocess.run(command, check=True)


def new_namespace(address: str) -> int:
    """Moves this thread into a new network namespace with a TUN device; returns the device."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        why = os.strerror(ctypes.get_errno())
        sys.exit(f"record.py: no network namespace: {why}; run it as root")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"tcp0", IFF_TUN | IFF_NO_PI))
    Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
    Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1")
    shell("ip", "addr", "add", f"{address}/24", "dev", "tcp0")
    # One segment a packet, so that segments leave one by one.
    settings = ("mtu", "1500", "txqueuelen", "10000", "gso_max_segs", "1")
    shell("ip", "link", "set", "tcp0", *settings, "up")
    return tun


@dataclass
class Packet:
    """A TCP packet as it was read."""

    raw: bytes
    seq: int
    ack: int
    flags: int
    window: int
    length: int
    options: dict[int, bytes]

    @property
    def timestamps(self) -> tuple[int, int]:
        value, echo = struct.unpack("!II", self.options[8])
        return value, echo

    @property
    def push(self) -> list[str]:
        """A word for the flag PSH."""
        return ["push"] if self.flags & PSH else []

    @property
    def sack(self) -> list[tuple[int, int]]:
        body = self.options.get(5, b"")
        return [(left, right) for left, right in struct.iter_unpack("!II", body)]


def parse(raw: bytes) -> Packet | None:
    """Reads an IPv4 packet; None if it is not TCP."""
    if len(raw) < 40 or raw[0] >> 4 != 4 or raw[9] != socket.IPPROTO_TCP:
        return None
    header = (raw[0] & 15) * 4
    tcp = raw[header:]
    seq, ack, offset, flags, window = struct.unpack("!4xIIBBH4x", tcp[:20])
    end = (offset >> 4) * 4
    options: dict[int, bytes] = {}
    at = 20
    while at < end and tcp[at] != 0:
        if tcp[at] == 1:
            at += 1
            continue
        options[tcp[at]] = tcp[at + 2 : at + tcp[at + 1]]
        at += tcp[at + 1]
    return Packet(raw, seq, ack, flags, window, len(tcp) - end, options)


@dataclass
class Losses:
    """The losses that are still to come."""

    script: Script
    lost: list[int] = field(init=False)
    late: dict[int, int] = field(init=False)
    acks: int = 0

    def __post_init__(self) -> None:
        self.lost = list(self.script.lost)
        self.late = dict(self.script.late)

    def loses(self, number: int) -> bool:
        if number in self.lost:
            self.lost.remove(number)
            return True
        return False

    def loses_ack(self) -> bool:
        self.acks += 1
        return self.acks - 1 in self.script.lost_acks


class Recording:
    """A transfer between two namespaces."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.losses = Losses(script)
        self.lines: list[str] = []
        self.waiting: list[tuple[int, int, int, Packet]] = []
        self.posted = 0
        self.busy_until = 0
        self.start = 0
        self.iss = {0: 0, 1: 0}
        self.syns = {0: 0, 1: 0}
        self.stamp = {0: 0, 1: 0}
        self.tun = [0, 0]
        self.tun[0] = new_namespace(A)
        self.client = socket.socket()
        self.client.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 4 << 20)
        congestion = script.congestion.encode()
        self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion)
        self.client.setblocking(False)
        self.tun[1] = new_namespace(B)
        self.listener = socket.socket()
        self.listener.bind((B, PORT))
        self.listener.listen()
        self.listener.setblocking(False)
        self.server: socket.socket | None = None
        self.sent = False
        self.last_event = 0

    def close(self) -> None:
        for end in (self.client, self.listener, self.server):
            if end is not None:
                end.close()
        for tun in self.tun:
            os.close(tun)

    def run(self) -> list[str]:
        """Runs the transfer; returns the lines of the trace."""
        self.client.connect_ex((B, PORT))
        while not self.over():
            now = clock()
            due = self.waiting[0][0] if self.waiting else now + 20 * MILLISECOND
            wait = max(0, min(due - now, 20 * MILLISECOND)) / SECOND
            readable, _, _ = select.select(self.tun, [], [], wait)
            for tun in readable:
                self.read(self.tun.index(tun))
            self.deliver()
            self.work()
        return self.lines

    def over(self) -> bool:
        acknowledged = self.sent and self.info()["unacked"] == 0
        return acknowledged and not self.waiting and clock() - self.last_event > QUIET

    def work(self) -> None:
        """Does the applications' work: one sends everything at once, one reads."""
        if self.server is None:
            try:
                self.server, _ = self.listener.accept()
                self.server.setblocking(False)
            except BlockingIOError:
                return
        try:
            while self.server.recv(1 << 20):
                pass
        except BlockingIOError:
            pass

    def relative(self, side: int, number: int) -> int:
        """A sequence number of the side's from its first byte on."""
        return (number - self.iss[side] - 1) & 0xFFFFFFFF

    def log(self, now: int, *words: object) -> None:
        self.last_event = now
        if words[0] in ("A", "D") and not self.script.receiver:
            return
        at = (now - self.start) // MICROSECOND
        self.lines.append(" ".join(str(word) for word in (at, *words)))

    def read(self, side: int) -> None:
        """Takes in what the kernel sends."""
        while True:
            try:
                raw = os.read(self.tun[side], 2048)
            except BlockingIOError:
                return
            now = clock()
            packet = parse(raw)
            if packet is not None:
                self.take(side, now, packet)

    def take(self, side: int, now: int, packet: Packet) -> None:
        if packet.flags & SYN:
            if not self.syns[side]:
                self.iss[side] = packet.seq
                self.stamp[side] = packet.timestamps[0]
            if side == 0 and not self.syns[0]:
                self.start = now
            self.syns[side] += 1
            if side == 1 or self.syns[0] > self.script.lost_syns:
                self.post(now, side, packet)
        elif side == 0 and packet.length:
            self.data(now, packet)
        elif side == 0:
            self.post(now, side, packet)
        else:
            lost = self.losses.loses_ack()
            self.log(now, "A", *self.acknowledgment(packet), *(["lost"] if lost else []))
            if not lost:
                self.post(now, side, packet)

    def data(self, now: int, packet: Packet) -> None:
        seq = self.relative(0, packet.seq)
        number = seq // MSS
        lost = self.losses.loses(number)
        self.log(now, "S", seq, packet.length, *packet.push, *(["lost"] if lost else []))
        if not lost:
            late = self.losses.late.pop(number, 0) * MILLISECOND
            self.post(now, 0, packet, late)

    def acknowledgment(self, packet: Packet) -> Iterable[object]:
        """Its number, window, echo in milliseconds from the SYN's, and SACK blocks."""
        echo = (packet.timestamps[1] - self.stamp[0]) & 0xFFFFFFFF
        sack = [(self.relative(0, left), self.relative(0, right)) for left, right in packet.sack]
        blocks = [f"{left}-{right}" for left, right in sack]
        return (self.relative(0, packet.ack), packet.window, echo, *blocks)

    def post(self, now: int, side: int, packet: Packet, late: int = 0) -> None:
        """Puts a packet on its way: data at the rate, and everything with the delay."""
        at = now
        if side == 0 and self.script.rate:
            bits = (len(packet.raw) + FRAMING) * 8
            self.busy_until = max(self.busy_until, now) + bits * SECOND // self.script.rate
            at = self.busy_until
        self.posted += 1
        heapq.heappush(self.waiting, (at + self.script.delay + late, self.posted, side, packet))

    def deliver(self) -> None:
        while self.waiting and self.waiting[0][0] <= clock():
            _, _, side, packet = heapq.heappop(self.waiting)
            now = clock()
            if side == 0 and packet.length:
                echo = (packet.timestamps[1] - self.stamp[1]) & 0xFFFFFFFF
                self.log(now, "D", self.relative(0, packet.seq), packet.length, echo, *packet.push)
            os.write(self.tun[1 - side], packet.raw)
            if side == 1:
                self.acknowledged(now, packet)
            else:
                self.work()
            self.read(1 - side)

    def acknowledged(self, now: int, packet: Packet) -> None:
        """The sender has an ACK: what does it think now?"""
        if packet.flags & SYN:
            scale = packet.options[3][0]
            echo = (packet.timestamps[1] - self.stamp[0]) & 0xFFFFFFFF
            self.log(now, "H", packet.window, scale, echo)
            # The first data follows the handshake.
            self.read(0)
            self.client.send(bytes(self.script.segments * MSS))
            self.sent = True
            return
        info = self.info()
        sample = (info["cwnd"], info["ssthresh"], info["state"])
        self.log(now, "R", *self.acknowledgment(packet), "|", *sample)

    def info(self) -> dict[str, int]:
        raw = self.client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        words = struct.unpack("8B24I", raw)
        longs = words[8:]
        return {"state": words[1], "unacked": longs[4], "ssthresh": longs[17], "cwnd": longs[18]}


def header(name: str, script: Script) -> list[str]:
    """The head of a trace, about itself."""
    return [
        "# SPDX-License-Identifier: Apache-2.0",
        f"# kernel {platform.release().split('-')[0]}, tcp_rto_min 200 ms, one segment a packet",
        f"name {name}",
        f"congestion {script.congestion}",
        f"segments {script.segments}",
        f"rate {script.rate}",
        f"delay {script.delay}",
        "lost " + " ".join(map(str, script.lost)),
        "lost-acks " + " ".join(map(str, script.lost_acks)),
        f"lost-syns {script.lost_syns}",
        "late " + " ".join(f"{number}:{late}" for number, late in script.late),
    ]


def record(name: str, script: Script) -> str:
    """The trace of one script."""
    recording = Recording(script)
    try:
        lines = recording.run()
    finally:
        recording.close()
    return "\n".join([*header(name, script), *lines]) + "\n"


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("usage: record.py FOLDER [NAME...]")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    known = scripts()
    names = sys.argv[2:] or list(known)
    for name in names:
        if name not in known:
            sys.exit(f"record.py: there is no script {name!r}; there are {', '.join(known)}")
    # Without this a busy machine would delay packets that are due.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    for name in names:
        (folder / f"{name}.txt").write_text(record(name, known[name]))
        print(name, flush=True)


if __name__ == "__main__":
    main()
