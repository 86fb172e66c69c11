# SPDX-License-Identifier: Apache-2.0
"""A system's programs are killed, one by one and all together; nothing is left of it."""

from __future__ import annotations

import json
import os
import pty
import re
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from docsis_control.topology.loader import load_topology
from docsis_testbed import runstate
from docsis_testbed.paths import RUN_STATE, TOPOLOGIES
from docsis_testbed.runfiles import LOCK, load
from docsis_testbed.testbed import root_interfaces

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

PROGRAM = Path(sys.executable).with_name("docsis-p4")
TOPOLOGY = load_topology(TOPOLOGIES / "residential.yaml")
PROMPT = "mininet> "
SECONDS = 60.0
"""Far more than anything here takes."""


class InTerminal:
    """`docsis-p4 run` in a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            ["setsid", "--ctty", str(PROGRAM), "run", *arguments],
            stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm"},
        )  # fmt: skip
        os.close(slave)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._master, selectors.EVENT_READ)
        self._text = ""

    def write(self, text: str) -> None:
        """Type it."""
        os.write(self._master, text.encode())

    def read_until(self, pattern: str) -> str:
        """Reads the screen up to and with the pattern; it is not looked at again."""
        deadline = time.monotonic() + SECONDS
        while (found := re.search(pattern, self._text)) is None:
            assert time.monotonic() < deadline, self._text
            if self._selector.select(0.1):
                try:
                    self._text += os.read(self._master, 1 << 16).decode(errors="replace")
                except OSError:
                    pytest.fail(f"the program ended: {self._text}")
        text, self._text = self._text[: found.end()], self._text[found.end() :]
        return text

    def close(self) -> None:
        """Hang up."""
        self._selector.close()
        os.close(self._master)


@contextmanager
def in_terminal(*arguments: str) -> Iterator[InTerminal]:
    """The system, up to its prompt, and nothing of it afterwards."""
    terminal = InTerminal(*arguments)
    try:
        terminal.read_until(PROMPT)
        yield terminal
    finally:
        terminal.close()
        if terminal.process.poll() is None:
            terminal.process.terminate()
        terminal.process.wait(timeout=SECONDS)


def status() -> dict[str, Any]:
    """Reads the output of `docsis-p4 show`."""
    output = subprocess.run(
        [str(PROGRAM), "show", "--json"], capture_output=True, check=True, timeout=SECONDS
    ).stdout
    found: dict[str, Any] = json.loads(output)
    return found


def commands(run: int) -> dict[int, list[str]]:
    """The processes that a run has started, by process id; what has just ended is left out."""
    found = {}
    for child in psutil.Process(run).children():
        with suppress(psutil.NoSuchProcess):
            found[child.pid] = child.cmdline()
    return found


def switch(run: int, device_id: int) -> int:
    """The process of a run's switch."""
    found = [
        pid
        for pid, words in commands(run).items()
        if "--device-id" in words and words[words.index("--device-id") + 1] == str(device_id)
    ]
    assert len(found) == 1
    return found[0]


def wait_until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def left() -> list[str]:
    """Lists the remains of a run."""
    present = {name for _, name in socket.if_nameindex()}
    found = [name for name in root_interfaces(TOPOLOGY) if name in present]
    if RUN_STATE.is_dir():
        found += [str(path) for path in RUN_STATE.iterdir() if path.name != LOCK]
    return found


def test_who_dies_is_told_and_started_again(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    cable_modem = TOPOLOGY.cable_modem
    with in_terminal("--logs", str(folder)) as terminal:
        run = terminal.process.pid
        controller = status()["pid"]
        # Somebody is typing.
        terminal.write("nod")
        terminal.read_until("nod")
        os.kill(controller, signal.SIGKILL)
        terminal.read_until(rf"the controller was killed by SIGKILL; its log is {folder}")
        terminal.read_until(r"It is started again now\.\r\n" + f"{PROMPT}nod")
        terminal.read_until(r"the controller runs again\.\r\n" + f"{PROMPT}nod")
        terminal.write("es\n")
        terminal.read_until(r"available nodes are: \r\n")
        terminal.read_until(PROMPT)
        assert status()["pid"] != controller

        os.kill(switch(run, cable_modem.device_id), signal.SIGKILL)
        terminal.read_until(f"switch {cable_modem.name} was killed by SIGKILL")
        terminal.read_until(f"switch {cable_modem.name} runs again")
        # The controller finds it, and provisions it again.
        wait_until(
            lambda: all(d["connected"] and d["reconnects"] for d in status()["devices"][:1]),
            "the controller does not connect again",
        )
        terminal.write("cpe1 ping -c 2 -i 0.2 -W 5 server1\n")
        terminal.read_until("2 packets transmitted, 2 received")
        terminal.read_until(PROMPT)
        terminal.write("exit\n")
        assert terminal.process.wait(timeout=SECONDS) == 0
    assert left() == []
    # The log has both lives.
    log = (folder / "controller.log").read_text()
    assert len(re.findall("^ready", log, re.MULTILINE)) == 2
    assert (folder / f"{cable_modem.name}.log").is_file()


def test_who_dies_is_only_told_where_that_is_wanted() -> None:
    with in_terminal("--no-restart") as terminal:
        os.kill(switch(terminal.process.pid, TOPOLOGY.cmts.device_id), signal.SIGKILL)
        terminal.read_until(f"switch {TOPOLOGY.cmts.name} was killed by SIGKILL")
        terminal.read_until("It is not started again")
        # As Ctrl-D does.
        terminal.write("\x04")
        assert terminal.process.wait(timeout=SECONDS) == 0
    assert left() == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_a_system_that_is_killed_leaves_nothing(number: signal.Signals) -> None:
    with in_terminal() as terminal:
        terminal.write("server1 sleep 600 &\n")
        terminal.read_until(PROMPT)
        processes = psutil.Process(terminal.process.pid).children(recursive=True)
        assert len(processes) > 10
        state = load(RUN_STATE)
        assert state is not None
        assert state.scratch is not None
        logs = Path(state.scratch.path)
        assert (logs / "controller.log").is_file()
        terminal.process.send_signal(number)
        terminal.process.wait(timeout=SECONDS)
        wait_until(lambda: not left(), "interfaces and files are left")
        wait_until(lambda: not logs.exists(), f"{logs} is left")
        wait_until(
            lambda: not any(p.is_running() and p.status() != "zombie" for p in processes),
            "processes are left",
        )
    assert runstate.stop() == []


def test_a_switch_that_dies_fails_the_demo(tmp_path: Path) -> None:
    with (tmp_path / "out.txt").open("w") as output:
        demo = subprocess.Popen(
            [str(PROGRAM), "demo", "--aqm", "docsis-pie"],
            cwd=tmp_path, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            wait_until(
                lambda: any("irtt" in words for words in commands(demo.pid).values()),
                "the probes do not start",
            )
            os.kill(switch(demo.pid, TOPOLOGY.cmts.device_id), signal.SIGKILL)
            assert demo.wait(timeout=SECONDS) == 1
        finally:
            demo.terminate()
            demo.wait(timeout=SECONDS)
    said = (tmp_path / "out.txt").read_text()
    assert f"docsis-p4: switch {TOPOLOGY.cmts.name} was killed by SIGKILL while " in said
    assert "Traceback" not in said
    assert left() == []
