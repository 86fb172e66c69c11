# SPDX-License-Identifier: Apache-2.0
"""Exercise 8: its frames, the chance that its criteria allow for, and its committed programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import combinations, permutations
from math import comb

import pytest
from handed import Handed
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from docsis_labs.criterion import Missed, Passed
from docsis_labs.exercises import exercise
from docsis_labs.exercises.flow_queues.apart import SHARED_BY_CHANCE
from docsis_labs.exercises.flow_queues.criteria import JUDGES
from docsis_labs.exercises.flow_queues.flows import (
    FCS,
    FLOW_QUEUES,
    ICMP,
    IP_IN_IP,
    Flow,
    Sent,
    bytes_of,
)
from docsis_labs.exercises.pictures import program
from docsis_labs.grading.judge import judged
from docsis_labs.p4.committing import problems
from docsis_labs.p4.program import Program


def test_programs_are_what_p4c_made_of_the_sources() -> None:
    assert problems(exercise(8)) == []


@given(st.integers(0, 1 << 30), st.integers(0, 65535), st.integers(64, 1518), st.booleans())
def test_a_frame_is_what_its_flow_says(number: int, port: int, length: int, tcp: bool) -> None:
    flow = Flow(port).tcp if tcp else Flow(port)
    data = bytes_of(number, Sent(0, flow, length))
    assert len(data) == length - FCS
    assert int.from_bytes(data[-4:], "big") == number
    packet = Ether(data)
    assert (packet[IP].src, packet[IP].dst, packet[IP].id) == (
        flow.source, flow.destination, number & 0xFFFF,
    )  # fmt: skip
    ports = packet[TCP if tcp else UDP]
    assert (ports.sport, ports.dport) == (port, flow.destination_port)


def test_a_later_fragment_has_no_ports_and_the_first_one_says_that_more_follow() -> None:
    flow = Flow(50_000)
    first, later = (Ether(bytes_of(9, Sent(0, flow, 1500, at, 3)))[IP] for at in (0, 183))
    assert (first.flags.MF, first.frag, first.id) == (True, 0, 3)
    assert (later.frag, later.id) == (183, 3)
    assert bytes(later.payload)[:2] != flow.source_port.to_bytes(2, "big")


@pytest.mark.parametrize("tcp", [False, True])
def test_an_option_stands_before_the_ports_and_is_another_one_in_each_frame(tcp: bool) -> None:
    flow = Flow(50_000).tcp if tcp else Flow(50_000)
    one, other = (Ether(bytes_of(n, Sent(0, flow, 64, options=True)))[IP] for n in (3, 4))
    for packet in (one, other):
        assert packet.ihl == 6
        assert packet[TCP if tcp else UDP].sport == 50_000
    assert bytes(one.options[0]) != bytes(other.options[0])


@pytest.mark.parametrize("protocol", [ICMP, IP_IN_IP])
def test_a_protocol_without_ports_has_other_bytes_in_each_frame(protocol: int) -> None:
    frames = [bytes_of(n, Sent(0, Flow(0, protocol=protocol), 100))[34:38] for n in range(24)]
    assert len(set(frames)) == 24


def test_what_shares_by_chance_is_allowed_for() -> None:
    odds = [
        comb(40, k) * (1 / FLOW_QUEUES) ** k * (1 - 1 / FLOW_QUEUES) ** (40 - k) for k in range(41)
    ]
    assert 7 * sum(odds[SHARED_BY_CHANCE + 1 :]) < 1e-4


_FIELDS = range(5)
"""Places of the 5-tuple's fields in what the solution's hash is taken of."""


def hashing(fields: Iterable[int], algorithm: str = "crc32") -> Program:
    """The solution with a hash of some of its fields, in an order."""
    solution = program(8, "solution")
    document = json.loads(solution.json)
    [calculation] = document["calculations"]
    calculation["algo"] = algorithm
    calculation["input"] = [calculation["input"][field] for field in fields]
    return Program(solution.name, json.dumps(document).encode(), solution.p4info)


@pytest.mark.parametrize("fields", [c for n in range(5) for c in combinations(_FIELDS, n)], ids=str)
def test_a_part_of_the_five_tuple_is_not_enough(fields: tuple[int, ...]) -> None:
    assert isinstance(JUDGES["apart"](hashing(fields)), Missed)


@pytest.mark.parametrize("algorithm", ["crc16", "crc32"])
def test_a_hash_of_all_is_enough_whatever_the_order(algorithm: str) -> None:
    for fields in list(permutations(_FIELDS))[::7]:
        for name in ("apart", "all_queues"):
            verdict = JUDGES[name](hashing(fields, algorithm))
            assert isinstance(verdict, Passed), (fields, verdict)


def test_a_program_that_drops_every_frame_has_no_points_for_their_order() -> None:
    solution = program(8, "solution")
    document = json.loads(solution.json)
    [drop] = [one for action in document["actions"] for one in _drops(action)]
    for action in document["actions"]:
        if any(one["op"] == "register_write" for one in action["primitives"]):
            action["primitives"].append(drop)
    every = Program(solution.name, json.dumps(document).encode(), solution.p4info)
    assert sum(one.points for one in judged(exercise(8), Handed(every))) == 0
    verdict = JUDGES["order"](every)
    assert isinstance(verdict, Missed)
    assert verdict.mistake == "loses-fragments"


def _drops(action: dict[str, list[dict[str, object]]]) -> list[dict[str, object]]:
    return [one for one in action["primitives"] if one["op"] == "mark_to_drop"]
