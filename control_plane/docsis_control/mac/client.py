# SPDX-License-Identifier: Apache-2.0
"""Configures the upstream channels of a switch, over docsis.mac.v1."""

from collections.abc import Iterable
from typing import Any, Final

import grpc

from docsis_control.mac.plan import ChannelFlow, UpstreamChannelPlan
from docsis_control.mac.requests import change_request, complete_request
from docsis_control.p4rt.device import P4Device
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.plan import DevicePlan

CONFIGURE: Final = "/docsis.mac.v1.UpstreamChannels/Configure"

Placed = tuple[UpstreamChannelPlan, ChannelFlow]
"""A service flow and its channel."""


class UpstreamChannels:
    """The upstream channels that carry what a device sends."""

    def __init__(self, device: P4Device) -> None:
        """Args: the modems' device."""
        self._device = device

    async def configure(self, plan: DevicePlan) -> None:
        """Makes the channels be what a plan says, where it says anything of them.

        What is there as the plan has it goes on undisturbed.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It refused, or has no request/grant MAC; the message says what.
        """
        if plan.channels:
            await self._send(complete_request(plan.device_id, plan.channels))

    async def change(self, settings: Iterable[Placed], removed: Iterable[Placed] = ()) -> None:
        """Sets some service flows and removes others: all of it or nothing.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It refused: above all, the scheduler does not admit a service flow.
        """
        request = change_request(self._device.device_id, settings, removed)
        if request.service_flows or request.removed:
            await self._send(request)

    async def _send(self, request: Any) -> None:
        doing = "configuring upstream channels"
        try:
            await self._device.call(doing, CONFIGURE, request.SerializeToString())
        except P4RuntimeError as error:
            if error.code is not grpc.StatusCode.UNIMPLEMENTED:
                raise
            raise P4RuntimeError(
                f"{doing} failed: {self._device.place} has no request/grant MAC (docsis.mac.v1); "
                "use the embedded switch, or leave upstream_channel out of the topology",
                error.code,
            ) from None
