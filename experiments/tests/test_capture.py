# SPDX-License-Identifier: Apache-2.0
"""Packets are sampled, and both ends of their way are put together."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from docsis_experiments.stages.mininet.traffic import capture
from docsis_experiments.stages.mininet.traffic.capture import (
    Capture,
    Counted,
    Instruction,
    Matcher,
    Point,
)


def packet(
    *, first: int = 0x45, length: int = 1500, identification: int = 8, port: int = 5201,
    sequence: int = 1000,
) -> bytes:  # fmt: skip
    """The beginning of an IPv4 packet with TCP."""
    ip = struct.pack("!BBHHHBBH4s4s", first, 0, length, identification, 0x4000, 64, 6, 0,
                     bytes(4), bytes(4))  # fmt: skip
    return ip + struct.pack("!HHII", 40_000, port, sequence, 0) + bytes(12)


def accepted(program: Sequence[Instruction], data: bytes) -> int:
    """Runs a program of the classic packet filter by the rules of bpf(4)."""
    at, accumulator = 0, 0
    while True:
        code, met, missed, value = program[at]
        at += 1
        match code:
            case 0x30:
                accumulator = data[value]
            case 0x28:
                accumulator = struct.unpack_from("!H", data, value)[0]
            case 0x54:
                accumulator &= value
            case 0x15:
                at += met if accumulator == value else missed
            case 0x25:
                at += met if accumulator > value else missed
            case 0x35:
                at += met if accumulator >= value else missed
            case 0x06:
                return value
            case _:
                raise AssertionError(f"no such instruction: {code:#x}")


@pytest.mark.parametrize(
    ("data", "taken"),
    [
        (packet(), True),
        (packet(first=0x46), False),
        (packet(first=0x60), False),
        (packet(length=100), True),
        (packet(length=99), False),
        (packet(identification=9), False),
        (packet(identification=12), True),
        (packet(port=5200), False),
        (packet(port=5210), True),
        (packet(port=5211), False),
    ],
)
def test_filter_takes_one_in_four_of_the_flows_packets(data: bytes, taken: bool) -> None:
    program = capture.packet_filter((5201, 5210), 4)
    assert bool(accepted(program, data)) is taken


def test_filter_takes_all_of_few_packets() -> None:
    program = capture.packet_filter((5201, 5210), 1)
    assert all(accepted(program, packet(identification=n)) for n in range(8))


def test_delay_is_from_end_to_end_and_loss_has_none() -> None:
    matcher = Matcher()
    matcher.seen("sender", packet(identification=1), 1_000)
    matcher.seen("sender", packet(identification=2), 2_000)
    matcher.seen("receiver", packet(identification=1), 5_000)
    # The same segment once more is another packet.
    matcher.seen("sender", packet(identification=3), 6_000)
    matcher.seen("receiver", packet(identification=3), 6_500)
    assert matcher.rows() == [(5201, 1_000, 4_000), (5201, 2_000, None), (5201, 6_000, 500)]


def test_an_identification_that_comes_round_hides_no_loss() -> None:
    matcher = Matcher()
    matcher.seen("sender", packet(), 1_000)
    matcher.seen("sender", packet(), 9_000)
    matcher.seen("receiver", packet(), 9_500)
    assert matcher.rows() == [(5201, 1_000, None), (5201, 9_000, 500)]


def test_ends_may_be_read_in_either_order() -> None:
    matcher = Matcher()
    matcher.seen("receiver", packet(), 5_000)
    matcher.seen("sender", packet(), 1_000)
    assert matcher.rows() == [(5201, 1_000, 4_000)]


def test_what_only_came_is_nobodys() -> None:
    matcher = Matcher()
    matcher.seen("receiver", packet(), 5_000)
    assert matcher.rows() == []


def there_and_back(out: socket.socket, sink: socket.socket) -> None:
    """A datagram that has come, so that the taps of both directions have been shown it."""
    out.sendto(bytes(200), sink.getsockname())
    sink.settimeout(20)
    sink.recv(2000)


@pytest.mark.root
def test_packets_that_a_socket_has_no_room_for_are_counted() -> None:
    with (
        socket.socket(type=socket.SOCK_DGRAM) as sink,
        socket.socket(type=socket.SOCK_DGRAM) as out,
    ):
        sink.bind(("127.0.0.1", 0))
        port = sink.getsockname()[1]
        program = capture.packet_filter((port, port), 1)
        with capture.opened(Point(os.getpid(), "lo", "sender"), program) as made:
            # As when the program had not run for long: there is room for a few only.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            for _ in range(500):
                there_and_back(out, sink)
            counted = capture.counted(made)
            # What leaves and what comes: of the loopback interface both are shown.
            assert counted.packets == 1000
            read = 0
            with contextlib.suppress(BlockingIOError):
                while made.recv(100):
                    read += 1
            assert read == counted.packets - counted.lost
            assert counted.lost > 0
            # They are told once.
            assert capture.counted(made) == Counted(0, 0)


@pytest.mark.root
def test_program_leaves_its_counts_beside_the_packets(tmp_path: Path) -> None:
    with (
        socket.socket(type=socket.SOCK_DGRAM) as sink,
        socket.socket(type=socket.SOCK_DGRAM) as out,
    ):
        sink.bind(("127.0.0.1", 0))
        port = sink.getsockname()[1]
        made = Capture((Point(os.getpid(), "lo", "sender"),), (port, port), 1)
        capture.write(made, tmp_path / "capture.json")
        packets = tmp_path / "captured.csv"
        process = subprocess.Popen(
            capture.command(tmp_path / "capture.json", packets),
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            for _ in range(5):
                there_and_back(out, sink)
        finally:
            process.terminate()
            process.wait(20)
        process.stdout.close()
    assert capture.counts(packets) == {"sender": Counted(10, 0), "receiver": Counted(0, 0)}


def test_capture_is_written_and_read(tmp_path: Path) -> None:
    made = Capture((Point(1, "cpe1-eth0", "sender"),), (5201, 5210), 4)
    capture.write(made, tmp_path / "capture.json")
    assert capture.read(tmp_path / "capture.json") == made
