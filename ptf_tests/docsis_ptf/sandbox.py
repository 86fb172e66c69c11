# SPDX-License-Identifier: Apache-2.0
"""A network namespace without a name, with the veth pairs between PTF and a switch.

The namespace belongs to the processes in it and disappears with the last of
them, whatever ends them: there is nothing that could be left behind, and no
stray frame of the host that could get in.
"""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from docsis_testbed.namespaces import CLONE_NEWNET, unshare
from docsis_testbed.netlink import add_veth, reason, set_link, switch_features_off

MTU: Final = 9216
_OFFLOADS: Final = (
    "rx-checksum",
    "tx-checksum-*",
    "tx-scatter-gather*",
    "tx-tcp*-segmentation",
    "tx-generic-segmentation",
    "rx-gro",
    "rx-vlan-hw-parse",
    "tx-vlan-hw-insert",
)
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
    """Serves as Popen's preexec_fn: the child gets this signal when its parent ends."""

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(end))

    return prepare


def enter() -> None:
    """Moves this process to a new network namespace. SandboxError: not root."""
    try:
        unshare(CLONE_NEWNET)
    except OSError as error:
        raise SandboxError(
            f"a network namespace needs root ({reason(error)}); run as root"
        ) from None


def create(ports: Iterable[int]) -> None:
    """Makes the pairs for these ports, up, quiet and without offloads.

    SandboxError: the kernel refuses.
    """
    # Before the interfaces exist: no neighbour discovery, not even once.
    for scope in ("all", "default"):
        setting = Path("/proc/sys/net/ipv6/conf", scope, "disable_ipv6")
        if setting.exists():
            setting.write_text("1")
    try:
        set_link("lo")
        for port in ports:
            ends = (switch_side(port), ptf_side(port))
            add_veth(ends)
            for end in ends:
                switch_features_off(end, _OFFLOADS)
                set_link(end, mtu=MTU)
    except OSError as error:
        raise SandboxError(
            f"the kernel makes no pairs of interfaces for the ports ({reason(error)})"
        ) from None
