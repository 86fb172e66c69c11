# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 live`, and what `run --live` and `demo --live` have beside the system."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from docsis_cli.refusals import searchable

if TYPE_CHECKING:
    from docsis_experiments.stages.mininet.traffic.on_demand import Launcher

DEFAULT_PORT: Final = 8600

LiveOption = Annotated[
    bool,
    typer.Option("--live", help="Also serve a live page on 127.0.0.1; docs/live.md describes it."),
]
LivePortOption = Annotated[
    int,
    typer.Option(
        "--live-port", min=0, max=65535, help="TCP port of the live page; 0 takes any that is free."
    ),
]


def live(
    port: Annotated[
        int,
        typer.Option(
            "--port", min=0, max=65535, help="TCP port on 127.0.0.1; 0 takes any that is free."
        ),
    ] = DEFAULT_PORT,
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
    only_show: Annotated[
        bool, typer.Option("--only-show", help="Serve a page that starts and switches nothing.")
    ] = False,
) -> None:
    """Serve a page that shows and switches the running system.

    It is served on 127.0.0.1 until Ctrl-C; docs/live.md describes it.
    """
    from docsis_live.app import main

    words = ["--port", str(port)]
    if pid is not None:
        words += ["--pid", str(pid)]
    if folder is not None:
        words += ["--status-folder", str(folder)]
    if only_show:
        words.append("--only-show")
    raise typer.Exit(main(words))


@contextmanager
def page(console: Console, port: int, *, only_show: bool = False) -> Iterator[None]:
    """Serves a live page within the block, and prints its address.

    Args:
        console: Gets the address.
        port: Port of the page.
        only_show: Whether the page may only show, and start and switch nothing.

    Raises:
        TestbedError: It cannot be served there.
    """
    from docsis_testbed.live_page import live_page

    # A file without a name: however this process ends, nothing is left of it.
    with (
        TemporaryFile() as log,
        live_page(Path(f"/proc/self/fd/{log.fileno()}"), port, only_show=only_show) as address,
    ):
        console.print(f"Live page: {address}", soft_wrap=True, highlight=False)
        yield


@contextmanager
def beside_run(testbed: Launcher, console: Console, *, port: int | None) -> Iterator[None]:
    """Runs services beside the system: traffic on demand, and a live page if one is wanted.

    Args:
        testbed: The testbed, whose hosts send.
        console: Gets the page's address.
        port: Port of the page; None for no page.
    """
    from docsis_experiments.stages.mininet.traffic.on_demand import traffic_on_demand

    with traffic_on_demand(testbed):
        if port is None:
            yield
        else:
            with page(console, port):
                yield
