# SPDX-License-Identifier: Apache-2.0
"""Every missing thing is one sentence that says what to do."""

from __future__ import annotations

import errno
import os
import socket
import sys
from pathlib import Path

import pytest

from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Link
from docsis_testbed import preflight
from docsis_testbed.congestion import CONGESTION_CONTROL, check_available
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES
from docsis_testbed.testbed import root_interfaces


def test_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(TestbedError, match="not root: .*; run this again as root, or .*--virtual"):
        preflight.check_root()


def test_not_root_names_the_command_that_sudo_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["/my clone/.venv/bin/docsis-p4", "run"])
    with pytest.raises(TestbedError, match=r"run sudo '/my clone/.venv/bin/docsis-p4' \.\.\., or"):
        preflight.check_root()


def test_missing_tools_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(TestbedError, match="mnexec, unshare.*make setup.*irtt"):
        preflight.check_tools()


def test_kernel_without_cubic(tmp_path: Path) -> None:
    available = tmp_path / "tcp_available_congestion_control"
    available.write_text("reno bbr\n")
    with pytest.raises(TestbedError, match="no TCP congestion control cubic; load tcp_cubic"):
        check_available([CONGESTION_CONTROL], available)
    available.write_text("reno cubic\n")
    check_available([CONGESTION_CONTROL], available)


@pytest.mark.root
def test_kernel_without_veth(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(names: tuple[str, str]) -> None:
        raise OSError(errno.EOPNOTSUPP, "Unknown device type")

    monkeypatch.setattr(preflight, "add_veth", refuse)
    with pytest.raises(TestbedError, match="no veth pair .Unknown device type.; load the module"):
        preflight.check_kernel()


def test_kernel_without_pid_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "unshare"
    fake.write_text("#!/bin/sh\necho 'unshare: unshare failed: Invalid argument' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TestbedError, match="no PID namespace .*Invalid argument"):
        preflight.check_kernel()


@pytest.mark.root
def test_kernel_without_network_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kind: int, make: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(preflight, "made_apart", refuse)
    with pytest.raises(TestbedError, match="no network namespace .Invalid argument."):
        preflight.check_kernel()


@pytest.mark.root
def test_this_kernel_will_do() -> None:
    before = socket.if_nameindex()
    preflight.check_kernel()
    assert socket.if_nameindex() == before


def test_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(TestbedError, match=f"listens on {address} already"):
            preflight.check_port_free(address, "P4Runtime server of cm1")
    preflight.check_port_free(address, "P4Runtime server of cm1")


def test_interface_of_somebody_else() -> None:
    with pytest.raises(TestbedError, match="interface lo exists already"):
        preflight.check_interfaces_free(["none-here", "lo"])


def test_unknown_target_and_missing_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("DOCSIS_SWITCH", "/nonexistent/docsis-switch")
    with pytest.raises(TestbedError, match='no target "tofino"'):
        preflight.check_target("tofino")
    both = "simple_switch_grpc and simple_switch_CLI are not on PATH; install BMv2"
    with pytest.raises(TestbedError, match=both):
        preflight.check_target("bmv2")
    with pytest.raises(TestbedError, match="switch is not built; run `make setup`"):
        preflight.check_target("embedded")


def test_a_request_grant_mac_is_refused_by_name_where_there_is_none() -> None:
    topology = load_topology(TOPOLOGIES / "telephony.yaml")
    with pytest.raises(TestbedError) as caught:
        preflight.check_all(topology, "bmv2")
    assert str(caught.value) == (
        "topology telephony has the upstream channel us1 (docsis-3.1), and BMv2 has no "
        "request/grant MAC; leave upstream_channel out, or make it none"
    )
    preflight.check_channels("bmv2", load_topology(TOPOLOGIES / "residential.yaml"))
    preflight.check_channels("embedded", topology)


def test_loss_and_jitter_are_refused_where_ports_have_none() -> None:
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    first, *others = topology.servers
    lossy = first.model_copy(update={"link": Link.model_validate({"loss": "1 %"})})
    topology = topology.model_copy(update={"servers": (lossy, *others)})
    preflight.check_channels("embedded", topology)
    with pytest.raises(TestbedError, match=r"^topology residential: server1\.link has loss or jit"):
        preflight.check_channels("bmv2", topology)
    perfect = first.model_copy(update={"link": Link.model_validate({"loss": "0 %"})})
    topology = topology.model_copy(update={"servers": (perfect, *others)})
    preflight.check_channels("bmv2", topology)


def test_refusals_of_bmv2_say_how_to_choose_the_embedded_switch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(TestbedError, match="--target embedded.*with make TARGET=embedded"):
        preflight.check_target("bmv2")
    with pytest.raises(TestbedError, match="choose another queue manager, or use the embedded"):
        preflight.check_queue_managers("bmv2", Preset.SFQ)


def test_interfaces_of_a_topology() -> None:
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    assert root_interfaces(topology) == [
        "cm1-eth1", "cm1-eth2", "cm1-eth3", "cmts1-eth1", "cmts1-eth2", "cmts1-eth3",
    ]  # fmt: skip


def test_an_rf_link_with_channels_has_no_interfaces() -> None:
    names = root_interfaces(load_topology(TOPOLOGIES / "telephony.yaml"))
    assert "cm1-eth2" in names
    assert not {"cm1-eth1", "cmts1-eth1"} & set(names)
