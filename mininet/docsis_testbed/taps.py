# SPDX-License-Identifier: Apache-2.0
"""The files that embedded switches write of packets: captures of channels, traces of devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from docsis_control.topology.models import Device, Topology


@dataclass(frozen=True)
class Taps:
    """Files that the switches of a testbed write; they end at 64 MiB each.

    Attributes:
        captures: Captures of upstream channels, by their names.
        traces: Traces of devices, by their names.
    """

    captures: Mapping[str, Path] = field(default_factory=dict)
    traces: Mapping[str, Path] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.captures or self.traces)

    def arguments(self, topology: Topology, device: Device) -> tuple[str, ...]:
        """The arguments of a device's program; none where another program runs the device.

        Args:
            topology: Topology that is built; with upstream channels one program runs both devices.
            device: The device.
        """
        devices = [device]
        if topology.upstream_channels:
            devices = [device, topology.cmts] if device == topology.cable_modem else []
        words: list[str] = []
        for one in devices:
            if (file := self.traces.get(one.name)) is not None:
                words += ["--device-trace", f"{one.device_id}={file}"]
        for channel, file in self.captures.items() if devices else ():
            words += ["--channel-pcap", f"{channel}={file}"]
        return tuple(words)


NO_TAPS: Final = Taps()
