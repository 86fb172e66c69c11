# SPDX-License-Identifier: Apache-2.0
"""A DocsisLink in scripts of somebody else, run as they run them: with the system's Python."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from documentation import DOCS, File, steps

from docsis_testbed.paths import ROOT, RUN_STATE
from docsis_testbed.runfiles import STATE

pytestmark = [
    pytest.mark.root,
    pytest.mark.end_to_end,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

PYTHON: Final = "/usr/bin/python3"

MARK: Final = f"DOCSIS_LINK_TEST={os.getpid()}"
"""Is in the environment of whatever a script starts."""

HEAD: Final = """
from docsis_link import DocsisLink, DocsisLinkError
from mininet.net import Mininet

net = Mininet(controller=None)
"""

TWO: Final = (
    HEAD
    + """
home, street, office = (net.addHost(name) for name in ("home", "street", "office"))
net.addLink(home, street, cls=DocsisLink, tier="cable-20", round_trip_time="40 ms")
mac = {"upstream_channels": ["docsis-3.1"]}
net.addLink(home, office, cls=DocsisLink, tier="cable-2018", aqm="drop-tail-250ms", **mac)
net.start()
home.setIP("10.1.0.1/24", intf="home-eth1")
office.setIP("10.1.0.2/24")
for address in (street.IP(), "10.1.0.2"):
    print(home.cmd(f"ping -c 2 -i 0.2 {address}"), flush=True)
print("ready", flush=True)
input()
net.stop()
"""
)

REFUSED: Final = (
    HEAD
    + """
home, street = net.addHost("home"), net.addHost("street", mac="02:00:00:00:00:07")

def refused(one, other, **keys):
    try:
        net.addLink(one, other, cls=DocsisLink, **keys)
    except DocsisLinkError as error:
        print(error)

refused(home, street, tier="cable-1")
link = net.addLink(home, street, cls=DocsisLink)
print(link.intf2.MAC())
far = net.addHost("far")
for keys in ({"aqm": "red"}, {"bw": 10}, {"modems": []}, {"round_trip_time": "soon"}):
    refused(home, far, **keys)
refused(home, net.addHost("root", inNamespace=False))
try:
    home.setMAC("02:00:00:00:00:09")
except DocsisLinkError as error:
    print(error)
net.stop()
"""
)

DEAD: Final = (
    HEAD
    + """
from docsis_link.server import shared

home, street, office = (net.addHost(name) for name in ("home", "street", "office"))
for other in (street, office):
    net.addLink(home, other, cls=DocsisLink)
net.start()
program = shared()._program
program.kill()
program.wait()
net.stop()
print("stopped", [host.shell for host in net.hosts])
"""
)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Whatever a script did, nothing of it is there a moment after its end."""
    yield
    deadline = time.monotonic() + 30
    while left := _left():
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def _left() -> list[str]:
    names = [name for _, name in socket.if_nameindex() if re.match(r"d4[mc]\d|home-|street-", name)]
    files = [str(path) for path in [RUN_STATE / STATE] if path.exists()]
    return [*names, *files, *_processes()]


def _processes() -> Iterator[str]:
    """Yields the processes that a script started, whoever has become their parent."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if MARK.encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield f"{folder.name} {(folder / 'cmdline').read_bytes()!r}"


def start(folder: Path, script: str) -> subprocess.Popen[str]:
    file = folder / "script.py"
    file.write_text(script)
    return subprocess.Popen(
        [PYTHON, file],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "mininet"), **dict([MARK.split("=")])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(script: subprocess.Popen[str], line: str = "") -> tuple[str, str]:
    """Returns the rest of a script's output, after it was given a line."""
    output, errors = script.communicate(line, timeout=180)
    assert script.returncode == 0, errors
    return output, errors


def test_the_guides_script_uploads_at_the_tiers_rate(tmp_path: Path) -> None:
    [file] = [step for step in steps(DOCS / "how-to" / "mininet-link.md") if isinstance(step, File)]
    output, _ = said(start(tmp_path, file.text))
    assert "3 packets transmitted, 3 received" in output
    [rate] = re.findall(r"([\d.]+) Mbits/sec\s+receiver", output)
    # 20 Mbit/s of frames, headers included; without the link it would be gigabits.
    assert 12 < float(rate) < 20


def test_two_links_have_services_of_their_own(tmp_path: Path) -> None:
    output, _ = said(start(tmp_path, TWO), "\n")
    assert output.count("2 packets transmitted, 2 received") == 2
    near, distant = sorted(float(least) for least in re.findall(r"mdev = ([\d.]+)/", output))
    # A request waits for its grant, so no ping is as fast as on a link without a MAC.
    assert 1 < near < 40 <= distant


def test_a_killed_script_leaves_nothing(tmp_path: Path) -> None:
    script = start(tmp_path, TWO)
    assert script.stdout is not None
    while script.stdout.readline() not in ("ready\n", ""):
        pass
    assert any(name.startswith("d4m2") for name in _left())
    script.send_signal(signal.SIGKILL)
    script.communicate(timeout=30)


def test_a_network_stops_though_the_links_program_has_died(tmp_path: Path) -> None:
    output, errors = said(start(tmp_path, DEAD))
    assert output == "stopped [None, None, None]\n"
    assert "docsis_link: the program of the DOCSIS links has ended" in errors


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path: Path) -> None:
    output, _ = said(start(tmp_path, REFUSED))
    tier, address, manager, rate, modems, delay, root, moved = output.splitlines()
    assert tier.startswith(
        'DocsisLink home-eth0 - street-eth0: tier: there is no service tier "cable-1"'
    )
    place = "DocsisLink home-eth1 - far-eth0: "
    assert manager.startswith('aqm: there is no queue manager "red"; there are ')
    assert rate.startswith(f"{place}bw: is no argument of a DocsisLink; the service tier sets")
    assert modems.startswith(f"{place}modems: is no argument of a DocsisLink; there are tier, aqm")
    assert delay.startswith(f"{place}round_trip_time: ")
    assert root.startswith("root: a DocsisLink joins two hosts with network namespaces")
    assert address == "02:00:00:00:00:07"
    assert moved.startswith("home-eth0: the modem and the CMTS know the address ")
