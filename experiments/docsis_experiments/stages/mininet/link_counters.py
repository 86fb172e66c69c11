# SPDX-License-Identifier: Apache-2.0
"""Asks the switches of a testbed what the links of hosts did to frames."""

from __future__ import annotations

from collections.abc import Sequence

from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.visits import Visits
from docsis_control.tm.client import TrafficManager
from docsis_control.topology.models import Device
from docsis_experiments.measurement.links import Counts
from docsis_testbed.addresses import device_address
from docsis_testbed.errors import TestbedError


class LinkReader:
    """Reads the counters of the links at some devices.

    Args:
        devices: The switches to ask; none where no link has loss or jitter.
        target: Name of the switch target that they are.
    """

    def __init__(self, devices: Sequence[Device], target: str = "embedded") -> None:
        self._asked = {
            device.name: TrafficManager(
                LocalDevice(Visits(device_address(device, target)), device.name, device.device_id)
            )
            for device in devices
        }

    def read(self) -> Counts:
        """Reads the counters since the switches were started.

        Raises:
            TestbedError: A switch does not answer.
        """
        try:
            return {name: completed(one.counted()).links for name, one in self._asked.items()}
        except (ConnectionLost, P4RuntimeError) as error:
            raise TestbedError(
                f"what links lost is not told: {error}; the switches' logs in the results' folder "
                "may say why"
            ) from None
