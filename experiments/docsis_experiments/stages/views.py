# SPDX-License-Identifier: Apache-2.0
"""Captures of frames and traces of devices, which a run writes when asked to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_control.topology.models import Topology
from docsis_testbed import captures
from docsis_testbed.captures import ALL, DEFAULT_MIB, Point
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS

CAPTURES: Final = "captures"
"""Folder of a run that has its captures; those of upstream channels are in channels/ there."""


@dataclass(frozen=True)
class Views:
    """What a run writes so that it can be seen packet by packet.

    Attributes:
        captures: Names of hosts, servers, switches, their interfaces and upstream channels, or
            "all": what is captured.
        mib: Bound of each capture at a host, a server or an interface, MiB.
        traces: Folder that gets a trace of each device, RUN/DEVICE.txt; None: no traces.
        results: Where the results go: its disk has to have room for the captures.
    """

    captures: tuple[str, ...] = ()
    mib: int = DEFAULT_MIB
    traces: Path | None = None
    results: Path = RESULTS

    def check(self, topology: Topology, target: str, *, interfaces: bool, runs: int = 1) -> None:
        """Refuses what cannot be written.

        Args:
            topology: What is to be built.
            target: Name of the switch target.
            interfaces: Whether the stage has interfaces, at which frames can be captured.
            runs: How many there are.

        Raises:
            TestbedError: There is nothing of a name, or nothing of it can be captured, or the disk
                has no room; or the switch writes no traces.
        """
        if target != "embedded" and self.traces:
            raise TestbedError(
                f"--trace has no place beside --target {target}: the embedded switch writes it; "
                "leave it out, or the target"
            )
        captures.check_names(self.captures, topology)
        if interfaces:
            count = len(self.points(topology))
            captures.check(count * runs, self.mib, self.results)
            return
        channels = captures.channels_of([ALL], topology)
        for name in self.captures:
            if name not in channels and (name != ALL or not channels):
                raise TestbedError(
                    f"--pcap {name}: virtual time has no interfaces to capture at, but only "
                    f"upstream channels, of which topology {topology.name} has "
                    f"{', '.join(channels) or 'none'}; leave --virtual out, or use --trace"
                )

    def points(self, topology: Topology) -> list[Point]:
        """The interfaces that a run captures."""
        return captures.points(self.captures, topology)

    def of_channels(self, folder: Path, topology: Topology) -> dict[str, Path]:
        """The captures of upstream channels, by the channels' names; their folder is made.

        Args:
            folder: The run's folder.
            topology: What is built.

        Raises:
            TestbedError: The folder cannot be made.
        """
        names = captures.channels_of(self.captures, topology)
        return _files(folder / CAPTURES / "channels", names, "pcap")

    def of_devices(self, run: str, topology: Topology) -> dict[str, Path]:
        """The traces of a run, by the devices' names; their folder is made.

        Raises:
            TestbedError: It cannot be.
        """
        names = [topology.cable_modem.name, topology.cmts.name]
        return {} if self.traces is None else _files(self.traces / run, names, "txt")


NO_VIEWS: Final = Views()


def cannot_write(path: Path, error: OSError) -> TestbedError:
    """Makes the error for a file or folder that cannot be written."""
    return TestbedError(f"{path}: cannot be written ({error}); give another folder")


def _files(folder: Path, names: list[str], suffix: str) -> dict[str, Path]:
    if not names:
        return {}
    # A switch may have another working directory.
    place = folder.absolute()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(place, error) from None
    return {name: place / f"{name}.{suffix}" for name in names}
