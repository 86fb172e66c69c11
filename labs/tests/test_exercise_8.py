# SPDX-License-Identifier: Apache-2.0
"""Exercise 8: its frames, the chance that its criteria allow for, and its committed programs."""

from __future__ import annotations

import json
from math import comb

from handed import Handed
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from docsis_labs.criterion import Missed
from docsis_labs.exercises import exercise
from docsis_labs.exercises.flow_queues.criteria import JUDGES, SHARED_BY_CHANCE
from docsis_labs.exercises.flow_queues.flows import FCS, FLOW_QUEUES, Flow, Sent, bytes_of
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


def test_what_shares_by_chance_is_allowed_for() -> None:
    odds = [
        comb(40, k) * (1 / FLOW_QUEUES) ** k * (1 - 1 / FLOW_QUEUES) ** (40 - k) for k in range(41)
    ]
    assert sum(odds[SHARED_BY_CHANCE + 1 :]) < 2.1e-5


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
