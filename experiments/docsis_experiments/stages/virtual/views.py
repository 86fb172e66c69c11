# SPDX-License-Identifier: Apache-2.0
"""Has a world write captures of its channels and traces of its devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from docsis_control.topology.models import Topology
from docsis_experiments.stages.views import Views, cannot_write

if TYPE_CHECKING:
    from docsis_world import World

MOST_BYTES: Final = 64 << 20
"""Of one file; it ends there, as a switch's do."""


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
    path = views.captures or views.traces
    try:
        for channel, path in captures.items():
            world.capture_channel(channel, path, MOST_BYTES)
        for device, path in views.of_devices(run, topology).items():
            world.trace(device, path, MOST_BYTES)
        yield
        for channel, path in captures.items():
            world.end_capture(channel)
    except OSError as error:
        assert path is not None, "something is written"
        raise cannot_write(path, error) from None
    finally:
        world.end_traces()
