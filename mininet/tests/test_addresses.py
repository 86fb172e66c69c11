# SPDX-License-Identifier: Apache-2.0
"""Addresses of the devices of a testbed, and what a run leaves of them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from docsis_control.topology.loader import load_topology
from docsis_testbed.addresses import device_address, socket_of
from docsis_testbed.nodes import _connect
from docsis_testbed.paths import RUN_STATE, TOPOLOGIES
from docsis_testbed.run_sockets import remove_sockets

DEVICE = load_topology(TOPOLOGIES / "residential.yaml").cable_modem


def test_our_switch_has_a_socket_of_its_users() -> None:
    address = device_address(DEVICE)
    assert address == f"unix:{RUN_STATE}/p4runtime/cm1.sock"
    assert socket_of(address) == RUN_STATE / "p4runtime" / "cm1.sock"


@pytest.mark.parametrize(
    ("target", "grpc_port", "expected"),
    [("bmv2", None, "127.0.0.1:50051"), ("embedded", 9559, "127.0.0.1:9559")],
)
def test_other_targets_and_who_asks_for_a_port_have_tcp(
    target: str, grpc_port: int | None, expected: str
) -> None:
    device = DEVICE.model_copy(update={"grpc_port": grpc_port})
    assert device_address(device, target) == expected
    assert socket_of(expected) is None


def test_only_sockets_of_switches_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "p4runtime"
    remove_sockets(tmp_path)
    folder.mkdir(0o700)
    kept = folder / "kept.sock"
    kept.write_text("a file")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "cm1.sock"))
    remove_sockets(tmp_path)
    assert list(folder.iterdir()) == [kept]
    kept.unlink()
    remove_sockets(tmp_path)
    assert not folder.exists()
    # Another's folder.
    with socket.socket(socket.AF_UNIX) as other:
        (tmp_path / "elsewhere").mkdir()
        other.bind(str(tmp_path / "elsewhere" / "cm1.sock"))
        folder.symlink_to(tmp_path / "elsewhere")
        remove_sockets(tmp_path)
        assert (tmp_path / "elsewhere" / "cm1.sock").exists()


def test_a_node_looks_for_its_switch_at_either(tmp_path: Path) -> None:
    path = tmp_path / "cm1.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        _connect(f"unix:{path}")
    with pytest.raises(ConnectionRefusedError):
        _connect(f"unix:{path}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        _connect(f"127.0.0.1:{server.getsockname()[1]}")
