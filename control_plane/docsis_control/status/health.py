# SPDX-License-Identifier: Apache-2.0
"""The control loops' health: small enough to be asked for every second, however many modems.

A status of hundreds of service flows costs the controller tens of milliseconds. Whoever watches
continuously asks for this instead, and for the status only when `Health.revision` is another than
the status has.
"""

import contextlib
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from docsis_control.controller import Controller
from docsis_control.local_socket import ControllerError, Service, ask, listening, own_pid
from docsis_control.status.model import Quantiles

_LOG: Final = logging.getLogger(__name__)
_LENIENT: Final = ConfigDict(extra="ignore")


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class LoopHealth:
    """A device's control loop."""

    device: str = Field(description="Name of the device.")
    looped: bool = Field(description="Whether it has a control loop.")
    cycles: int = Field(ge=0, description="Updates that the device acknowledged.")
    missed: int = Field(ge=0, description="Intervals without one while the device was there.")
    reconnects: int = Field(ge=0, description="How often the connection was made again.")
    lateness_ms: Quantiles = Field(
        description="Time from an interval's deadline to its update's start."
    )
    cycle_ms: Quantiles = Field(
        description="Time from the start of an update to its acknowledgement."
    )


@dataclass(frozen=True, kw_only=True, config=_LENIENT)
class Health:
    """The controller's health at one moment."""

    pid: int = Field(description="The controller's process.")
    uptime_s: float = Field(ge=0, description="How long the controller has run, seconds.")
    revision: int = Field(ge=0, description="Changes of the deployment so far.")
    loops: tuple[LoopHealth, ...] = Field(description="The control loop of each device.")


_HEALTH: Final = TypeAdapter(Health)


class HealthServer:
    """Tells the health of a controller; it reads what the loops have recorded, and no device."""

    def __init__(self, controller: Controller) -> None:
        """Args: whose health."""
        self._controller = controller
        self._started = time.monotonic()

    def health(self) -> Health:
        """The health now."""
        return Health(
            pid=own_pid(),
            uptime_s=time.monotonic() - self._started,
            revision=self._controller.revision,
            loops=tuple(self._loop(name) for name in self._controller.devices),
        )

    def _loop(self, name: str) -> LoopHealth:
        device = self._controller.devices[name]
        lateness, cycle = device.record.recent()
        return LoopHealth(
            device=name,
            looped=device.looped,
            cycles=device.record.updates,
            missed=device.record.missed,
            reconnects=device.record.reconnects,
            lateness_ms=Quantiles(p50=lateness.p50, p99=lateness.p99, max=lateness.max),
            cycle_ms=Quantiles(p50=cycle.p50, p99=cycle.p99, max=cycle.max),
        )

    async def respond(self, _request: bytes) -> bytes:
        """The health as JSON; whoever connects need not say anything."""
        return _HEALTH.dump_json(self.health())


@contextlib.asynccontextmanager
async def serving_health(controller: Controller, folder: Path) -> AsyncIterator[Path]:
    """Serves in the block, at a socket named by this process.

    Args:
        controller: Controller whose health is told.
        folder: Folder in which controllers are looked for.

    Raises:
        OSError: There can be no socket there.
    """
    async with listening(HealthServer(controller).respond, folder, Service.HEALTH) as path:
        _LOG.info("health at %s", path)
        yield path


def fetch_health(pid: int | None = None, folder: Path | None = None) -> Health:
    """The health of the controller that runs.

    Args:
        pid: Which one, where there are several.
        folder: Folder in which to look; the user's folder unless given.

    Raises:
        ControllerError: None runs, several do, or it answers with something else.
    """
    answer, path = ask(b"", Service.HEALTH, pid, folder)
    try:
        return _HEALTH.validate_json(answer)
    except ValidationError as error:
        first = error.errors()[0]
        raise ControllerError(
            f"{path}: the controller's health is none: {first['msg']}; use a controller and a page "
            "of one version"
        ) from None
