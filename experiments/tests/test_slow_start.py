# SPDX-License-Identifier: Apache-2.0
"""Traffic outlasts what is measured, however slow the start was and whatever answers late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from docsis_experiments.experiment.loader import load
from docsis_experiments.experiment.plan import Plan, PlannedCall
from docsis_experiments.measurement.links import ImpairedLinks
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.stages.mininet import run
from docsis_experiments.stages.mininet.link_counters import LinkReader
from docsis_experiments.stages.mininet.run import Played
from docsis_experiments.stages.mininet.traffic import irtt
from docsis_testbed.paths import TOPOLOGIES

CALL = PlannedCall("game", "game", "cpe1", "server1", 19_003, 0.0)
PLAN = Plan(
    flows=(), calls=(CALL,), ramp_up_seconds=9.0, measured_seconds=24.0, one_in=1, idle_seconds=5.0
)


class Clock:
    """A wall clock that stands unless somebody takes time."""

    def __init__(self) -> None:
        self.ns = 1_700_000_000_000_000_000

    def time_ns(self) -> int:
        return self.ns

    def monotonic_ns(self) -> int:
        return self.ns

    def take(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)


class Program:
    """irtt's client: it ends by itself, after the time that it was told."""

    def __init__(self, clock: Clock, command: Sequence[str]) -> None:
        told = command[command.index("-d") + 1] if "client" in command else "0ms"
        self.ends_ns = clock.ns + int(told.removesuffix("ms")) * 1_000_000
        self._clock = clock

    def poll(self) -> int | None:
        return 0 if self._clock.ns > self.ends_ns else None


class FakeSession:
    """Fails, as the real one does, when what is watched has ended."""

    def __init__(self, clock: Clock, folder: Path, launch_seconds: float) -> None:
        self.folder = folder
        self._clock = clock
        self._launch_seconds = launch_seconds
        self.watched: list[Program] = []
        self.launched: list[Program] = []

    def address(self, name: str) -> str:
        return {"server1": "10.0.0.101"}[name]

    def launch(self, node: str, command: Sequence[str], name: str) -> Program:
        del node, name
        self._clock.take(self._launch_seconds)
        self.launched.append(Program(self._clock, command))
        return self.launched[-1]

    def watch(self, what: str, process: Program, log: Path) -> None:
        del what, log
        self.watched.append(process)

    def let_end(self, *processes: Program) -> None:
        self.watched = [one for one in self.watched if one not in processes]

    def wait(self, phase: str, seconds: float) -> None:
        self._clock.take(seconds)
        for process in self.watched:
            assert process.poll() is None, f"irtt ended while {phase}"

    def wait_for(self, process: Program, what: str) -> None:
        del what
        self._clock.ns = max(self._clock.ns, process.ends_ns + 1)


class Asked:
    """A switch that takes its time to answer."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds

    def packets(self, service_flow: int) -> dict[str, int]:
        del service_flow
        self._clock.take(self._seconds)
        return {"sf_drop_aqm": 0}

    def read(self) -> Mapping[str, None]:
        self._clock.take(self._seconds)
        return {}

    def since(self, before: Mapping[str, None]) -> Timing:
        del before
        self._clock.take(self._seconds)
        return Timing({})


@pytest.mark.parametrize("launch_seconds", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("answer_seconds", [0.0, 1.0, 10.0])
def test_a_call_lasts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    launch_seconds: float,
    answer_seconds: float,
) -> None:
    clock = Clock()
    monkeypatch.setattr(run, "time", cast(Any, clock))
    # The server has its port after a minute.
    monkeypatch.setattr(irtt, "wait_until_bound", lambda *_: clock.take(60.0))
    session = FakeSession(clock, tmp_path, launch_seconds)
    asked = Asked(clock, answer_seconds)
    loaded = load(TOPOLOGIES / "scenarios" / "latency-under-load.yaml")
    started = clock.ns
    # No link of this network loses anything, so no switch is asked for what links lost.
    links = ImpairedLinks(loaded.topology)
    reader = LinkReader(links.devices)
    played = cast(Any, Played)
    played(session, PLAN, loaded.scenario, asked, asked, None, None, links, reader).play()
    client = session.launched[-1]
    # The timetable starts when irtt's server is there.
    measured_ns = started + round((launch_seconds + 60.0 + PLAN.seconds) * 1e9)
    assert client.ends_ns > measured_ns
