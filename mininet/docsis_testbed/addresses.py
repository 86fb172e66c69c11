# SPDX-License-Identifier: Apache-2.0
"""Where the devices of a testbed answer."""

from __future__ import annotations

from docsis_control.topology.models import Device


def device_address(device: Device) -> str:
    """host:port of a device's P4Runtime server, on the loopback interface."""
    return f"127.0.0.1:{device.server_port}"
