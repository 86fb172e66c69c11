# SPDX-License-Identifier: Apache-2.0
"""A DOCSIS link for Mininet scripts of your own: a modem, a channel and a CMTS between two hosts.

    from docsis_link import DocsisLink

    net.addLink(home, street, cls=DocsisLink, tier="cable-20")

This package needs Mininet and nothing else, so that the system's Python can import it. Switches
and controllers are started by a program of the project's own environment (see `server`), which
removes all of them when the network stops, and also when your script is killed.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

try:
    from mininet.link import Intf, Link
except ImportError as error:
    raise ImportError(
        f"docsis_link needs Mininet, which {sys.executable} cannot import ({error}); run "
        "`make setup` as root in the clone, or install Debian's package mininet and use the "
        "system's Python",
        name=error.name,
    ) from None

from docsis_link.server import DocsisLinkError, shared

__all__ = ["DocsisLink", "DocsisLinkError"]

_LONGEST_NAME: Final = 15
"""Characters of an interface's name."""


class _End(Intf):  # type: ignore[misc]  # Mininet has no types
    """An end of the link in a node of yours."""

    def setMAC(self, macstr: str) -> str:  # Mininet's name
        """Keep the address, which modem and CMTS know.

        Raises:
            DocsisLinkError: It is another one.
        """
        if macstr.lower() != str(self.mac).lower():
            raise DocsisLinkError(
                f"{self.name}: the modem and the CMTS know the address {self.mac} already; give "
                f"{macstr} to addHost as mac, or to addLink as addr1 or addr2"
            )
        return self.mac or ""


class DocsisLink(Link):  # type: ignore[misc]  # Mininet has no types
    """A cable modem, a channel and a CMTS between two hosts; the first host is at the modem.

    It starts when it is added to a network and ends when the network stops.

    Args:
        node1: Host behind the modem: what it sends goes upstream.
        node2: Host on the network side of the CMTS.
        tier: Service tier: the name of a file, without .yaml, in tiers/ of the current folder, or
            else of the project.
        aqm: Queue manager of the upstream service flow: a preset, or a file that ends in .yaml.
        downstream_aqm: Queue manager of the downstream service flow; the tier's unless given.
        round_trip_time: Propagation delay, as in "20 ms"; none unless given.
        port1, port2, addr1, addr2, intfName1, intfName2: The same as for any link of Mininet.
        keys: `channel`, `upstream_channels` and `service_classes`, as in a topology's file.

    Raises:
        DocsisLinkError: The link cannot be made, in a sentence; nothing of it is left behind.
    """

    def __init__(
        self,
        node1: Any,
        node2: Any,
        port1: int | None = None,
        port2: int | None = None,
        intfName1: str | None = None,
        intfName2: str | None = None,
        addr1: str | None = None,
        addr2: str | None = None,
        *,
        tier: str = "cable-20",
        aqm: str = "docsis-pie",
        downstream_aqm: str | None = None,
        round_trip_time: str | None = None,
        intf: Any = None,
        **keys: Any,
    ) -> None:
        del intf  # the network's own default class
        for node in (node1, node2):
            _check_host(node)
        self._number: int | None = None
        self._wanted = {
            "tier": tier,
            "aqm": aqm,
            "downstream_aqm": downstream_aqm,
            "round_trip_time": round_trip_time,
            "keys": keys,
        }
        super().__init__(
            node1,
            node2,
            port1=port1,
            port2=port2,
            intfName1=intfName1,
            intfName2=intfName2,
            addr1=_address(node1, addr1),
            addr2=_address(node2, addr2),
            intf=_End,
        )

    def makeIntfPair(  # Mininet's name
        self,
        intfname1: str,
        intfname2: str,
        addr1: str | None = None,
        addr2: str | None = None,
        node1: Any = None,
        node2: Any = None,
        deleteIntfs: bool = False,  # Mininet's name
    ) -> None:
        """Has modem, channel and CMTS made, with an end in each of the nodes."""
        del deleteIntfs
        ends = []
        for node, name, address in ((node1, intfname1, addr1), (node2, intfname2, addr2)):
            if len(name) > _LONGEST_NAME:
                raise DocsisLinkError(
                    f"{name}: an interface's name has {_LONGEST_NAME} characters at most; give a "
                    "shorter one to addLink as intfName1 or intfName2"
                )
            ends.append({"pid": node.pid, "name": name, "mac": address})
        self._number = shared().add({**self._wanted, "ends": ends})

    def stop(self) -> None:
        """Ends switches and controller, and removes all interfaces."""
        number, self._number = self._number, None
        try:
            if number is not None:
                shared().remove(number)
        finally:
            super().stop()


def _check_host(node: Any) -> None:
    """Refuses nodes that have other stations behind them, or none.

    Raises:
        DocsisLinkError: The node is a switch, or shares the machine's network.
    """
    if not getattr(node, "inNamespace", False) or hasattr(node, "dpid"):
        raise DocsisLinkError(
            f"{node.name}: a DocsisLink joins two hosts with network namespaces of their own, "
            "because modem and CMTS forward to the addresses of its ends alone; for what is behind "
            "a switch, put a host between them that routes"
        )


def _address(node: Any, given: str | None) -> str:
    """The address of a node's end: what `addHost` was told counts for its first interface."""
    own = node.params.get("mac")
    if own and not node.intfs:
        return str(own)
    return given or ":".join(["02", *(f"{byte:02x}" for byte in os.urandom(5))])
