# SPDX-License-Identifier: Apache-2.0
"""A network namespace without a name, with the veth pairs between PTF and a switch.

The namespace belongs to the processes in it and disappears with the last of
them, whatever ends them: there is nothing that could be left behind, and no
stray frame of the host that could get in.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

MTU: Final = 9216
_CLONE_NEWNET: Final = 0x40000000
_PR_SET_PDEATHSIG: Final = 1
_libc = ctypes.CDLL(None, use_errno=True)


class SandboxError(Exception):
    """The namespace could not be set up; the message says what to do."""


def switch_side(port: int) -> str:
    """The interface that the switch has as this port."""
    return f"dpt-s{port}"


def ptf_side(port: int) -> str:
    """The interface that PTF has for this port."""
    return f"dpt-p{port}"


def dies_with_parent(end: signal.Signals) -> Callable[[], None]:
    """For Popen's preexec_fn: the child gets this signal when its parent ends."""

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(end))

    return prepare


def enter() -> None:
    """Moves this process to a new network namespace. SandboxError: not root."""
    if _libc.unshare(_CLONE_NEWNET):
        reason = os.strerror(ctypes.get_errno())
        raise SandboxError(f"a network namespace needs root ({reason}); run as root")


def create(ports: Iterable[int]) -> None:
    """Makes the pairs for these ports, up, quiet and without offloads.

    SandboxError: a tool is missing or refuses.
    """
    for tool in ("ip", "ethtool"):
        if shutil.which(tool) is None:
            raise SandboxError(f"{tool} is not on PATH; install iproute2 and ethtool")
    # Before the interfaces exist: no neighbour discovery, not even once.
    for scope in ("all", "default"):
        setting = Path("/proc/sys/net/ipv6/conf", scope, "disable_ipv6")
        if setting.exists():
            setting.write_text("1")
    _call("ip", "link", "set", "lo", "up")
    for port in ports:
        ends = (switch_side(port), ptf_side(port))
        size = ("mtu", str(MTU))
        _call("ip", "link", "add", ends[0], *size, "type", "veth", "peer", "name", ends[1], *size)
        for end in ends:
            _call("ethtool", "-K", end, "rx", "off", "tx", "off", "sg", "off", "tso", "off",
                  "gso", "off", "gro", "off", "rxvlan", "off", "txvlan", "off")  # fmt: skip
            _call("ip", "link", "set", end, "up")


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SandboxError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
