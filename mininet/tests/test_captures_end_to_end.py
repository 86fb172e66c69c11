# SPDX-License-Identifier: Apache-2.0
"""Captures at hosts and ports of a system under way: without root, and never above their bound."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
from running_system import PROGRAM, Running, running_system
from scapy.layers.inet import ICMP, IP
from scapy.utils import RawPcapReader, rdpcap

from docsis_control.topology.loader import load_topology
from docsis_testbed import captures
from docsis_testbed.paths import TOPOLOGIES

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

TOPOLOGY = load_topology(TOPOLOGIES / "residential.yaml")
HOST, SERVER = TOPOLOGY.hosts[0].name, TOPOLOGY.servers[0].name
PORT = f"{TOPOLOGY.cmts.name}-eth2"
MIB = 1 << 20


def ping(running: Running, *words: str) -> str:
    output, _, _ = running.testbed.node(HOST).pexec(["ping", *words, "-q", running.address(SERVER)])
    return str(output)


def users_of(programs: Sequence[psutil.Process]) -> set[int]:
    return {user for program in programs for user in program.uids()}


def test_a_capture_ends_at_its_bound_and_gives_up_root(tmp_path: Path) -> None:
    with running_system(TOPOLOGY, tmp_path, static_arp=True) as running:
        places = captures.points([HOST, PORT], TOPOLOGY)
        folder = tmp_path / "captures"
        with captures.captured(running.testbed, places, folder, 1) as made:
            programs = [
                program
                for program in psutil.Process().children(recursive=True)
                if program.name() == "tcpdump"
            ]
            assert len(programs) == 2
            assert 0 not in users_of(programs)
            assert " 3 received" in ping(running, "-c", "3", "-i", "0.1")
            assert " 0% packet loss" in ping(running, "-c", "500", "-i", "0.002", "-s", "1400")
        assert not any(program.is_running() for program in programs)
        assert [one.name for one in made] == [HOST, PORT]
        for one in made:
            assert one.ended == "ended at its bound of 1 MiB (--pcap-mib), before the run did"
            assert MIB - 2000 < one.file.stat().st_size <= MIB
            assert len(list(RawPcapReader(str(one.file)))) == one.frames

        with captures.captured(running.testbed, places[:1], folder / "again") as again:
            assert " 3 received" in ping(running, "-c", "3", "-i", "0.1")
        [whole] = again
        assert whole.words == ""
        frames = rdpcap(str(whole.file))
        echoes = [frame for frame in frames if ICMP in frame]
        assert len(echoes) == 6
        assert {frame[IP].src for frame in echoes} == {
            running.address(HOST),
            running.address(SERVER),
        }


def test_the_system_keeps_captures_logs_a_note_and_what_commands_print(tmp_path: Path) -> None:
    output = tmp_path / "mine"
    ended = subprocess.run(
        [
            *(PROGRAM, "run", "--output", output, "--note", "second try\x07"),
            *("--pcap", HOST, "--pcap", PORT),
            *("--command", f"{SERVER}=sh -c 'ip -o addr show scope global; sleep 1000'"),
        ],
        input=f"{HOST} ping -c 2 -i 0.2 {SERVER}\nexit\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    assert "2 packets transmitted, 2 received" in ended.stderr
    assert (output / "note.txt").read_text() == "second try\\x07\n"
    assert (output / "controller.log").is_file()
    log = output / "commands" / f"1-{SERVER}.log"
    assert f"inet {TOPOLOGY.servers[0].ip} " in log.read_text()
    assert f"sleep 1000': was ended with the run; {log}\n" in ended.stdout
    for name in (HOST, PORT):
        file = output / "captures" / f"{name}.pcap"
        count = len([frame for frame in rdpcap(str(file)) if ICMP in frame])
        assert count == 4
        assert f"{file}: {len(list(RawPcapReader(str(file))))} frames\n" in ended.stdout
