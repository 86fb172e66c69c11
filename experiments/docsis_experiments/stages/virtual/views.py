# SPDX-License-Identifier: Apache-2.0
"""Has a world write captures of its channels and traces of its devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docsis_control.topology.models import Topology
from docsis_experiments.stages.views import Views, cannot_write

if TYPE_CHECKING:
    from docsis_world import World

MOST_BYTES: Final = 64 << 20
"""The largest file; it ends there, as a switch's do."""


@contextmanager
def written(views: Views, world: World, run: str, topology: Topology) -> Iterator[None]:
    """Writes them within the block, into a folder of the run.

    Args:
        views: Which, and where.
        world: Provisioned.
        run: The run's label.
        topology: What the world is built of.

    Raises:
        TestbedError: A file cannot be written.
    """
    captures = views.of_channels(run, topology)
    try:
        for channel, file in captures.items():
            with _said(file):
                world.capture_channel(channel, file, MOST_BYTES)
        for device, file in views.of_devices(run, topology).items():
            with _said(file):
                world.trace(device, file, MOST_BYTES)
        yield
        for channel, file in captures.items():
            with _said(file):
                world.end_capture(channel)
    finally:
        world.end_traces()


@contextmanager
def _said(file: Path) -> Iterator[None]:
    """Says of which file it is that it cannot be written."""
    try:
        yield
    except OSError as error:
        raise cannot_write(file, error) from None
