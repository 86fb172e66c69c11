# SPDX-License-Identifier: Apache-2.0
"""Links that fail or are interrupted halfway: what there is of them is recorded, and goes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from docsis_testbed import links, runfiles
from docsis_testbed.docsis_links import DocsisLinks, Wanted
from docsis_testbed.errors import TestbedError
from docsis_testbed.links import PlainLink
from docsis_testbed.netlink import add_veth
from docsis_testbed.nodes import DocsisSwitch
from docsis_testbed.runfiles import interface_index
from docsis_testbed.runstate import RunState, recorded_run

pytestmark = pytest.mark.root

NUMBER: Final = 1 + os.getpid() % 4096
"""Number of a link, so that tests beside these have interfaces of other names."""

NAMES: Final = [f"d4{kind}{NUMBER}-eth{port}" for kind in "mc" for port in (1, 9)]
"""Interfaces of a link in this network namespace."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunState]:
    with recorded_run("test", tmp_path) as run:
        yield run


def recorded(folder: Path) -> list[str]:
    """Names of the interfaces that a run would leave, and that others would remove."""
    state = runfiles.load(folder)
    assert state is not None
    return [interface.name for interface in state.interfaces]


def there(names: list[str]) -> list[str]:
    return [name for name in names if interface_index(name) is not None]


def refuse(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def keep_offloads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del folder
    monkeypatch.setattr(links, "switch_features_off", refuse)
    return "keeps its offloads, or cannot be set up: Operation not permitted"


def stay_down(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del folder
    monkeypatch.setattr(links, "set_link", refuse)
    return "keeps its offloads, or cannot be set up: Operation not permitted"


def keep_ipv6(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Stands for /proc/sys that is mounted read-only, as in containers."""
    setting = folder / "settings" / f"lt{NUMBER}a-eth1" / "disable_ipv6"
    setting.mkdir(parents=True)
    monkeypatch.setattr(links, "_IPV6_SETTINGS", folder / "settings")
    return rf"keeps IPv6 \({setting}: Is a directory\); let root write to /proc/sys here"


@pytest.mark.parametrize("fail", [keep_offloads, stay_down, keep_ipv6])
def test_a_link_that_cannot_be_set_up_is_recorded(
    fail: Callable[[Path, pytest.MonkeyPatch], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = f"lt{NUMBER}a", f"lt{NUMBER}b"
    with recorded_run("test", tmp_path / "run") as run:
        first, second = (
            DocsisSwitch(
                name, run=run, device_id=1, grpc_address="", log=tmp_path / "log", inNamespace=False
            )
            for name in (one, other)
        )
        told = fail(tmp_path, monkeypatch)
        with pytest.raises(TestbedError, match=told):
            PlainLink(first, second, port1=1, port2=1)
        assert recorded(tmp_path / "run") == [f"{one}-eth1", f"{other}-eth1"]
    assert there([f"{one}-eth1", f"{other}-eth1"]) == []


@pytest.fixture
def wanted(run: RunState) -> Wanted:
    """A link between two hosts."""
    hosts = [
        run.spawn(["unshare", "--net", "sh", "-c", "echo up; exec sleep 600"],
                  stdout=subprocess.PIPE)
        for _ in range(2)
    ]  # fmt: skip
    for host in hosts:
        assert host.stdout is not None
        assert host.stdout.readline() == b"up\n"
    ends = [
        {"pid": host.pid, "name": f"h{number}", "mac": f"02:00:00:00:00:0{number}"}
        for number, host in enumerate(hosts, start=1)
    ]
    return Wanted(ends, "cable-20", "docsis-pie")


@pytest.mark.parametrize("pair", [1, 2, 3])
def test_an_interrupt_while_a_docsis_link_is_made_leaves_nothing(
    pair: int, run: RunState, wanted: Wanted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The RF link, the host's at the modem, and the host's at the CMTS."""
    made = 0

    def interrupted(*arguments: Any) -> None:
        nonlocal made
        add_veth(*arguments)
        made += 1
        if made == pair:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(links, "add_veth", interrupted)
    with DocsisLinks(run, tmp_path) as docsis_links:
        with pytest.raises(SystemExit, match="143"):
            docsis_links.add(NUMBER, wanted)
        assert made == pair
        assert there(NAMES) == []
        # What is removed is forgotten: a run may make any number of links.
        assert recorded(tmp_path) == []


def test_only_the_interfaces_of_those_names_are_removed(run: RunState, tmp_path: Path) -> None:
    pairs = [(f"lt{NUMBER}{one}a", f"lt{NUMBER}{one}b") for one in "xy"]
    for pair in pairs:
        links.make_pair(pair, (None, None), None, run.add_interface)
    run.remove_interfaces(pairs[0])
    assert there([name for pair in pairs for name in pair]) == list(pairs[1])
    assert recorded(tmp_path) == list(pairs[1])
