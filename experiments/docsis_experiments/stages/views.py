# SPDX-License-Identifier: Apache-2.0
"""Captures of channels and traces of devices, which a run writes when asked to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_control.topology.models import Topology
from docsis_testbed.errors import TestbedError


@dataclass(frozen=True)
class Views:
    """The folders to which a run writes what can be seen of it packet by packet.

    Attributes:
        captures: Folder that gets a capture of each upstream channel, RUN/CHANNEL.pcap; None: no
            captures.
        traces: Folder that gets a trace of each device, RUN/DEVICE.txt; None: no traces.
    """

    captures: Path | None = None
    traces: Path | None = None

    def check(self, topology: Topology, target: str) -> None:
        """Refuses what cannot be written.

        Args:
            topology: What is to be built.
            target: Name of the switch target.

        Raises:
            TestbedError: The topology has no upstream channel, or the switch writes nothing.
        """
        if target != "embedded" and (self.captures or self.traces):
            raise TestbedError(
                f"--pcap and --trace have no place beside --target {target}: the embedded switch "
                "writes them; leave them out, or the target"
            )
        if self.captures is not None and not topology.upstream_channels:
            raise TestbedError(
                f"--pcap has no place here: topology {topology.name} has no upstream channel with "
                "a request/grant MAC, which it would capture"
            )

    def of_channels(self, run: str, topology: Topology) -> dict[str, Path]:
        """The captures of a run, by the channels' names; their folder is made.

        Raises:
            TestbedError: It cannot be.
        """
        names = [channel.name for channel in topology.upstream_channels or ()]
        return _files(self.captures, run, names, "pcap")

    def of_devices(self, run: str, topology: Topology) -> dict[str, Path]:
        """The traces of a run, by the devices' names; their folder is made.

        Raises:
            TestbedError: It cannot be.
        """
        names = [topology.cable_modem.name, topology.cmts.name]
        return _files(self.traces, run, names, "txt")


NO_VIEWS: Final = Views()


def cannot_write(path: Path, error: OSError) -> TestbedError:
    """Makes the error for a file or folder that cannot be written."""
    return TestbedError(f"{path}: cannot be written ({error}); give another folder")


def _files(folder: Path | None, run: str, names: list[str], suffix: str) -> dict[str, Path]:
    if folder is None or not names:
        return {}
    # A switch may have another working directory.
    place = folder.absolute() / run
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(place, error) from None
    return {name: place / f"{name}.{suffix}" for name in names}
