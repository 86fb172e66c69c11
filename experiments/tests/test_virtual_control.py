# SPDX-License-Identifier: Apache-2.0
"""The controller in virtual time: primary, on its deadlines, and told when it is refused."""

from __future__ import annotations

import json
from pathlib import Path

import grpc
import pytest

from docsis_control.plan import Role
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import load_topology
from docsis_experiments.stages.mininet import rf
from docsis_experiments.stages.virtual.building import build
from docsis_experiments.stages.virtual.entrance import Refused, WorldEntrance
from docsis_experiments.stages.virtual.machine import EXACT, MEASURED, Machine
from docsis_experiments.stages.virtual.play import playing
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

TOPOLOGY = load_topology(TOPOLOGIES / "residential.yaml")
MODEM = TOPOLOGY.cable_modem


def quiet(_phase: str, _seconds: float) -> None:
    pass


def idle(folder: Path, machine: Machine, seconds: float = 1.0) -> str:
    """The digest of a second without traffic."""
    with playing(
        TOPOLOGY, Preset.DOCSIS_PIE, seed=5, machine=machine, folder=folder, progress=quiet
    ) as play:
        play.run_until("idle", seconds)
        counted = play.counters(MODEM, Role.CABLE_MODEM)
        assert set(counted.values()) == {0}
        return play.world.digest()


def test_an_update_is_made_every_interval(tmp_path: Path) -> None:
    idle(tmp_path, EXACT)
    stats = json.loads((tmp_path / "controller" / "stats.json").read_text())
    assert stats["devices"]["cm1"]["updates"] == 62
    assert stats["missed"] == 0
    assert stats["lateness_ms"] == {"p50": 0, "p99": 0, "max": 0}
    assert stats["devices"]["cm1"]["state_access"] == "registers"
    assert stats["devices"]["cm1"]["traffic_manager"] is True
    rows = (tmp_path / "controller" / "ticks-cm1.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows[:2]] == ["0.016000", "0.032000"]


def test_updates_are_as_late_as_the_machine(tmp_path: Path) -> None:
    idle(tmp_path, MEASURED, 10.0)
    stats = json.loads((tmp_path / "controller" / "stats.json").read_text())
    assert stats["lateness_ms"]["p50"] == pytest.approx(MEASURED.updates[0] / 1e6, rel=0.1)
    assert stats["cycle_ms"]["p50"] == pytest.approx(MEASURED.reading[0] / 1e6, rel=0.1)
    assert stats["devices"]["cm1"]["updates"] == 624


def test_a_method_that_is_not_there_is_refused_as_grpc_refuses() -> None:
    entrance = WorldEntrance(build(TOPOLOGY, 1, EXACT), MODEM.name, MODEM.device_id)
    with pytest.raises(Refused) as raised:
        entrance.call("/p4.v1.P4Runtime/Nothing", b"")
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert raised.value.details()


def test_what_the_world_refuses_is_told_in_words(tmp_path: Path) -> None:
    def ask_another_device() -> None:
        with playing(
            TOPOLOGY, Preset.DOCSIS_PIE, seed=5, machine=EXACT, folder=tmp_path, progress=quiet
        ) as play:
            other = rf.configuration(MODEM.device_id + 7, 1_000_000)
            play.world.call(MODEM.name, rf.CONFIGURE, other)

    with pytest.raises(TestbedError, match="^the virtual world: "):
        ask_another_device()
