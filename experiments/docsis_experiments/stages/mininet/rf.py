# SPDX-License-Identifier: Apache-2.0
"""RF congestion at a running switch: what its RF port or its channels carry at the most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from docsis_control.framing import Framing
from docsis_control.mac import client
from docsis_control.mac.requests import capacity_request
from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.visits import Visits
from docsis_control.plan import PortSettings
from docsis_control.ports import RF_PORT
from docsis_control.tm.client import add_port
from docsis_control.topology.models import Device
from docsis_testbed.addresses import device_address
from docsis_testbed.errors import TestbedError

CONFIGURE: Final = "/docsis.tm.v1.TrafficManager/Configure"


def configuration(device_id: int, rate: int, framing: Framing | None = None) -> bytes:
    """A serialized docsis.tm.v1.ConfigureRequest: the RF port sends that many bit/s at the most.

    Args:
        framing: What carries the port's frames, as before.
    """
    from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2

    settings = PortSettings(RF_PORT, rate=rate, framing=framing)
    request: Any = traffic_manager_pb2.ConfigureRequest(device_id=device_id)
    # All of the port is replaced; the RF port has no delay.
    add_port(request, settings)
    return bytes(request.SerializeToString())


class Congested(Protocol):
    """An object that RF congestion makes slower."""

    def carry(self, rate: int) -> None:
        """Limits it to that many bit/s from now on.

        Raises:
            TestbedError: it cannot.
        """


class RfPort:
    """The RF port of a device.

    Configuring the traffic manager needs no election, so it takes nothing from the controller.

    Args:
        device: The device whose port it is.
        framing: What carries the port's frames.
        target: Name of the switch target that the device is.
    """

    def __init__(
        self, device: Device, framing: Framing | None = None, target: str = "embedded"
    ) -> None:
        self._framing = framing
        visits = Visits(device_address(device, target))
        self._device = LocalDevice(visits, device.name, device.device_id)
        self._name = device.name

    def carry(self, rate: int) -> None:
        """Limits what it sends to that many bit/s from now on.

        Raises:
            TestbedError: the device does not do that.
        """
        request = configuration(self._device.device_id, rate, self._framing)
        try:
            completed(self._device.call("configuring the RF port", CONFIGURE, request))
        except (ConnectionLost, P4RuntimeError) as error:
            raise TestbedError(
                f"the channel of {self._name} cannot be made slower ({error}); RF congestion "
                "needs a switch with docsis.tm.v1, such as the embedded one"
            ) from None


class RfChannels:
    """Upstream channels with a request/grant MAC: other users leave less of each.

    Args:
        device: The modems'.
        channels: Their names.
        variation_percent: How far what a MAP may grant lies from the rate.
    """

    def __init__(self, device: Device, channels: Sequence[str], variation_percent: int) -> None:
        self._device = LocalDevice(Visits(device_address(device)), device.name, device.device_id)
        self._channels = channels
        self._variation_percent = variation_percent

    def carry(self, rate: int) -> None:
        """Gives each that many bit/s to grant, from its next MAP on.

        Raises:
            TestbedError: One has promised more to its service flows.
        """
        request = capacity_request(self._channels, rate, self._variation_percent)
        doing = "congesting the upstream channels"
        try:
            completed(self._device.call(doing, client.CONFIGURE, request.SerializeToString()))
        except (ConnectionLost, P4RuntimeError) as error:
            raise TestbedError(str(error)) from None
