# SPDX-License-Identifier: Apache-2.0
"""Switches are told of the captures and traces that they are to write."""

from __future__ import annotations

from pathlib import Path

from docsis_control.topology.loader import load_topology
from docsis_testbed.paths import TOPOLOGIES
from docsis_testbed.taps import NO_TAPS, Taps

CAPTURES = {"us1": Path("/c/us1.pcap")}
TRACES = {"cm1": Path("/t/cm1.txt"), "cmts1": Path("/t/cmts1.txt")}


def test_one_program_writes_all_of_a_plant() -> None:
    topology = load_topology(TOPOLOGIES / "telephony.yaml")
    modem, cmts = topology.cable_modem, topology.cmts
    taps = Taps(CAPTURES, {modem.name: Path("/t/cm.txt"), cmts.name: Path("/t/cmts.txt")})
    assert taps.arguments(topology, modem) == (
        *("--device-trace", f"{modem.device_id}=/t/cm.txt"),
        *("--device-trace", f"{cmts.device_id}=/t/cmts.txt"),
        *("--channel-pcap", "us1=/c/us1.pcap"),
    )
    assert taps.arguments(topology, cmts) == ()


def test_switches_by_themselves_write_their_own_traces() -> None:
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    taps = Taps(traces=TRACES)
    for device in (topology.cable_modem, topology.cmts):
        trace = f"{device.device_id}=/t/{device.name}.txt"
        assert taps.arguments(topology, device) == ("--device-trace", trace)


def test_what_nobody_asks_for_is_not_written() -> None:
    assert Taps(CAPTURES)
    assert Taps(traces=TRACES)
    assert not NO_TAPS
    topology = load_topology(TOPOLOGIES / "telephony.yaml")
    assert NO_TAPS.arguments(topology, topology.cable_modem) == ()
