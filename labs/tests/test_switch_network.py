# SPDX-License-Identifier: Apache-2.0
"""The network that `make run` of an exercise in P4 builds: its file, and the switch's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from docsis_world import World

from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2 as tm
from docsis_control.law import inverse_square_root
from docsis_control.p4rt.device import LocalDevice, completed
from docsis_experiments.stages.virtual.entrance import ELECTION_ID, WorldEntrance
from docsis_labs.errors import SubmissionError
from docsis_labs.exercises import exercise
from docsis_labs.exercises.numbered import plain
from docsis_labs.exercises.pictures import program
from docsis_labs.p4.packet_device import schema_of
from docsis_labs.switch_network import TOPOLOGY
from docsis_labs.switch_network.building import interfaces, to_try
from docsis_labs.switch_network.model import SwitchNetwork, load
from docsis_labs.switch_network.provisioning import provision
from docsis_testbed.errors import TestbedError

_NUMBERS = (3, 6, 7, 8)
_GET = "/docsis.tm.v1.TrafficManager/Get"


def network(number: int) -> SwitchNetwork:
    return load(exercise(number).path / TOPOLOGY)


def provisioned(number: int, which: str = "solution", of: int | None = None) -> tuple[World, Any]:
    """A switch in virtual time, provisioned as the one in Mininet is."""
    one = network(number)
    world = World(1)
    world.add_device("s1", one.switch.device_id, [host.port for host in one.hosts])
    for host in one.hosts:
        world.collect("s1", host.port)
    entrance = WorldEntrance(world, "s1", one.switch.device_id)
    device = LocalDevice(entrance, "s1", one.switch.device_id, ELECTION_ID)
    student = program(number if of is None else of, which)
    completed(provision(device, schema_of(student), student, one))
    return world, entrance


@pytest.mark.parametrize("number", _NUMBERS)
@pytest.mark.parametrize("which", ["skeleton", "solution"])
def test_a_switch_is_provisioned_and_carries_frames_both_ways(number: int, which: str) -> None:
    world, entrance = provisioned(number, which)
    world.inject("s1", 1, [(1_000_000, plain(1, 1000))])
    world.inject("s1", 2, [(1_000_000, plain(2, 1000))])
    world.run_until(100_000_000)
    assert [data for _, data in world.collected("s1", 2)] == [plain(1, 1000)]
    assert [data for _, data in world.collected("s1", 1)] == [plain(2, 1000)]
    entrance.close()


def test_queues_and_delays_are_what_the_file_says() -> None:
    world, entrance = provisioned(7)
    [raw] = entrance.call(_GET, tm.GetRequest(device_id=1).SerializeToString())
    state = tm.GetResponse.FromString(raw)
    [queue] = state.service_flows
    assert (queue.config.max_sustained_rate, queue.config.queue_limit) == (10_000_000, 256_000)
    delays = {one.config.port: one.config.transmit_delay_ns for one in state.ports}
    assert (delays[1], delays[2]) == (0, 10_000_000)
    assert world.now_ns == 0


def test_all_counts_have_their_inverse_square_root() -> None:
    # A table that was not full would let a long queue's drops come too often.
    assert len(list(inverse_square_root.ranges())) <= 512
    provisioned(7)


def test_a_program_of_another_exercise_is_refused_in_words() -> None:
    with pytest.raises(SubmissionError) as caught:
        provisioned(3, of=8)
    assert caught.value.missed.mistake == "not-as-asked"
    assert "flow_queues.p4" in caught.value.missed.hint


@pytest.mark.parametrize("number", _NUMBERS)
def test_what_to_try_is_a_command_a_line(number: int) -> None:
    one = network(number)
    first, *commands, last = to_try(one).splitlines()
    assert (first, last) == ("Try, one line after the other:", "exit leaves and cleans up.")
    assert commands
    for command in commands:
        # Mininet's command line gives the whole line to the host that it begins with.
        assert command.split()[0] in {host.name for host in one.hosts}
        assert ";" not in command


def test_without_a_hint_it_is_told_how_to_leave() -> None:
    one = network(3).model_copy(update={"hint": ""})
    assert to_try(one) == "exit leaves and cleans up."


def test_interfaces_are_named_by_port() -> None:
    assert interfaces(network(3)) == ["s1-eth1", "s1-eth2"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("port: 2, ip", "port: 1, ip", "two hosts have the same port"),
        ("rate: 10 Mbps", "rate: 10", "queues.0.rate"),
        ("name: lab-7", "name: lab-7\ncolour: red", "colour"),
        ("name: h2", "name: s1", "the switch's name"),
        ("port: 1, ip", "port: 255, ip", "hosts.0.port"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    text = (exercise(7).path / TOPOLOGY).read_text()
    assert old in text
    (tmp_path / TOPOLOGY).write_text(text.replace(old, new))
    with pytest.raises(TestbedError, match=words):
        load(tmp_path / TOPOLOGY)


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="there is no such file"):
        load(tmp_path / TOPOLOGY)
