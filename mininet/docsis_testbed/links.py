# SPDX-License-Identifier: Apache-2.0
"""Mininet links: plain veth pairs without offloads.

Delay is the traffic manager's part, because not every kernel has netem, and
rate is the service flow's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docsis_testbed.errors import TestbedError
from docsis_testbed.mininet_package import Intf, Link
from docsis_testbed.namespaces import made_in
from docsis_testbed.netlink import add_veth, reason, set_link, switch_features_off

MTU = 1500
"""Bytes of an IP packet; frames are up to 1514 bytes without the FCS."""

OFFLOADS = (
    "rx-checksum",
    "tx-checksum-*",
    "tx-tcp*-segmentation",
    "tx-udp-segmentation",
    "tx-generic-segmentation",
    "rx-gro",
    "rx-lro",
    "tx-vlan-hw-insert",
    "rx-vlan-hw-parse",
)
"""A switch must see frames as a wire would carry them: whole, and with checksums."""


class PlainInterface(Intf):  # type: ignore[misc]  # Mininet has no types
    """An end of a veth pair: MTU set, offloads off."""

    def config(self, **params: Any) -> dict[str, Any]:
        """Offloads go off before the interface comes up."""
        up = params.get("up", True)

        def configure() -> None:
            switch_features_off(self.name, OFFLOADS)
            set_link(self.name, mtu=MTU, up=up)

        try:
            made_in(self.node.pid, configure)
        except OSError as error:
            raise TestbedError(
                f"interface {self.name} keeps its offloads, or cannot be set up: {reason(error)}"
            ) from None
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
        # node1 is always a switch, in the root namespace.
        peer_pid = node2.pid if node2 is not None and node2.inNamespace else None
        try:
            add_veth((intfname1, intfname2), (addr1, addr2), peer_pid)
        except OSError as error:
            raise TestbedError(
                f"the link {intfname1} - {intfname2} cannot be made "
                f"({reason(error)}); an interface of that name may exist already"
            ) from None
        for node, name in ((node1, intfname1), (node2, intfname2)):
            if node is None or not node.inNamespace:
                _silence_ipv6(name)


def _silence_ipv6(name: str) -> None:
    # Without it the kernel sends router solicitations into the switch.
    switch = Path("/proc/sys/net/ipv6/conf") / name / "disable_ipv6"
    if switch.exists():
        switch.write_text("1")
