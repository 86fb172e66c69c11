# SPDX-License-Identifier: Apache-2.0
"""Interfaces, addresses, routes and neighbours, asked of the kernel without a program.

Everything here acts in the network namespace of the thread that calls it; `namespaces.made_in` is
the way into that of another process. pyroute2 has one of its own, which starts a process for every
socket, and there may be hundreds of hosts.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import IPv4Interface
from typing import Any, Final

from pyroute2 import IPRoute
from pyroute2.ethtool.ioctl import EthtoolError, IoctlEthtool
from pyroute2.netlink.exceptions import NetlinkError

_PROTOCOL_BOOT: Final = 3
"""RTPROT_BOOT, which is what `ip route` gives to a route."""

_LOOPBACK: Final = "lo"


def reason(error: OSError) -> str:
    """The words of an error, without its number."""
    return error.strerror or str(error)


@contextmanager
def _rtnetlink() -> Iterator[Any]:
    """The kernel's rtnetlink; what it refuses is an OSError with the kernel's own words."""
    try:
        with IPRoute(ext_ack=True) as routes:
            yield routes
    except NetlinkError as error:
        raise OSError(error.code, error.args[1]) from None


def add_veth(
    names: tuple[str, str],
    addresses: tuple[str | None, str | None] = (None, None),
    peer_pid: int | None = None,
) -> None:
    """Make a veth pair, both ends of which are down.

    Args:
        names: Names of the two ends.
        addresses: Their MAC addresses; the kernel draws those that are None.
        peer_pid: A process in whose network namespace the second end is made.

    Raises:
        OSError: the kernel refuses.
    """
    ends: list[dict[str, Any]] = [
        {"ifname": name, **({"address": address} if address else {})}
        for name, address in zip(names, addresses, strict=True)
    ]
    first, second = ends
    if peer_pid is not None:
        second["net_ns_pid"] = peer_pid
    with _rtnetlink() as routes:
        routes.link("add", kind="veth", peer=second, **first)


def set_link(name: str, *, mtu: int | None = None, up: bool = True) -> None:
    """Set an interface's MTU, in bytes of an IP packet, and bring it up or down.

    Raises:
        OSError: the kernel refuses.
    """
    size = {} if mtu is None else {"mtu": mtu}
    with _rtnetlink() as routes:
        state = "up" if up else "down"
        routes.link("set", index=socket.if_nametoindex(name), state=state, **size)


def delete_link(index: int) -> None:
    """Delete an interface by its index.

    Raises:
        OSError: the kernel refuses, or has none of that index (ENODEV).
    """
    with _rtnetlink() as routes:
        routes.link("del", index=index)


def switch_features_off(name: str, patterns: Sequence[str]) -> None:
    """Switch an interface's offloads off, as far as it has them.

    Args:
        name: Name of the interface.
        patterns: The kernel's names of features (`ethtool -k` lists them); `*` stands for anything.

    Raises:
        OSError: the kernel refuses, or leaves one on.
    """
    with closing(IoctlEthtool()) as ethtool:
        try:
            ethtool.change_ifname(name)
            features = ethtool.get_features()
            for feature in _switched_on(features, patterns):
                features[feature] = False
            ethtool.set_features(features)
            left = _switched_on(ethtool.get_features(), patterns)
        except EthtoolError:
            raise OSError(errno.EOPNOTSUPP, "its offloads cannot be changed") from None
    if left:
        raise OSError(errno.EOPNOTSUPP, f"it keeps {', '.join(left)}")


def _switched_on(features: Any, patterns: Sequence[str]) -> list[str]:
    """Names of the features that are on, can be changed, and match one of the patterns."""
    return [
        name
        for name, on, changeable, *_ in features
        if on and changeable and any(fnmatchcase(name, pattern) for pattern in patterns)
    ]


def add_address(name: str, address: IPv4Interface) -> None:
    """Give an interface an IPv4 address, and bring the loopback interface beside it up.

    Raises:
        OSError: the kernel refuses.
    """
    with _rtnetlink() as routes:
        routes.addr(
            "add",
            index=socket.if_nametoindex(name),
            address=str(address.ip),
            prefixlen=address.network.prefixlen,
        )
        routes.link("set", index=socket.if_nametoindex(_LOOPBACK), state="up")


def set_neighbours(name: str, addresses: Mapping[str, str]) -> None:
    """Put permanent entries into the ARP table of an interface.

    Args:
        name: Name of the interface.
        addresses: MAC addresses by IPv4 address.

    Raises:
        OSError: the kernel refuses one; those before it are in the table.
    """
    with _rtnetlink() as routes:
        index = socket.if_nametoindex(name)
        for ip, mac in addresses.items():
            routes.neigh("replace", ifindex=index, dst=ip, lladdr=mac, state="permanent")


@dataclass(frozen=True)
class TcpMetrics:
    """Settings of TCP towards a network, as its route has them.

    Attributes:
        initial_window: Segments; the kernel's own where None.
        every_segment: Each segment is acknowledged at once.
        segment: The Maximum Segment Size that is announced, bytes; the interface's where None.
        least_timeout_ms: The least retransmission timeout; the kernel's own where None.
    """

    initial_window: int | None = None
    every_segment: bool = False
    segment: int | None = None
    least_timeout_ms: int | None = None

    def as_route(self) -> dict[str, int]:
        """The settings that are not the kernel's own, as a route's metrics."""
        return {
            **({} if self.initial_window is None else {"initcwnd": self.initial_window}),
            **({"quickack": 1} if self.every_segment else {}),
            **({} if self.segment is None else {"advmss": self.segment}),
            **({} if self.least_timeout_ms is None else {"rto_min": self.least_timeout_ms}),
        }


def set_tcp(name: str, address: IPv4Interface, metrics: TcpMetrics) -> None:
    """Set how TCP works towards the network of an interface's address.

    Raises:
        OSError: the kernel refuses.
    """
    with _rtnetlink() as routes:
        routes.route(
            "replace",
            dst=str(address.network),
            oif=socket.if_nametoindex(name),
            scope="link",
            proto=_PROTOCOL_BOOT,
            prefsrc=str(address.ip),
            metrics=metrics.as_route(),
        )
