# SPDX-License-Identifier: Apache-2.0
"""Mininet links: plain veth pairs without offloads.

Delay is the traffic manager's part, because not every kernel has netem, and
rate is the service flow's.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from mininet.link import Intf, Link

from docsis_testbed.errors import TestbedError

MTU = 1500
"""Bytes of an IP packet; frames are up to 1514 bytes without the FCS."""

OFFLOADS = ("rx", "tx", "tso", "gso", "gro", "lro", "txvlan", "rxvlan", "tx-udp-segmentation")
"""A switch must see frames as a wire would carry them: whole, and with checksums."""


class PlainInterface(Intf):  # type: ignore[misc]  # Mininet has no types
    """An end of a veth pair: MTU set, offloads off."""

    def config(self, **params: Any) -> dict[str, Any]:
        """Offloads go off before the interface comes up."""
        up = "up" if params.get("up", True) else "down"
        options = [word for option in OFFLOADS for word in (option, "off")]
        # Both in one shell: of programs that are started, each takes milliseconds.
        script = 'name=$1 mtu=$2 up=$3; shift 3; ethtool -K "$name" "$@" && '
        script += 'ip link set dev "$name" mtu "$mtu" "$up"'
        _, errors, status = self.node.pexec(
            ["sh", "-c", script, "sh", self.name, str(MTU), up, *options]
        )
        if status != 0:
            raise TestbedError(
                f"interface {self.name} keeps its offloads, or cannot be set up: {errors.strip()}"
            )
        return {}


class PlainLink(Link):  # type: ignore[misc]  # Mininet has no types
    """A veth pair whose ends are made where they belong."""

    def __init__(self, node1: Any, node2: Any, **params: Any) -> None:
        # Mininet.addLink names its own default class.
        params["intf"] = PlainInterface
        super().__init__(node1, node2, **params)

    @classmethod
    def makeIntfPair(  # Mininet's name
        cls,
        intfname1: str,
        intfname2: str,
        addr1: str | None = None,
        addr2: str | None = None,
        node1: Any = None,
        node2: Any = None,
        deleteIntfs: bool = False,  # Mininet's name
    ) -> None:
        """Make the pair; refuse, and do not delete, interfaces that are there."""
        del deleteIntfs
        command = ["ip", "link", "add", "name", intfname1]
        command += ["address", addr1] if addr1 else []
        command += ["type", "veth", "peer", "name", intfname2]
        command += ["address", addr2] if addr2 else []
        # node1 is always a switch, in the root namespace.
        if node2 is not None and node2.inNamespace:
            command += ["netns", str(node2.pid)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise TestbedError(
                f"the link {intfname1} - {intfname2} cannot be made "
                f"({result.stderr.strip()}); an interface of that name may exist already"
            )
        for node, name in ((node1, intfname1), (node2, intfname2)):
            if node is None or not node.inNamespace:
                _silence_ipv6(name)


def _silence_ipv6(name: str) -> None:
    # Without it the kernel sends router solicitations into the switch.
    switch = Path("/proc/sys/net/ipv6/conf") / name / "disable_ipv6"
    if switch.exists():
        switch.write_text("1")
