# SPDX-License-Identifier: Apache-2.0
"""Captures of channels and traces of devices, which a run in virtual time writes when asked to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docsis_control.topology.models import Topology
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_world import World

MOST_BYTES: Final = 64 << 20
"""Of one file; it ends there."""


@dataclass(frozen=True)
class Views:
    """Where a run writes what can be seen of it packet by packet.

    Attributes:
        captures: Folder that gets a capture of each upstream channel; None: no captures.
        traces: Folder that gets a trace of each device; None: no traces.
    """

    captures: Path | None = None
    traces: Path | None = None

    def check(self, topology: Topology) -> None:
        """Refuses captures where there is nothing to be captured.

        Raises:
            TestbedError: The topology has no upstream channel.
        """
        if self.captures is not None and not topology.upstream_channels:
            raise TestbedError(
                f"--pcap has no place here: topology {topology.name} has no upstream channel with "
                "a request/grant MAC, which it would capture"
            )

    @contextmanager
    def open(
        self, world: World, run: str, channels: Sequence[str], devices: Sequence[str]
    ) -> Iterator[None]:
        """Writes them within the block, into a folder of the run.

        Args:
            world: Provisioned.
            run: The run's label.
            channels: Names of its upstream channels.
            devices: Names of its devices.

        Raises:
            TestbedError: A file cannot be written.
        """
        captured = channels if self.captures is not None else ()
        path = self.captures or self.traces
        try:
            for channel in captured:
                path = _file(self.captures, run, f"{channel}.pcap")
                world.capture_channel(channel, path, MOST_BYTES)
            for device in devices if self.traces is not None else ():
                path = _file(self.traces, run, f"{device}.txt")
                world.trace(device, path, MOST_BYTES)
            yield
            for channel in captured:
                world.end_capture(channel)
        except OSError as error:
            raise TestbedError(
                f"{path}: cannot be written ({error}); give another folder"
            ) from None
        finally:
            world.end_traces()


NO_VIEWS: Final = Views()


def _file(folder: Path | None, run: str, name: str) -> Path:
    assert folder is not None
    path = folder / run / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
