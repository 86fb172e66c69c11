# SPDX-License-Identifier: Apache-2.0
"""What is still there of a run in Mininet when it has ended."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Final

from docsis_control.topology.models import Topology
from docsis_testbed.paths import RUN_STATE
from docsis_testbed.runfiles import LOCK
from docsis_testbed.testbed import root_interfaces

THREADS: Final = "chaos "
"""What the names of a run's own threads begin with."""


def namespace_of(pid: int) -> str:
    """The PID namespace of a process; empty where that has ended."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def left(topology: Topology, namespaces: Set[str]) -> list[str]:
    """What is there, in words.

    Args:
        topology: What was built.
        namespaces: The PID namespaces of the run's processes; ours is none of them.
    """
    present = {name for _, name in socket.if_nameindex()}
    found = [f"interface {name}" for name in root_interfaces(topology) if name in present]
    if RUN_STATE.is_dir():
        found += [str(path) for path in RUN_STATE.rglob("*") if path.is_file() or path.is_socket()]
        found = [name for name in found if name != str(RUN_STATE / LOCK)]
    found += [f"process {pid}" for pid in _processes(namespaces - {"", namespace_of(os.getpid())})]
    found += [
        f"thread {thread.name}"
        for thread in threading.enumerate()
        if thread.name.startswith(THREADS)
    ]
    return found


def _processes(namespaces: Set[str]) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and namespace_of(int(entry.name)) in namespaces:
            yield int(entry.name)
