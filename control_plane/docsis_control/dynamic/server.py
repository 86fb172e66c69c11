# SPDX-License-Identifier: Apache-2.0
"""Takes changes from processes of the same user, over a Unix socket: one request a connection.

A socket of its own, beside the status's: whoever only looks cannot change anything
by a slip.
"""

import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic import ValidationError

from docsis_control.config.models import KeyedError
from docsis_control.config.yaml_file import plain
from docsis_control.controller import Controller
from docsis_control.dynamic.device_change import NotApplied
from docsis_control.dynamic.messages import (
    LARGEST,
    REQUEST,
    RESPONSE,
    FlowNumbers,
    Request,
    Response,
)
from docsis_control.local_socket import Service, listening
from docsis_control.modem_config.file import to_plain
from docsis_control.plan import Deployment
from docsis_control.queue_managers.management import as_written


class ChangeServer:
    """Answers requests."""

    def __init__(self, controller: Controller) -> None:
        """Args: what changes."""
        self._controller = controller

    async def respond(self, data: bytes) -> bytes:
        """The answer to a request, both as JSON."""
        return RESPONSE.dump_json(await self._respond(data, time.monotonic()))

    async def _respond(self, data: bytes, received: float) -> Response:
        try:
            request = REQUEST.validate_json(data)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            return _refused(f"the request is not one: {place}: {first['msg']}")
        try:
            deployment, in_force = await self._change(request)
        except KeyedError as error:
            return _refused(str(error), error.key)
        except NotApplied as error:
            return _refused(str(error))
        return _done(deployment, request.modem, (in_force - received) * 1e3)

    async def _change(self, request: Request) -> tuple[Deployment, float]:
        return await self._controller.change(
            request.modem,
            [message.change() for message in request.changes],
            [message.managed() for message in request.managed],
        )


def _refused(error: str, key: str = "") -> Response:
    return Response(error, key, {}, [], 0.0)


def _done(deployment: Deployment, modem: str, milliseconds: float) -> Response:
    plan = next(plan for plan in deployment.modems if plan.name == modem)
    configuration = plain(to_plain(plan.configuration))
    assert isinstance(configuration, dict)
    flows = [
        FlowNumbers(
            flow.direction,
            flow.reference,
            flow.sfid,
            flow.index,
            flow.queue_manager,
            as_written(flow.management),
        )
        for device in deployment.devices
        for flow in device.service_flows
        if flow.modem == plan.number
    ]
    return Response("", "", configuration, flows, milliseconds)


@contextlib.asynccontextmanager
async def serving_changes(controller: Controller, folder: Path) -> AsyncIterator[Path]:
    """Serves in the block, at a socket named by this process.

    Args:
        controller: The controller that makes the changes.
        folder: Folder in which controllers are looked for.

    Raises:
        OSError: There can be no socket there.
    """
    respond = ChangeServer(controller).respond
    async with listening(respond, folder, Service.CHANGES, most=LARGEST) as path:
        yield path
