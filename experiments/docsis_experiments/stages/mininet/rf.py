# SPDX-License-Identifier: Apache-2.0
"""RF congestion at a running switch: what its RF port sends at the most."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import grpc

from docsis_control.p4rt.channel import channel_options
from docsis_control.plan import PortSettings
from docsis_control.ports import RF_PORT
from docsis_control.topology.models import Device
from docsis_testbed.addresses import device_address
from docsis_testbed.errors import TestbedError

_TIMEOUT_SECONDS: Final = 5.0
CONFIGURE: Final = "/docsis.tm.v1.TrafficManager/Configure"


def configuration(device_id: int, rate: int) -> bytes:
    """A serialized docsis.tm.v1.ConfigureRequest: the RF port sends that many bit/s at the most."""
    from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2

    settings = PortSettings(RF_PORT, rate=rate)
    request: Any = traffic_manager_pb2.ConfigureRequest(device_id=device_id)
    # All of the port is replaced; the RF port has no delay.
    request.ports.add(port=settings.port, rate=settings.rate, burst=settings.burst)
    return bytes(request.SerializeToString())


class RfPort:
    """The RF port of a device.

    Configuring the traffic manager needs no election, so it takes nothing from the controller.

    Args:
        device: Whose port.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._channel = grpc.insecure_channel(device_address(device), options=channel_options())
        self._configure: Any = self._channel.unary_unary(
            CONFIGURE, request_serializer=None, response_deserializer=None
        )

    def carry(self, rate: int) -> None:
        """From now on it sends that many bit/s at the most.

        Raises:
            TestbedError: the device does not do that.
        """
        try:
            self._configure(configuration(self._device.device_id, rate), timeout=_TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            code = getattr(error, "code", lambda: "no code")()
            raise TestbedError(
                f"the channel of {self._device.name} cannot be made slower ({code}); RF congestion "
                "needs a switch with docsis.tm.v1, such as the embedded one"
            ) from None

    def close(self) -> None:
        """End the connection."""
        self._channel.close()


@contextmanager
def rf_port(device: Device) -> Iterator[RfPort]:
    """The RF port of a device, with its connection closed at the end of the block."""
    port = RfPort(device)
    try:
        yield port
    finally:
        port.close()
