# SPDX-License-Identifier: Apache-2.0
"""The kernel's answers agree with `ip` and `ethtool`, in namespaces of the tests' own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from ipaddress import IPv4Interface
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from docsis_testbed import netlink
from docsis_testbed.errors import TestbedError
from docsis_testbed.links import MTU, PlainInterface, PlainLink
from docsis_testbed.namespaces import CLONE_NEWNET, made_apart, made_in
from docsis_testbed.nodes import QuietHost

pytestmark = pytest.mark.root

T = TypeVar("T")

ENDS = ("t-a", "t-b")
MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")


@pytest.fixture
def pid() -> Iterator[int]:
    """A process in a network namespace of its own."""
    command = [sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(
        ["unshare", "--net", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        yield process.pid
        process.kill()


def alone(act: Callable[[], T]) -> T:
    """Calls `act` in a network namespace that is gone afterwards."""
    return made_apart(CLONE_NEWNET, act)


def shown(*what: str) -> list[dict[str, Any]]:
    """Reads what `ip` shows in this thread's namespace."""
    output = subprocess.check_output(["ip", "-json", "-details", *what])
    found: list[dict[str, Any]] = json.loads(output)
    return found


def test_pair_is_made_with_its_addresses_and_down() -> None:
    def act() -> list[dict[str, Any]]:
        netlink.add_veth(ENDS, MACS)
        return shown("link")

    links = {link["ifname"]: link for link in alone(act)}
    assert sorted(links) == ["lo", *ENDS]
    assert [links[end]["address"] for end in ENDS] == list(MACS)
    assert [links[end]["link"] for end in ENDS] == list(reversed(ENDS))
    assert [links[end]["operstate"] for end in ENDS] == ["DOWN", "DOWN"]


def test_second_end_is_made_in_the_namespace_of_a_process(pid: int) -> None:
    def act() -> list[str]:
        netlink.add_veth(ENDS, (None, MACS[1]), pid)
        return [name for _, name in socket.if_nameindex()]

    def there() -> list[str]:
        return [name for _, name in socket.if_nameindex()]

    # The pair is gone with the namespace of its first end, so both are looked at before that.
    assert alone(lambda: (act(), made_in(pid, there))) == (["lo", ENDS[0]], ["lo", ENDS[1]])


def test_pair_of_a_name_that_is_taken_is_refused() -> None:
    def act() -> None:
        netlink.add_veth(ENDS)
        netlink.add_veth(ENDS)

    with pytest.raises(FileExistsError) as refused:
        alone(act)
    assert netlink.reason(refused.value) == "File exists"


def test_interface_of_no_such_name() -> None:
    for act in (
        lambda: netlink.set_link("t-none"),
        lambda: netlink.switch_features_off("t-none", ["rx-gro"]),
    ):
        with pytest.raises(OSError, match="no such interface|no interface|No such device"):
            alone(act)


def test_link_is_brought_up_with_its_size_and_deleted() -> None:
    def act() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
        netlink.add_veth(ENDS)
        for end in ENDS:
            netlink.set_link(end, mtu=9216)
        up = shown("link", "show", "dev", ENDS[0])
        netlink.set_link(ENDS[0], up=False)
        down = shown("link", "show", "dev", ENDS[0])
        netlink.delete_link(socket.if_nametoindex(ENDS[0]))
        return up, down, [name for _, name in socket.if_nameindex()]

    [up], [down], left = alone(act)
    assert (up["operstate"], up["mtu"]) == ("UP", 9216)
    assert (down["operstate"], down["mtu"]) == ("DOWN", 9216)
    assert left == ["lo"]


def test_deleting_what_is_gone_is_refused() -> None:
    with pytest.raises(OSError, match="No such device|not find"):
        alone(lambda: netlink.delete_link(12345))


def test_features_go_off_and_others_stay() -> None:
    def features() -> dict[str, str]:
        [found] = json.loads(subprocess.check_output(["ethtool", "--json", "-k", ENDS[0]]))
        return {name: state["active"] for name, state in found.items() if name != "ifname"}

    def act() -> tuple[dict[str, str], dict[str, str]]:
        netlink.add_veth(ENDS)
        before = features()
        netlink.switch_features_off(ENDS[0], ["tx-tcp*-segmentation", "rx-gro", "rx-lro"])
        return before, features()

    before, after = alone(act)
    went = {name for name, on in before.items() if on and not after[name]}
    assert "tx-tcp-segmentation" in went
    assert "tx-tcp6-segmentation" in went
    assert "tcp-segmentation-offload" in went
    assert not {name for name in went if "udp" in name or "checksum" in name}
    assert not after["rx-gro" if "rx-gro" in after else "generic-receive-offload"]


def test_address_neighbours_and_tcp() -> None:
    network = IPv4Interface("10.0.0.11/24")
    others = {"10.0.0.1": MACS[0], "10.0.0.2": MACS[1]}

    def act() -> tuple[list[dict[str, Any]], ...]:
        netlink.add_veth(ENDS)
        for end in ENDS:
            netlink.set_link(end)
        netlink.add_address(ENDS[0], network)
        # Again: entries and routes that are there are replaced.
        for metrics in (netlink.TcpMetrics(3), netlink.TcpMetrics(5, True, 1000, 300)):
            netlink.set_neighbours(ENDS[0], others)
            netlink.set_tcp(ENDS[0], network, metrics)
        return shown("address"), shown("neighbour"), shown("route")

    addresses, neighbours, routes = alone(act)
    known = {link["ifname"]: link for link in addresses}
    assert "UP" in known["lo"]["flags"]
    [address] = [a for a in known[ENDS[0]]["addr_info"] if a["family"] == "inet"]
    assert (address["local"], address["prefixlen"]) == ("10.0.0.11", 24)
    permanent = {n["dst"]: n["lladdr"] for n in neighbours if n["state"] == ["PERMANENT"]}
    assert permanent == others
    [route] = [r for r in routes if r["dst"] == "10.0.0.0/24"]
    assert (route["dev"], route["prefsrc"], route["scope"]) == (ENDS[0], "10.0.0.11", "link")
    assert route["metrics"] == [{"initcwnd": 5, "quickack": 1, "advmss": 1000, "rto_min": 300}]


def test_nothing_stays_open() -> None:
    def act() -> None:
        netlink.add_veth(ENDS)
        netlink.switch_features_off(ENDS[0], ["rx-gro"])
        with pytest.raises(FileExistsError):
            netlink.add_veth(ENDS)

    alone(act)
    opened = len(os.listdir("/proc/self/fd"))
    alone(act)
    assert len(os.listdir("/proc/self/fd")) == opened


def test_interface_of_a_node_is_plain(pid: int) -> None:
    """Also when the node is in another namespace than the caller."""
    made_in(pid, lambda: netlink.add_veth(ENDS))
    for end in ENDS:
        node: Any = SimpleNamespace(pid=pid, inNamespace=True, addIntf=lambda *_, **__: None)
        PlainInterface(end, node=node, port=0)
    [link] = made_in(pid, lambda: shown("link", "show", "dev", ENDS[0]))
    assert (link["operstate"], link["mtu"]) == ("UP", MTU)
    [found] = made_in(
        pid, lambda: json.loads(subprocess.check_output(["ethtool", "--json", "-k", ENDS[0]]))
    )
    for feature in ("rx-checksumming", "tx-checksumming", "tcp-segmentation-offload"):
        assert not found[feature]["active"]


def test_interface_that_is_not_there_is_told(pid: int) -> None:
    node: Any = SimpleNamespace(pid=pid, inNamespace=True, addIntf=lambda *_, **__: None)
    with pytest.raises(TestbedError, match="t-a keeps its offloads, or .*: No such device"):
        PlainInterface("t-a", node=node, port=0)


def test_link_of_a_name_that_is_taken_is_told() -> None:
    recorded: list[str] = []
    run = SimpleNamespace(add_interface=recorded.append)
    node: Any = SimpleNamespace(inNamespace=False, run=run)

    def act() -> None:
        for _ in range(2):
            PlainLink.makeIntfPair(*ENDS, node1=node, node2=node)

    with pytest.raises(TestbedError, match="link t-a - t-b cannot be made .File exists.; an inter"):
        alone(act)
    # Once: those that are there stay, whosever they are.
    assert recorded == list(ENDS)


def test_host_that_the_kernel_refuses_something_is_told(pid: int) -> None:
    host: Any = SimpleNamespace(
        name="cpe1",
        pid=pid,
        defaultIntf=lambda: SimpleNamespace(name="t-a", ip="10.0.0.11", prefixLen="24"),
    )
    host._in_namespace = lambda *what: QuietHost._in_namespace(host, *what)
    for act, said in (
        (lambda: QuietHost.config(host, ip="10.0.0.11/24"), "gets no address 10.0.0.11/24"),
        (lambda: QuietHost.set_neighbours(host, {"10.0.0.1": MACS[0]}), "gets no ARP table"),
        (lambda: QuietHost.set_tcp(host, netlink.TcpMetrics(3)), "cannot have its TCP set"),
    ):
        with pytest.raises(TestbedError, match=f"host cpe1 {said}: no interface"):
            act()
