# SPDX-License-Identifier: Apache-2.0
"""Measures what the live page costs a system that runs: python -m docsis_live.cost.

Blocks of time with a page that somebody looks at, and without, in turns: the processor time of the
page's process, what it sends, and how late the control loops are. A block lasts a minute unless
told: the controller tells quantiles of its last minute. The browser is left out.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psutil
from tornado.websocket import WebSocketClientConnection, websocket_connect

from docsis_control.local_socket import ControllerError, default_folder
from docsis_control.status.health import fetch_health

_READY_SECONDS: Final = 30.0
_MOST: Final = 1 << 20


@dataclass(frozen=True)
class Block:
    """The measurements of one block of time.

    Attributes:
        page: Whether there was a page.
        share: Share of one processor that the page's process took.
        updates: Updates that came a second.
        largest: Bytes of the longest update.
        lateness_ms: p99 of each control loop's lateness, over its last minute, by device.
    """

    page: bool
    share: float
    updates: float
    largest: int
    lateness_ms: dict[str, float]

    def __str__(self) -> str:
        late = ", ".join(f"{name} {ms:.3f} ms" for name, ms in self.lateness_ms.items())
        if not self.page:
            return f"without a page: loops late at p99 {late}"
        return (
            f"with a page: {100 * self.share:.2f}% of a core, {self.updates:.1f} updates a second, "
            f"the longest {self.largest} bytes; loops late at p99 {late}"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, and prints a line for each block.

    Returns:
        The exit code: 1 where no controller runs.
    """
    parser = argparse.ArgumentParser(prog="python -m docsis_live.cost", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of a block (default: 60)")
    parser.add_argument("--turns", type=int, default=3, help="blocks of each sort (default: 3)")
    parser.add_argument("--status-folder", type=Path, default=default_folder(), metavar="FOLDER")
    arguments = parser.parse_args(argv)
    try:
        asyncio.run(_measure(arguments.status_folder, arguments.seconds, arguments.turns))
    except (ControllerError, TimeoutError) as error:
        print(f"docsis_live.cost: {error or 'the page did not start in time'}", file=sys.stderr)
        return 1
    return 0


async def _measure(folder: Path, seconds: float, turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(seconds)
        print(Block(False, 0.0, 0.0, 0, _lateness(folder)), flush=True)
        print(await _with_page(folder, seconds), flush=True)


def _lateness(folder: Path) -> dict[str, float]:
    loops = fetch_health(None, folder).loops
    return {loop.device: loop.lateness_ms.p99 for loop in loops if loop.looped}


async def _with_page(folder: Path, seconds: float) -> Block:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "docsis_live", "--port", "0", "--only-show"),
        *("--status-folder", str(folder)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(_READY_SECONDS):
            line = await process.stdout.readline()
            port = urlsplit(line.decode().removeprefix("ready: ").strip()).port
            client = await websocket_connect(
                f"ws://127.0.0.1:{port}/api/updates", max_message_size=_MOST
            )
            modem = await _first_modem(client, folder)
        await client.write_message(json.dumps({"modem": modem}))
        return await _watched(client, psutil.Process(process.pid), folder, seconds)
    finally:
        process.terminate()
        await process.wait()


async def _first_modem(client: WebSocketClientConnection, folder: Path) -> str:
    from docsis_control.status import fetch

    while json.loads(await client.read_message() or "{}").get("key") is None:
        pass
    return (await asyncio.to_thread(fetch, None, folder)).modems[0].name


async def _watched(
    client: WebSocketClientConnection, process: psutil.Process, folder: Path, seconds: float
) -> Block:
    loop = asyncio.get_running_loop()
    start, before = loop.time(), process.cpu_times()
    count = largest = 0
    while loop.time() - start < seconds:
        message = await client.read_message()
        if message is None:
            raise ControllerError("the page ended under way")
        count += 1
        largest = max(largest, len(message))
    passed, after = loop.time() - start, process.cpu_times()
    used = after.user + after.system - before.user - before.system
    return Block(True, used / passed, count / passed, largest, _lateness(folder))


if __name__ == "__main__":
    sys.exit(main())
