# SPDX-License-Identifier: Apache-2.0
"""Upstream channels of topologies in virtual time: whole systems, from their files to packets."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from channel_homes import residential
from channel_states import told
from rich.console import Console
from scenario_files import EVERY_KIND, NETWORK, write

from docsis_control.mac.planning import upstream_channels
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.loader import load
from docsis_experiments.repetition import once
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_experiments.stages.virtual.play import Play, column, playing
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_experiments.stages.virtual.upstream import add_channels, congest
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

OFDMA_LEAST_US, OFDMA_GREATEST_US = 1930, 8275
"""mac.md, vector B: a lone frame under docsis-3.1 with MAPs of 15 frames."""
LINKS_US = 2 * (218 + 20) * 8 / 1000
"""A probe on two host links of 1 Gbit/s."""


@contextmanager
def played(topology: Topology, folder: Path, manager: Preset, seed: int = 1) -> Iterator[Play]:
    with playing(
        topology, manager, seed=seed, machine=EXACT, folder=folder, progress=lambda *_: None
    ) as play:
        yield play


def delays_ms(play: Play, probes: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    sent, reached, _ = (column(values) for values in play.world.probe_records(probes))
    return (reached - sent)[reached > 0] / 1e6


def test_queue_managers_do_their_work_in_front_of_a_mac(tmp_path: Path) -> None:
    topology = residential(tmp_path, "docsis-3.1")

    def run(manager: Preset) -> tuple[float, float, str]:
        with played(topology, tmp_path, manager) as play:
            world = play.world
            # No multiple of a MAP.
            idle = world.probes("cpe1", "server1", count=140, interval_ns=20_137_000)
            play.run_until("idle", 3)
            uploads = [world.tcp_transfer("cpe2", "server1", 5201 + n) for n in range(4)]
            play.run_until("ramp", 6)
            loaded = world.probes("cpe1", "server1", count=900, source_port=4000)
            play.run_until("loaded", 25)
            alone = delays_ms(play, idle)[:140] * 1000 - LINKS_US
            assert alone.min() > OFDMA_LEAST_US - 1
            assert alone.max() < OFDMA_GREATEST_US + 1
            counters = told(world).counters
            assert counters.maps_lost == 0
            assert counters.frames > 10_000
            goodput = sum(world.received(number) for number in uploads) * 8 / 22 / 1e6
            return float(np.median(delays_ms(play, loaded))), goodput, world.digest()

    drop_tail, pie = run(Preset.DROP_TAIL_250MS), run(Preset.DOCSIS_PIE)
    # 250 ms of buffer at the rate, and 10 ms of latency target with a cycle of 2 to 4 MAPs.
    assert 150 < drop_tail[0] < 260
    assert OFDMA_LEAST_US / 1000 < pie[0] < 30
    assert min(drop_tail[1], pie[1]) > 17
    assert run(Preset.DOCSIS_PIE) == pie


def test_channels_with_telephones_and_an_upload(tmp_path: Path) -> None:
    topology = load_topology(TOPOLOGIES / "telephony.yaml")
    hosts = [host.name for host in topology.hosts]
    with played(topology, tmp_path, Preset.DOCSIS_PIE) as play:
        world = play.world
        upload = world.tcp_transfer(hosts[0], "server1", 5201)
        probes = [world.probes(host, "server1", count=100) for host in hosts[1:]]
        play.run_until("all", 5)
        assert world.received(upload) > 1_000_000
        for number in probes:
            assert len(delays_ms(play, number)) == 100
        channels = topology.upstream_channels or ()
        used = [told(world, channel.name).counters for channel in channels]
        assert len(used) == 2
        # Homes are spread over both, and unsolicited grants come whether anybody calls or not.
        assert all(c.frames > 0 and c.minislots_used < c.minislots_granted for c in used)


def test_without_a_channel_nothing_is_different(tmp_path: Path) -> None:
    plain = load_topology(TOPOLOGIES / "residential.yaml")

    def digest(topology: Topology) -> str:
        with played(topology, tmp_path, Preset.DOCSIS_PIE) as play:
            play.world.tcp_transfer("cpe2", "server1", 5201)
            play.run_until("all", 2)
            return play.world.digest()

    assert digest(residential(tmp_path, "none")) == digest(plain)


def test_rf_congestion_is_played_on_upstream_channels(tmp_path: Path) -> None:
    (tmp_path / "tiers").symlink_to(NETWORK.parent / "tiers")
    network = tmp_path / "home.yaml"
    network.write_text(f"{NETWORK.read_text()}\nupstream_channel: cablelabs-2014\n")
    file = write(tmp_path, (str(NETWORK), str(network)), text=EVERY_KIND)
    with pytest.raises(TestbedError, match="1 of 2 measured values"):
        once.run(
            load(file),
            stage=VirtualStage(3),
            console=Console(file=io.StringIO()),
            results=tmp_path / "results",
        )
    (made,) = (tmp_path / "results").iterdir()
    rows = (made / "runs" / "tail" / "channel.csv").read_text().splitlines()[1:]
    assert [tuple(map(float, row.split(","))) for row in rows] == [(0, 10), (3, 5)]
    figures = json.loads((made / "summary.json").read_text())
    # 10 Mbit/s of minislots while the first rate lasted, which MAC headers and payload share.
    assert figures["expectations"][0]["holds"], figures["expectations"][0]
    # Then half of it, so 7.5 on average; less what is no payload, which other groups send, too.
    goodput = figures["runs"][0]["groups"]["ftp"]["goodput_mbps"]
    assert 5.5 < goodput < 7.2, goodput


def test_a_channel_that_leaves_less_than_it_promised_is_refused(tmp_path: Path) -> None:
    topology = load_topology(TOPOLOGIES / "telephony.yaml")
    with played(topology, tmp_path, Preset.DROP_TAIL) as play:
        congest(play.world, ["us1", "us2"], 10_000_000, 20)
        with pytest.raises(
            TestbedError,
            match="^upstream channel us2: a capacity of 100000 bit/s, varied by 20%, is less than",
        ):
            congest(play.world, ["us2"], 100_000, 20)


def test_what_the_world_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    topology = load_topology(TOPOLOGIES / "telephony.yaml")
    channels = upstream_channels(deploy(topology, Preset.DROP_TAIL))
    with (
        played(topology, tmp_path, Preset.DROP_TAIL) as play,
        pytest.raises(TestbedError, match='^upstream channels: port 1 of device "cm1" is granted'),
    ):
        add_channels(play.world, channels)


def test_maps_and_packets_take_their_part_of_the_downstream(tmp_path: Path) -> None:
    text = (TOPOLOGIES / "residential.yaml").read_text()
    (tmp_path / "tiers").symlink_to(TOPOLOGIES / "tiers")

    def frames_a_second(keys: str) -> float:
        path = tmp_path / "small.yaml"
        channel = f"channel: {{downstream: 30.34 Mbps{keys}}}"
        path.write_text(f"{text}\nupstream_channel: docsis-1.1-004\n{channel}\n")
        with played(load_topology(path), tmp_path, Preset.DROP_TAIL) as play:
            world = play.world
            play.run_until("idle", 1)
            stream = world.udp_stream(
                "server1", "cpe1", 9, frame_length=1518, interval_ns=200_000, one_in=1
            )
            play.run_until("full", 5)
            _, received = (column(values) for values in world.packet_records(stream))
            # From a second on the buffer is full: the line never stands still.
            began = play.at(3)
            return float(np.count_nonzero((received >= began) & (received < began + 2 * 10**9)) / 2)

    own = ", downstream_framing: {own_packets: true}"
    for keys, line_bytes, map_bytes in (
        ("", 1518, 0),
        (", downstream_framing: {}", 1558, 0),
        (own, 9 * 188, 0),
        # 1,000 bytes, the MAC header and its elements: six packets, every 2 ms.
        (f"{own}, map_traffic: {{message: 1000 B}}", 9 * 188, 6 * 188),
    ):
        expected = (30_340_000 / 8 - 500 * map_bytes) / line_bytes
        # A frame and a MAP at each end of two seconds, and what the port saves up in a millisecond.
        assert abs(frames_a_second(keys) - expected) < 5, keys
