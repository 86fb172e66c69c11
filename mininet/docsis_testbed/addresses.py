# SPDX-License-Identifier: Apache-2.0
"""The addresses at which the devices of a testbed answer."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from docsis_control.http2.calls import unix_path
from docsis_control.topology.models import Device
from docsis_testbed.run_sockets import SOCKETS, SUFFIX

_THRIFT_BASE_PORT: Final = 9090
"""BMv2's default. Two switches on one machine must not share it, so the device id is added."""

_UNIX: Final = "unix:"


def device_address(device: Device, target: str = "embedded") -> str:
    """The address of a device's P4Runtime server, as gRPC writes it.

    A Unix socket that only root reaches: a switch does what it is told by whoever connects. A TCP
    port of the loopback interface where the topology gives the device a `grpc_port`, for
    controllers and tests that are not ours, and with BMv2, which knows nothing else.

    Args:
        device: Device of the topology.
        target: Name of the switch target.
    """
    if target != "embedded" or device.grpc_port is not None:
        return f"127.0.0.1:{device.server_port}"
    return f"{_UNIX}{SOCKETS / device.name}{SUFFIX}"


def socket_of(address: str) -> Path | None:
    """The path of a Unix socket's address; None for a TCP address."""
    path = unix_path(address)
    return None if path is None else Path(path)


def thrift_port(device_id: int) -> int:
    """TCP port of the Thrift server of a device that is a BMv2."""
    # Device ids go up to 2^64.
    return _THRIFT_BASE_PORT + device_id % 10_000


def thrift_address(device: Device) -> str:
    """host:port of a device's Thrift server, where it is a BMv2."""
    return f"127.0.0.1:{thrift_port(device.device_id)}"
