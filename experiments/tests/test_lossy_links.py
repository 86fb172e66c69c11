# SPDX-License-Identifier: Apache-2.0
"""Loss and jitter on the links of hosts and servers, in virtual time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scenario_files

from docsis_experiments.experiment.loader import load
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.measurement.record import Floats, RunRecord
from docsis_experiments.stages.virtual.stage import VirtualStage

TEXT = """\
name: small
title: A small one
topology: {network}
direction: upstream
ramp_up: 1 s
measured: 40 s
every_packet: true
runs:
  - {{label: tail, manager: drop-tail, buffer: 100 ms}}
traffic:
  - {{name: steady, kind: cbr, rate: 500 kbps, frame: 500 B}}
"""
PACKETS = 5_000
"""In 40 s at 125 a second."""


def played(folder: Path, host: str = "", server: str = "", seed: int = 1) -> RunRecord:
    """Returns the record of a run without queues, but for what the links do."""
    folder.mkdir()
    network = folder / "home.yaml"
    home = scenario_files.NETWORK.read_text()
    home = home.replace('02:00:00:00:01:01"', f'02:00:00:00:01:01"{host}')
    network.write_text(home.replace("round_trip_time: 20 ms", f"round_trip_time: 20 ms{server}"))
    (folder / "tiers").symlink_to(scenario_files.NETWORK.parent / "tiers")
    loaded = load(scenario_files.write(folder, text=TEXT.format(network=network)))
    scenario, topology = loaded.scenario, loaded.topology
    [run] = scenario.all_runs
    stage = VirtualStage(seed)
    stage.admit(topology, [run.managed.management], scenario)
    return stage.measure(
        scenario, run, plan_for(scenario, topology), topology, network,
        number=seed, folder=folder, progress=lambda phase, passed: None,
    )  # fmt: skip


def delays(record: RunRecord) -> Floats:
    packets = record.packets["steady"]
    measured = (packets.sent_s >= 0) & (packets.sent_s < 40)
    found: Floats = packets.delay_ms[measured]
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """A run over links that do nothing to frames."""
    return played(tmp_path_factory.mktemp("plain") / "run")


def test_without_a_link_nothing_is_lost(plain: RunRecord, tmp_path: Path) -> None:
    assert delays(plain).size == pytest.approx(PACKETS, abs=2)
    assert not np.isnan(delays(plain)).any()
    assert plain.links == ()
    nothing = played(tmp_path / "nothing", ", link: {loss: 0 %, jitter: 0 ms}")
    assert nothing.digest == plain.digest


@pytest.mark.parametrize("end", ["host", "server"])
def test_a_link_loses_its_share(end: str, plain: RunRecord, tmp_path: Path) -> None:
    loss = ", link: {loss: 2 %}"
    links = (loss, "") if end == "host" else ("", loss)
    record = played(tmp_path / "one", *links)
    lost = int(np.isnan(delays(record)).sum())
    # Of 5,000 draws at 2% the deviation is 9.9; a count 5 of them away has a probability of 1e-6.
    assert lost == pytest.approx(100, abs=50)
    kept = delays(record)[~np.isnan(delays(record))]
    assert np.median(kept) == pytest.approx(np.median(delays(plain)), abs=0.05)
    assert record.faults == ()
    [link] = record.links
    assert link.host == ("cpe1" if end == "host" else "server1")
    ways = (link.ways.from_host, link.ways.to_host)
    used, idle = ways if end == "host" else reversed(ways)
    assert used.frames == pytest.approx(PACKETS, abs=2)
    # A frame may be lost at the very end of the measured time, and be sent before it.
    assert used.lost == pytest.approx(lost, abs=1)
    assert (idle.frames, idle.lost) == (0, 0)
    again, other = played(tmp_path / "again", *links), played(tmp_path / "other", *links, seed=2)
    assert record.digest == again.digest
    assert not np.array_equal(np.isnan(delays(record)), np.isnan(delays(other)))


def test_jitter_is_added_to_each_frame(plain: RunRecord, tmp_path: Path) -> None:
    # 8 ms between frames, so that none waits for the one before it.
    added = delays(played(tmp_path / "one", ", link: {jitter: 6 ms}")) - np.median(delays(plain))
    assert not np.isnan(added).any()
    assert added.min() > -0.2
    assert added.max() < 6.2
    # Of a uniform draw from 0 to 6 ms the deviation is 1.73 ms; of the mean of 5,000, 0.025 ms.
    assert added.mean() == pytest.approx(3, abs=0.2)
    assert np.quantile(added, 0.9) == pytest.approx(5.4, abs=0.3)
