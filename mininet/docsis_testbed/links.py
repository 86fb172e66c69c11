# SPDX-License-Identifier: Apache-2.0
"""Mininet links: plain veth pairs without offloads.

Delay is the traffic manager's part, because not every kernel has netem, and
rate is the service flow's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from docsis_testbed.errors import TestbedError
from docsis_testbed.interrupts import interrupts_deferred
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

_IPV6_SETTINGS: Final = Path("/proc/sys/net/ipv6/conf")


def make_pair(
    names: tuple[str, str],
    addresses: tuple[str | None, str | None],
    peer_pid: int | None,
    record: Callable[[str], None],
) -> None:
    """Make a veth pair, and record it before anything can fail or interrupt.

    Args:
        names: Names of the two ends.
        addresses: Their MAC addresses; the kernel draws those that are None.
        peer_pid: A process in whose network namespace the second end is made, or None.
        record: Called with the name of each end in this network namespace.

    Raises:
        TestbedError: the kernel refuses; interfaces that are there stay.
    """
    with interrupts_deferred():
        try:
            add_veth(names, addresses, peer_pid)
        except OSError as error:
            raise TestbedError(
                f"the link {' - '.join(names)} cannot be made ({reason(error)}); an interface of "
                "that name may exist already"
            ) from None
        for name in names if peer_pid is None else names[:1]:
            record(name)


def make_plain(name: str, pid: int, *, up: bool = True, ipv6: bool = True) -> None:
    """Switch an interface's offloads off, set its MTU, and bring it up.

    Args:
        name: Name of the interface.
        pid: A process in its network namespace.
        up: Bring it up, or down.
        ipv6: Leave it IPv6. Without, the kernel sends no router solicitations into a switch.

    Raises:
        TestbedError: the kernel refuses.
    """

    def configure() -> None:
        if not ipv6:
            _silence_ipv6(name)
        switch_features_off(name, OFFLOADS)
        set_link(name, mtu=MTU, up=up)

    try:
        made_in(pid, configure)
    except OSError as error:
        raise TestbedError(
            f"interface {name} keeps its offloads, or cannot be set up: {reason(error)}"
        ) from None


def _silence_ipv6(name: str) -> None:
    switch = _IPV6_SETTINGS / name / "disable_ipv6"
    if not switch.exists():
        return
    try:
        switch.write_text("1")
    except OSError as error:
        raise TestbedError(
            f"interface {name} keeps IPv6 ({switch}: {reason(error)}); let root write to /proc/sys "
            "here"
        ) from None


class PlainInterface(Intf):  # type: ignore[misc]  # Mininet has no types
    """An end of a veth pair: MTU set, offloads off, and without IPv6 at a switch."""

    def config(self, **params: Any) -> dict[str, Any]:
        """IPv6 and offloads go off before the interface comes up."""
        up = params.get("up", True)
        make_plain(self.name, self.node.pid, up=up, ipv6=self.node.inNamespace)
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
        peer_pid = node2.pid if node2.inNamespace else None
        names = (intfname1, intfname2)
        make_pair(names, (addr1, addr2), peer_pid, node1.run.add_interface)
