# SPDX-License-Identifier: Apache-2.0
"""Which packets are looked at, and how both ends are put together."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from docsis_testbed.traffic import capture
from docsis_testbed.traffic.capture import Capture, Instruction, Matcher, Point


def packet(
    *, first: int = 0x45, length: int = 1500, identification: int = 8, port: int = 5201,
    sequence: int = 1000,
) -> bytes:  # fmt: skip
    """The beginning of an IPv4 packet with TCP."""
    ip = struct.pack("!BBHHHBBH4s4s", first, 0, length, identification, 0x4000, 64, 6, 0,
                     bytes(4), bytes(4))  # fmt: skip
    return ip + struct.pack("!HHII", 40_000, port, sequence, 0) + bytes(12)


def accepted(program: Sequence[Instruction], data: bytes) -> int:
    """What a program of the classic packet filter answers, by the rules of bpf(4)."""
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


def test_capture_is_written_and_read(tmp_path: Path) -> None:
    made = Capture((Point(1, "cpe1-eth0", "sender"),), (5201, 5210), 4)
    capture.write(made, tmp_path / "capture.json")
    assert capture.read(tmp_path / "capture.json") == made
