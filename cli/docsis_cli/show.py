# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 show`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_control.status import Status


def show(
    modem: Annotated[
        list[str] | None,
        typer.Option(
            "--modem", "-m", help="Only this modem, in detail; may be given more than once."
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show it again and again; Ctrl-C ends it.")
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", min=0.1, help="Seconds between two, with --watch.")
    ] = 1.0,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="JSON, one document a line; `docsis-p4 schema` tells its form."
        ),
    ] = False,
    pid: Annotated[
        int | None, typer.Option("--pid", help="Process of the controller, where several run.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--status-folder", help="Where controllers are looked for, if elsewhere."),
    ] = None,
) -> None:
    """Service flows, classifiers, counters and queues of the system that runs."""
    from docsis_cli import status_tables as view
    from docsis_control.status import StatusError, fetch
    from docsis_control.status.model import encode

    names = modem or []

    def get() -> Status:
        try:
            return view.chosen(fetch(pid, folder), names)
        except StatusError as error:
            raise TestbedError(str(error)) from None

    def wait() -> None:
        time.sleep(interval)

    if json:

        def put(status: Status) -> None:
            typer.echo(encode(status).decode())

        view.watch(get, put, wait) if watch else put(get())
        return
    console = Console()
    if not watch:
        console.print(view.render(get(), in_detail=bool(names)))
        return
    from rich.live import Live

    with Live(console=console, screen=console.is_terminal, auto_refresh=False) as live:

        def update(status: Status) -> None:
            live.update(view.render(status, in_detail=bool(names)), refresh=True)

        view.watch(get, update, wait)
