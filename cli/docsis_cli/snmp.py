# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 snmp`."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docsis_cli.refusals import searchable
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_control.status import Status


def snmp(
    port: Annotated[
        int,
        typer.Option(
            "--port", min=0, max=65535, help="UDP port on 127.0.0.1; 0 takes any that is free."
        ),
    ] = 1161,
    community: Annotated[
        str,
        typer.Option("--community", help="Community; requests that do not name it get no answer."),
    ] = "public",
    pid: Annotated[
        int | None, typer.Option("--pid", help="Process id of the controller, where several run.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--status-folder",
            help="Folder in which to look for controllers, instead of the usual ones.",
            callback=searchable,
        ),
    ] = None,
) -> None:
    """Serve the running system over SNMPv2c, until Ctrl-C.

    The agent is read-only, and listens on 127.0.0.1.
    """
    from docsis_control.status import StatusError, fetch

    if not community:
        raise TestbedError("--community: give one, as in --community public")

    def get() -> Status:
        return fetch(pid, folder)

    logging.basicConfig(level=logging.WARNING, format="docsis-p4 snmp: %(message)s")
    try:
        get()
        asyncio.run(_serve(get, port, community))
    except (StatusError, RuntimeError) as error:
        raise TestbedError(str(error)) from None


async def _serve(get: Callable[[], Status], port: int, community: str) -> None:
    from docsis_control.snmp.agent import LOOPBACK, serving_snmp

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving_snmp(get, port, community) as served:
        typer.echo(f"ready: SNMPv2c at {LOOPBACK}:{served}")
        await stop.wait()
