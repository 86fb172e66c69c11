# SPDX-License-Identifier: Apache-2.0
"""Where the devices of a testbed answer."""

from __future__ import annotations

from typing import Final

from docsis_control.topology.models import Device

_THRIFT_BASE_PORT: Final = 9090
"""BMv2's default. Two switches on one machine must not share it, so the device id is added."""


def device_address(device: Device) -> str:
    """host:port of a device's P4Runtime server, on the loopback interface."""
    return f"127.0.0.1:{device.server_port}"


def thrift_port(device_id: int) -> int:
    """TCP port of the Thrift server of a device that is a BMv2."""
    # Device ids go up to 2^64.
    return _THRIFT_BASE_PORT + device_id % 10_000


def thrift_address(device: Device) -> str:
    """host:port of a device's Thrift server, where it is a BMv2."""
    return f"127.0.0.1:{thrift_port(device.device_id)}"
