# SPDX-License-Identifier: Apache-2.0
"""The project's controller with a target, a tick at a time, whenever a test says so."""

from __future__ import annotations

from typing import Final

from docsis_control.law.readings import Settings
from docsis_control.law.service_flows import DeviceLaw
from docsis_control.plan import GROUP_MODEM, ServiceFlow
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.state.packets import PacketAccess
from docsis_control.state.registers import RegisterAccess
from docsis_ptf.client import Client, run

INTERVAL_US: Final = 16_000
"""Of RFC 8034: what a tick stands for."""


class _Clock:
    """The target's clock as it was when it was asked last."""

    def __init__(self) -> None:
        self.time_us = 1

    def now(self) -> int:
        """See `docsis_control.state.access.Clock`."""
        return self.time_us


class _Entrance:
    """The suite's own connection as the way of a control loop."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def call(self, method: str, request: bytes) -> list[bytes]:
        """See `docsis_control.p4rt.device.Entrance`."""
        return self._client.calls(method, request)


def docsis_pie_flow(
    index: int, port: int, *, rate: int, buffer_size: int, latency_target_us: int
) -> ServiceFlow:
    """A service flow under DOCSIS-PIE as the law knows it; without a burst, so without tokens.

    The delay of a backlog is then what it takes at `rate`, bit/s.
    """
    return ServiceFlow(
        index=index,
        port=port,
        direction="upstream",
        modem=GROUP_MODEM,
        modem_name="",
        reference=1,
        sfid=index,
        class_name="",
        primary=True,
        traffic_priority=0,
        max_sustained_rate=rate,
        peak_rate=rate,
        max_burst=0,
        min_reserved_rate=0,
        assumed_packet_size=0,
        channel_rate=rate,
        initial_tokens=0,
        buffer_size=buffer_size,
        max_frame=1522,
        management=PRESETS[Preset.DOCSIS_PIE],
        latency_target_us=latency_target_us,
        tos_and=0xFF,
        tos_or=0,
    )


class Controller:
    """The laws of docsis_control, which read and write a target as they do in service.

    Args:
        client: The target's primary client.
        flow: A service flow that has been provisioned.
    """

    def __init__(self, client: Client, flow: ServiceFlow) -> None:
        self._client, self._index = client, flow.index
        self._clock = _Clock()
        self._law = DeviceLaw([flow])
        self._access = client.state_access(self._clock, [flow])
        self._entrance = _Entrance(client)
        self.ticks = 0

    def tick(self, after: int = 1) -> Settings:
        """The tick that is so many intervals behind the one before; returns what it wrote.

        With more than one those between were missed, and are made up for.
        """
        self.ticks += after
        self._look()
        settings, _ = self._law.update(run(self._access.read()), self.ticks)
        self._look()
        if isinstance(self._access, RegisterAccess):
            self._access.ticks(self._entrance).write(settings)
        elif isinstance(self._access, PacketAccess):
            run(self._access.write(settings))
        else:
            raise TypeError(f"no such access: {self._access.name}")
        return settings

    def _look(self) -> None:
        self._clock.time_us = max(self._client.state(self._index).timestamp, 1)
