# SPDX-License-Identifier: Apache-2.0
"""Which places are captured, and what becomes of a capture that ended in the middle of a frame."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest
from scapy.utils import RawPcapReader

from docsis_control.topology.loader import load_topology
from docsis_testbed import captures
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

HOME = load_topology(TOPOLOGIES / "residential.yaml")
CHANNELS = load_topology(TOPOLOGIES / "telephony.yaml")
MANY = load_topology(TOPOLOGIES / "neighbourhood.yaml")
NANOSECONDS = struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)


def record(length: int) -> bytes:
    return struct.pack("=IIII", 1, 2, length, length) + bytes(length)


def named(*names: str) -> list[str]:
    return [place.name for place in captures.points(names, HOME)]


def test_a_switch_is_all_of_its_interfaces_and_each_place_is_captured_once() -> None:
    hosts = [node.name for node in HOME.nodes]
    modem = HOME.cable_modem.name
    assert named(hosts[0]) == [hosts[0]]
    assert named(modem) == [f"{modem}-eth{port}" for port in (1, 2, 3)]
    assert named(f"{modem}-eth2", modem) == [f"{modem}-eth{port}" for port in (2, 1, 3)]
    ports = [name for name in named("all") if name not in hosts]
    assert named("all", hosts[0]) == hosts + ports
    assert len(ports) == 2 + len(HOME.nodes)
    [place] = captures.points([hosts[0]], HOME)
    assert (place.node, place.interface) == (hosts[0], f"{hosts[0]}-eth0")


def test_an_rf_link_in_memory_has_no_interfaces_but_channels() -> None:
    modem = CHANNELS.cable_modem.name
    assert f"{modem}-eth1" not in captures.names_of(CHANNELS)
    assert captures.channels_of(["us2", "cpe1"], CHANNELS) == ["us2"]
    assert captures.channels_of(["all"], CHANNELS) == ["us1", "us2"]
    captures.check_names(["us1", modem, "all"], CHANNELS)


@pytest.mark.parametrize("name", ["nobody", "cpe1-eth0", "", "../cpe1", "us1"])
def test_a_name_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(TestbedError, match=f"^--pcap {name}: topology residential has nothing of"):
        captures.check_names([name], HOME)


def test_there_are_not_too_many() -> None:
    with pytest.raises(TestbedError, match=r"places would be captured.*there may be 64; name few"):
        captures.points(["all"], MANY)


def test_a_disk_that_would_be_full_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(free=(256 + 3 * 64) << 20)
    monkeypatch.setattr(shutil, "which", lambda tool: f"/bin/{tool}")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    captures.check(3, 64, tmp_path / "not" / "there")
    with pytest.raises(TestbedError, match=r"4 captures of up to 64 MiB might fill .*448 MiB l"):
        captures.check(4, 64, tmp_path / "not" / "there")
    captures.check(4, 48, tmp_path)


def test_a_folder_that_cannot_be_looked_at_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: f"/bin/{tool}")
    with pytest.raises(TestbedError, match=r"x: cannot be looked at \(File name too long\); give"):
        captures.check(1, 1, tmp_path / (300 * "x"))


def test_a_program_that_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    captures.check(0, 64, tmp_path)
    with pytest.raises(TestbedError, match="^--pcap: tcpdump is not on PATH; install Debian's pac"):
        captures.check(1, 64, tmp_path)


@pytest.mark.parametrize("cut", [1, 15, 16, 17, 400])
def test_a_frame_that_is_not_whole_is_cut_off(cut: int, tmp_path: Path) -> None:
    file = tmp_path / "cpe1.pcap"
    whole = NANOSECONDS + record(64) + record(1514)
    file.write_bytes(whole + record(1000)[:cut])
    assert captures.whole_frames(file) == 2
    assert file.read_bytes() == whole
    assert [len(frame) for frame, _ in RawPcapReader(str(file))] == [64, 1514]
    assert captures.whole_frames(file) == 2


@pytest.mark.parametrize("content", [b"", NANOSECONDS[:10], NANOSECONDS])
def test_a_capture_without_frames_stays_as_it_is(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "cpe1.pcap"
    file.write_bytes(content)
    assert captures.whole_frames(file) == 0
    assert file.read_bytes() == content


def test_the_last_counts_are_read() -> None:
    first = "listening on\n1 packet captured\n9 packets received by filter\n0 packets dropped by "
    second = (
        "kernel\n8 packets captured\n9 packets received by filter\n1 packet dropped by kernel\n"
    )
    assert captures.progress(first) is None
    assert captures.progress(first + "kernel\n") == captures.Counts(1, 9, 0)
    assert captures.progress(first + second) == captures.Counts(8, 8, 1)


def test_counts_on_the_way_are_read_as_tcpdump_writes_them() -> None:
    said = (
        "tcpdump: listening on cpe1-eth0, link-type EN10MB (Ethernet), snapshot length 262144\n"
        "tcpdump: 25046 packets captured, 25056 packets received by filter, "
        "0 packets dropped by kernel\n"
    )
    assert captures.progress(said) == captures.Counts(25_046, 25_056, 0)
    assert captures.progress(said[:-9]) is None


def test_a_capture_says_what_is_not_in_it() -> None:
    whole = captures.Capture("cpe1", Path("cpe1.pcap"), 7, 0, "")
    assert whole.words == ""
    lacking = captures.Capture("cpe1", Path("cpe1.pcap"), 7, 3, "ended at its bound of 1 MiB")
    assert lacking.words == (
        "ended at its bound of 1 MiB; 3 frames are missing, for which tcpdump was too slow"
    )
