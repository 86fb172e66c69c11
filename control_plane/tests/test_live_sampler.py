# SPDX-License-Identifier: Apache-2.0
"""The live page's sampler where a switch, the controller or the page itself fails."""

import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from channel_states import answer, state
from google.protobuf.message import DecodeError

from docsis_control.gen.docsis.mac.v1.channel_state_pb2 import GetResponse
from docsis_control.law.arrays import Ints
from docsis_control.local_socket import ControllerError
from docsis_control.mac.channel_state import channels_from
from docsis_control.status.health import Health, LoopHealth
from docsis_control.status.model import Device, Quantiles, Status, decode
from docsis_live import sampler
from docsis_live.readings import DROPS, Classified, NoAnswer, NotThere
from docsis_live.sampler import Sampler, Update
from docsis_live.samples import COLUMNS

STATUS = decode((Path(__file__).parent / "data" / "status.json").read_bytes())
MODEM = STATUS.modems[0].name
UP, DOWN = (
    {str(flow.sfid) for flow in STATUS.modems[0].service_flows if flow.direction == direction}
    for direction in ("upstream", "downstream")
)
CM, CMTS = (device.name for device in STATUS.devices)


class Switches:
    """What all readers of the fake switches share.

    Attributes:
        fails: What a switch fails with, by its name.
        asked: How often each was asked.
        access: How the state of each is reached, where not by registers.
        channels: A serialized docsis.mac.v1.GetResponse.
    """

    def __init__(self) -> None:
        self.fails: dict[str, Exception] = {}
        self.asked: Counter[str] = Counter()
        self.access: dict[str, str] = {}
        self.channels: bytes = answer(state()).SerializeToString()


class FakeReader:
    """Reads zeros of a switch whose clock is the machine's."""

    def __init__(self, device: Device, switches: Switches) -> None:
        access = switches.access.get(device.name, "registers")
        self.device = replace(device, state_access=access)
        self._switches = switches

    def _ask(self) -> None:
        self._switches.asked[self.device.name] += 1
        if self.device.name in self._switches.fails:
            raise self._switches.fails[self.device.name]

    def close(self) -> None:
        pass

    def registers(self, names: tuple[str, ...], flows: tuple[int, ...]) -> tuple[Ints, float]:
        self._ask()
        if self.device.state_access != "registers":
            raise NotThere(f"{self.device.name} has no registers")
        return np.zeros((len(names), len(flows)), np.int64), time.monotonic()

    def drops(self, flows: tuple[int, ...], reasons: int = len(DROPS)) -> Ints:
        self._ask()
        return np.ones((reasons, len(flows)), np.int64)

    def classified(self) -> Classified:
        self._ask()
        return Classified({}, {})

    def clock_us(self) -> int:
        self._ask()
        return time.monotonic_ns() // 1000

    def channels(self, maps: int) -> bytes:
        del maps
        self._ask()
        return self._switches.channels


def healthy() -> Health:
    """The health of a controller that has one loop, in time."""
    times = Quantiles(p50=0.1, p99=0.1, max=0.1)
    loop = LoopHealth(
        device=CM, looped=True, cycles=1, missed=0, reconnects=0, lateness_ms=times, cycle_ms=times
    )
    return Health(pid=STATUS.pid, uptime_s=1.0, revision=STATUS.revision, loops=(loop,))


class Looks:
    """A sampler without a thread or a system, and what its controller says.

    Attributes:
        sampler: The sampler.
        switches: The switches.
        status: What the controller says.
        health: Its health, or what it fails with.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.switches = Switches()
        monkeypatch.setattr(
            sampler, "DeviceReader", lambda device: FakeReader(device, self.switches)
        )
        monkeypatch.setattr(sampler, "fetch_health", lambda *_: self._health())
        monkeypatch.setattr(sampler, "fetch", lambda *_: self.status)
        there = tuple(replace(device, connected=True) for device in STATUS.devices)
        self.status: Status = replace(STATUS, devices=there)
        self.health: Health | Exception = healthy()
        self.sampler = Sampler(lambda _: None, None, tmp_path)
        self.sampler.watched = (MODEM,)

    def _health(self) -> Health:
        if isinstance(self.health, Exception):
            raise self.health
        return self.health

    def change(self, pid: int = STATUS.pid) -> None:
        """The controller has changed something, and the page knows."""
        self.count_change(pid)
        assert isinstance(self.health, Health)
        self.status = replace(self.status, pid=pid, revision=self.health.revision)

    def count_change(self, pid: int = STATUS.pid) -> None:
        """The same, while a status that was begun before is still handed out."""
        assert isinstance(self.health, Health)
        self.health = replace(self.health, pid=pid, revision=self.health.revision + 1)
        self.sampler.refresh()

    def miss(self, updates: int) -> None:
        """The loop has missed so many updates."""
        assert isinstance(self.health, Health)
        (loop,) = self.health.loops
        self.health = replace(self.health, loops=(replace(loop, missed=updates),))

    def look(self) -> Update:
        update = self.sampler._look()
        self.sampler._number += 1
        return update

    def flows(self) -> dict[str, Any]:
        """The values of the service flows in the next row."""
        return flows(self.look())


def flows(update: Update) -> dict[str, Any]:
    """The values of the modem's service flows, by SFID."""
    found: dict[str, Any] = json.loads(update.rows[MODEM])["f"]
    return found


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Looks:
    return Looks(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("silent", "left"), [(CM, DOWN), (CMTS, UP)], ids=["the modem", "the CMTS"]
)
def test_one_switch_that_does_not_answer_takes_no_other_with_it(
    looks: Looks, silent: str, left: set[str]
) -> None:
    assert set(looks.flows()) == UP | DOWN
    looks.switches.fails[silent] = NoAnswer(f"{silent} does not answer: it is away")
    update = looks.look()
    assert set(flows(update)) == left
    assert update.trouble == f"{silent} does not answer: it is away"
    looks.switches.fails[silent] = DecodeError("half a message")
    while (update := looks.look()).number < 20:
        assert set(flows(update)) == left
    assert update.trouble == f"{silent} answers with something else: half a message"
    # The classifiers and the line of the modem are told, without its service flows.
    assert set(json.loads(update.parts["classifiers"])[MODEM]) == left
    assert [line[0] for line in json.loads(update.parts["summary"])] == [
        modem.name for modem in STATUS.modems
    ]
    looks.switches.fails.clear()
    while looks.look().number < 30:
        pass
    assert set(looks.flows()) == UP | DOWN


def test_channels_that_cannot_be_leave_the_flows_to_be_seen(looks: Looks) -> None:
    """The message is in order, and has a channel without minislots."""
    there = channels_from(looks.switches.channels, lambda *_: None)
    looks.status = replace(looks.status, upstream_channels=there)
    assert "channels" in looks.look().parts
    message = GetResponse.FromString(looks.switches.channels)
    message.channels[0].shape.minislots_per_frame = 0
    looks.switches.channels = message.SerializeToString()
    while not (update := looks.look()).trouble:
        assert update.number < 20
    assert f"{CM} describes channels that cannot exist: " in update.trouble
    assert "channels" not in update.parts
    while (update := looks.look()).number < 20:
        assert set(flows(update)) == UP | DOWN


def test_a_switch_that_does_not_answer_is_asked_once_a_second(looks: Looks) -> None:
    looks.look()
    looks.switches.fails[CM] = NoAnswer("it waits for its time limit")
    looks.switches.asked.clear()
    while looks.look().number < 39:
        pass
    assert looks.switches.asked[CM] == 4


def test_a_switch_without_registers_is_shown_with_its_drops(looks: Looks) -> None:
    looks.switches.access = {CM: "packets", CMTS: "packets"}
    while (update := looks.look()).number < 20:
        assert set(flows(update)) == UP | DOWN
        assert update.trouble == ""
        for values in flows(update).values():
            assert values[:11] == [*[None] * 7, 1, 1, 1, len(DROPS) - 3]
    assert set(json.loads(update.parts["classifiers"])[MODEM]) == UP | DOWN
    # Three reasons for each service flow.
    lines = {name: line for name, *line in json.loads(update.parts["summary"])}
    assert lines[MODEM] == [0, 0, 0, 0, 3 * len(UP | DOWN)]


def test_a_switch_that_lacks_something_is_told_and_asked_on(
    looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def classified(self: FakeReader) -> Classified:
        raise NotThere(f"{self.device.name} has no such counters")

    with monkeypatch.context() as patched:
        patched.setattr(FakeReader, "classified", classified)
        for _ in range(10):
            update = looks.look()
            assert set(flows(update)) == UP | DOWN
            assert update.trouble == "; ".join(
                f"{name} has no such counters" for name in (CM, CMTS)
            )
    assert looks.look().trouble == ""


def test_the_clocks_are_known_at_once_after_a_change(looks: Looks) -> None:
    def tokens() -> set[float]:
        place = COLUMNS.index("tokens_bytes")
        return {values[place] for sfid, values in looks.flows().items() if sfid in UP}

    # A bucket of 0 tokens when the clock was at 0; without the clock that is all that is known.
    assert 0 not in tokens()
    looks.change()
    assert 0 not in tokens()


def test_a_status_from_before_a_change_does_not_stay(looks: Looks) -> None:
    looks.look()
    looks.count_change()
    before = looks.look().system
    assert before is not None
    assert before.status.revision == STATUS.revision
    looks.status = replace(looks.status, revision=STATUS.revision + 1)
    # At once, not with the next second.
    after = looks.look().system
    assert after is not None
    assert after.status.revision == STATUS.revision + 1
    # Nor is it asked for again and again.
    assert looks.look().system is after


@pytest.mark.parametrize(
    "failure", [OSError(24, "Too many open files"), ValueError("not that"), OverflowError("big")]
)
def test_nothing_ends_the_sampler(
    looks: Looks, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    looks.look()
    looks.switches.fails[CM] = failure
    for _ in range(3):
        update = looks.look()
        assert update.system is None
        assert str(failure) in update.trouble
    # Once a second would fill the log.
    assert len(caplog.records) == 1
    looks.switches.fails.clear()
    assert looks.look().trouble == ""


def test_a_missed_update_is_told_for_ten_seconds_whatever_is_changed(looks: Looks) -> None:
    def state() -> str:
        while "health" not in (update := looks.look()).parts:
            pass
        found: str = json.loads(update.parts["health"])["state"]
        return found

    looks.miss(0)
    assert state() == "green"
    looks.miss(1)
    assert state() == "amber"
    looks.change()
    assert [state() for _ in range(10)] == ["amber"] * 9 + ["green"]
    # Another controller, whose loop has missed more since its start.
    looks.miss(5)
    looks.change(pid=STATUS.pid + 1)
    assert state() == "green"


def test_a_controller_that_goes_is_told(looks: Looks) -> None:
    assert looks.look().trouble == ""
    looks.health = ControllerError("no controller runs")
    looks.sampler.refresh()
    update = looks.look()
    assert (update.system, update.trouble) == (None, "no controller runs")
