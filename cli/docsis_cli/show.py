# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 show`: the system that runs, or one of its upstream channels."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType

from docsis_cli.refusals import given, searchable
from docsis_testbed.errors import TestbedError
from docsis_testbed.terminal import terminal

if TYPE_CHECKING:
    from docsis_control.status import Status

app = typer.Typer(
    invoke_without_command=True,
    help="Show a running system's service flows, counters and queues.",
)

Watch = Annotated[
    bool, typer.Option("--watch", "-w", help="Show it again and again, until Ctrl-C.")
]
Interval = Annotated[
    float, typer.Option("--interval", min=0.1, help="With --watch: seconds between two readings.")
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print JSON, one document a line; `docsis-p4 schema` has its schema."
    ),
]
Pid = Annotated[
    int | None, typer.Option("--pid", help="Process id of the controller, where several run.")
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--status-folder",
        help="Folder in which to look for controllers, instead of the usual ones.",
        callback=searchable,
    ),
]


@app.callback()
def show(
    context: typer.Context,
    modem: Annotated[
        list[str] | None,
        typer.Option(
            "--modem", "-m", metavar="NAME", help="Show only this modem, in detail; repeatable."
        ),
    ] = None,
    watch: Watch = False,
    interval: Interval = 1.0,
    json: Json = False,
    pid: Pid = None,
    folder: Folder = None,
) -> None:
    """Show service flows, classifiers, counters and queues of the running system."""
    if context.invoked_subcommand is not None:
        for _, option in given(context):
            command = context.invoked_subcommand
            raise TestbedError(
                f"{option} has no effect before {command}; options of docsis-p4 show {command} "
                "follow its name"
            )
        return
    from docsis_cli import status_tables as view
    from docsis_control.status.model import encode

    names = modem or []

    def get() -> Status:
        return view.chosen(_fetched(pid, folder), names)

    def text(status: Status) -> str:
        return encode(status).decode()

    def render(status: Status) -> RenderableType:
        return view.render(status, in_detail=bool(names))

    _put(get, text if json else None, render, interval if watch else None)


@app.command()
def channel(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only this one, with all of its flows.")
    ] = None,
    watch: Watch = False,
    interval: Interval = 1.0,
    json: Json = False,
    pid: Pid = None,
    folder: Folder = None,
) -> None:
    """Show upstream channels: MAPs, requests and grants."""
    from docsis_cli import channel_tables as view

    def get() -> Status:
        return view.chosen(_fetched(pid, folder), name)

    def render(status: Status) -> RenderableType:
        return view.render(status, in_detail=name is not None)

    _put(get, view.encode if json else None, render, interval if watch else None)


def _fetched(pid: int | None, folder: Path | None) -> Status:
    from docsis_control.status import StatusError, fetch

    try:
        return fetch(pid, folder)
    except StatusError as error:
        raise TestbedError(str(error)) from None


def _put(
    get: Callable[[], Status],
    text: Callable[[Status], str] | None,
    render: Callable[[Status], RenderableType],
    interval: float | None,
) -> None:
    """Shows what `get` gets, once or, with an interval, again and again: as text, or rendered."""
    from docsis_cli import status_tables as view

    def wait() -> None:
        time.sleep(interval or 0.0)

    if text is not None:

        def put(status: Status) -> None:
            typer.echo(text(status))

        view.watch(get, put, wait) if interval is not None else put(get())
        return
    console = terminal()
    if interval is None:
        console.print(render(get()))
        return
    from rich.live import Live

    with Live(console=console, screen=console.is_terminal, auto_refresh=False) as live:

        def update(status: Status) -> None:
            live.update(render(status), refresh=True)

        view.watch(get, update, wait)
