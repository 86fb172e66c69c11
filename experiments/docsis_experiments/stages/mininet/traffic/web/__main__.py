# SPDX-License-Identifier: Apache-2.0
"""Serves, or loads pages, until it is ended."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from pathlib import Path

from docsis_experiments.stages.mininet.traffic.web import read_servers, read_user
from docsis_experiments.stages.mininet.traffic.web.server import serve
from docsis_experiments.stages.mininet.traffic.web.user import User


async def _until_ended(work: Coroutine[None, None, None]) -> None:
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


async def _load(arguments: Sequence[str]) -> None:
    user, pages, received = map(Path, arguments)
    with pages.open("w") as loads, received.open("w") as samples:
        loading = User(read_user(user), loads, samples)
        print("ready", flush=True)
        await loading.run()


if __name__ == "__main__":
    what, *files = sys.argv[1:]
    with suppress(KeyboardInterrupt):
        work = serve(read_servers(Path(files[0]))) if what == "serve" else _load(files)
        asyncio.run(_until_ended(work))
