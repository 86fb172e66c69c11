# SPDX-License-Identifier: Apache-2.0
"""The load of all service flows in Mininet, with hosts and a switch that are not there."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.state.counters import Count
from docsis_control.topology.loader import load_topology
from docsis_experiments.measurement.service_flow_shares import FORWARDED
from docsis_experiments.stages.mininet import service_flow_load
from docsis_experiments.stages.mininet.service_flow_load import ServiceFlowTraffic
from docsis_experiments.stages.mininet.traffic.receiving import LOST
from docsis_experiments.traffic.service_flow_load import LoadPlan, plan_load
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

SECOND = 10**9


class Reader:
    """Counters of a switch: so many bytes of each service flow at the first look, and the next."""

    def __init__(self, *looks: int) -> None:
        self._looks = iter(looks)

    def counts(self, indexes: Sequence[int], names: Sequence[str]) -> dict[int, dict[str, Count]]:
        assert names == [FORWARDED]
        octets = next(self._looks)
        return {index: {FORWARDED: Count(1, octets * (1 + index))} for index in indexes}


class Testbed:
    """Hosts whose processes have numbers."""

    def node(self, name: str) -> Any:
        return SimpleNamespace(pid=len(name))


def plan(*, tcp: bool = False) -> LoadPlan:
    topology = load_topology(TOPOLOGIES / "two-tiers.yaml")
    return plan_load(deploy(topology, Preset.DROP_TAIL), "upstream", tcp=tcp)


def traffic(folder: Path, load: LoadPlan, *looks: int) -> ServiceFlowTraffic:
    made: Any = ServiceFlowTraffic
    loaded: ServiceFlowTraffic = made(Testbed(), folder, load, Reader(*looks))
    return loaded


def test_shares_of_several_upstream_channels_are_refused() -> None:
    deployment = deploy(load_topology(TOPOLOGIES / "telephony.yaml"), Preset.DROP_TAIL)
    with pytest.raises(TestbedError, match="telephony has 2 upstream channels, and shares are"):
        plan_load(deployment, "upstream")
    # Downstream they share one.
    assert len(plan_load(deployment, "downstream").loads) == 16


class Program:
    """One that takes signals."""

    def __init__(self) -> None:
        self.signals: list[int] = []

    def send_signal(self, number: int) -> None:
        self.signals.append(number)


def test_programs_send_what_is_planned_from_when_they_are_told(tmp_path: Path) -> None:
    load = plan(tcp=True)
    started: list[tuple[str, list[str]]] = []

    def start(what: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        started.append((what, list(command)))
        made: Any = Program()
        program: subprocess.Popen[bytes] = made
        return program

    loaded = traffic(tmp_path, load)
    programs: Any = loaded.start(start)
    receiver, sender = programs
    # The receiver listens before anybody sends.
    assert [what for what, _ in started] == ["load-receiver", "load-sender"]
    told = Path(started[1][1][-1])
    assert not told.exists()
    loaded.tell(123 * SECOND)
    assert (receiver.signals, sender.signals) == ([], [signal.SIGUSR1])
    assert int(told.read_text()) == 123 * SECOND
    streams = json.loads((tmp_path / "streams.json").read_text())
    assert [stream["name"] for stream in streams] == [one.name for one in load.loads]
    rates = {stream["name"]: (stream["transport"], stream["rate"]) for stream in streams}
    # TCP takes what it gets; UDP offers 1.25 times the share.
    assert rates["gold upstream 1"] == ("tcp", 0)
    assert rates["gold upstream 2"] == ("udp", pytest.approx(1.875e6))


def test_both_counts_are_of_the_measured_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each reading of the counters takes 20 ms: what counts is its middle.
    clock = iter([10 * SECOND, 10 * SECOND + 20_000_000, 14 * SECOND, 14 * SECOND + 20_000_000])
    monkeypatch.setattr(service_flow_load, "time", SimpleNamespace(time_ns=lambda: next(clock)))
    load = plan()
    loaded = traffic(tmp_path, load, 1000, 501_000)
    loaded.begin()
    loaded.end()
    # A byte each microsecond of the first stream, two of the second ..., and one datagram was lost
    # between the readings, others before and behind them.
    names = [one.name for one in load.loads]
    lines = [",".join(["time_ns", *names, LOST])]
    for at, lost in ((9, 5), (11, 5), (13, 6), (16, 9)):
        counts = [at * 1_000_000 * (place + 1) for place in range(len(names))]
        lines.append(",".join(map(str, [at * SECOND, *counts, lost])))
    (tmp_path / "streams.csv").write_text("\n".join([*lines, "17000000000,1"]))
    shares = loaded.shares()
    assert [flow.received for flow in shares.flows] == pytest.approx(
        [8e6 * (place + 1) for place in range(len(names))]
    )
    # 500,000 bytes, and as many more as the index says, in four seconds.
    assert [flow.forwarded for flow in shares.flows] == pytest.approx(
        [1e6 * (1 + flow.load.flow.index) for flow in shares.flows]
    )
    # From the last sample before the time to the first one behind it.
    assert loaded.lost() == 4
