# SPDX-License-Identifier: Apache-2.0
"""Serves videos, or plays one, until it is ended."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path

from docsis_experiments.stages.mininet.traffic.video import read_player, read_servers
from docsis_experiments.stages.mininet.traffic.video.player import play
from docsis_experiments.stages.mininet.traffic.video.server import serve
from docsis_testbed.errors import TestbedError


async def _until_ended(work: Coroutine[None, None, None]) -> None:
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


if __name__ == "__main__":
    what, *files = sys.argv[1:]
    first, *others = map(Path, files)
    with suppress(KeyboardInterrupt):
        try:
            if what == "serve":
                asyncio.run(_until_ended(serve(read_servers(first))))
            else:
                times, segments, samples = others
                asyncio.run(_until_ended(play(read_player(first), times, segments, samples)))
        except TestbedError as error:
            sys.exit(str(error))
