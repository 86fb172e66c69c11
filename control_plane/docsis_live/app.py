# SPDX-License-Identifier: Apache-2.0
"""The process of the live page: beside the system, behind it in priority."""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from docsis_control.digits import LAST_TCP_PORT, decimal
from docsis_control.local_socket import default_folder
from docsis_live.actions import Actor
from docsis_live.guard import LOOPBACK, Guard
from docsis_live.handlers import Shared
from docsis_live.hub import Hub
from docsis_live.sampler import Sampler, Update
from docsis_live.server import PortTaken, listen, serve

DEFAULT_PORT: Final = 8600
_NICE: Final = 10
"""Hosts, switches and controller go first, and compilers that run beside them last."""


def main(argv: Sequence[str] | None = None) -> int:
    """Serves the page until SIGTERM or SIGINT.

    Prints one line that starts with "ready" and has the page's address, with the token.

    Args:
        argv: Arguments without the program's name; those of the process by default.

    Returns:
        The exit code: 0 after a signal, 1 after an error, which is one sentence on stderr.
    """
    parser = argparse.ArgumentParser(
        prog="docsis-p4 live", description="A page that shows a running system."
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=DEFAULT_PORT,
        help=f"TCP port on {LOOPBACK}; 0 for any that is free (default: %(default)s)",
    )
    parser.add_argument("--pid", type=int, help="process of the controller, where several run")
    parser.add_argument(
        "--status-folder",
        type=Path,
        default=default_folder(),
        metavar="FOLDER",
        help="where controllers are looked for (default: %(default)s)",
    )
    parser.add_argument(
        "--only-show", action="store_true", help="nothing can be started or switched from the page"
    )
    parser.add_argument(
        "--until-stdin-ends",
        action="store_true",
        help="end, too, when nobody can write to standard input any more",
    )
    arguments = parser.parse_args(argv)
    try:
        asyncio.run(
            run(
                arguments.port,
                arguments.pid,
                arguments.status_folder,
                may_act=not arguments.only_show,
                until_stdin_ends=arguments.until_stdin_ends,
            )
        )
    except PortTaken as error:
        print(f"docsis-p4 live: {error}", file=sys.stderr)
        return 1
    return 0


def _port(text: str) -> int:
    # 0 lets the system choose.
    if (port := decimal(text, LAST_TCP_PORT)) is not None:
        return port
    raise argparse.ArgumentTypeError(f'"{text}" is not a TCP port; give 0 to 65535')


async def run(
    port: int, pid: int | None, folder: Path, *, may_act: bool, until_stdin_ends: bool = False
) -> None:
    """Serves until a signal, or until standard input ends.

    Raises:
        PortTaken: The port cannot be had.
    """
    sockets, port = listen(port)
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    loop = asyncio.get_running_loop()
    sampler: Sampler

    def publish(update: Update) -> None:
        # The loop may be closed at the end.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(hub.publish, update)

    def watch(modems: tuple[str, ...]) -> None:
        sampler.watched = modems

    hub = Hub(watch)
    sampler = Sampler(publish, pid, folder)
    shared = Shared(hub, Guard(port, may_act=may_act), Actor(pid, folder))
    shared.refresh = sampler.refresh
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if until_stdin_ends:
        loop.add_reader(sys.stdin.fileno(), _read_to_end, stop)
    server = serve(shared, sockets)
    sampler.start()
    token = f"#token={shared.guard.token}" if shared.guard.token else ""
    print(f"ready: http://{LOOPBACK}:{port}/{token}", flush=True)
    try:
        await stop.wait()
    finally:
        if shared.catching is not None:
            shared.catching.end()
        server.stop()
        await asyncio.to_thread(sampler.end)


def _read_to_end(stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1 << 10):
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        stop.set()
