# SPDX-License-Identifier: Apache-2.0
"""Has a world write captures of its channels and traces of its devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docsis_control.topology.models import Topology
from docsis_experiments.stages.views import Views, cannot_write
from docsis_testbed.captures import Capture

if TYPE_CHECKING:
    from docsis_world import World

MOST_BYTES: Final = 64 << 20
"""The largest file; it ends there, as a switch's do."""


@contextmanager
def written(
    views: Views, world: World, run: str, folder: Path, topology: Topology
) -> Iterator[list[Capture]]:
    """Writes them within the block.

    Args:
        views: Which, and where.
        world: Provisioned.
        run: The run's label.
        folder: The run's.
        topology: What the world is built of.

    Yields:
        An empty list, which has what was captured once the block has ended.

    Raises:
        TestbedError: A file cannot be written.
    """
    captures = views.of_channels(folder, topology)
    try:
        for channel, file in captures.items():
            with _said(file):
                world.capture_channel(channel, file, MOST_BYTES)
        for device, file in views.of_devices(run, topology).items():
            with _said(file):
                world.trace(device, file, MOST_BYTES)
        made: list[Capture] = []
        yield made
        for channel, file in captures.items():
            with _said(file):
                frames, left_out = world.end_capture(channel)
            ended = (
                f"ended at its bound of {MOST_BYTES >> 20} MiB, with {left_out} frames to come"
                if left_out
                else ""
            )
            made.append(Capture(channel, file, frames, None, ended))
    finally:
        world.end_traces()


@contextmanager
def _said(file: Path) -> Iterator[None]:
    """Says of which file it is that it cannot be written."""
    try:
        yield
    except OSError as error:
        raise cannot_write(file, error) from None
