# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium: its command, whose user it is, and its end."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final

from docsis_experiments.stages.mininet.traffic.video import BROWSER

_USER: Final = "nobody"
"""Whom the browser runs as where we are root: it has no business of root's."""
_END_SECONDS: Final = 3.0

_SWITCHES: Final = (
    "--headless",
    # Its sandbox wants namespaces that a container may not make. It loads two pages, both ours.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-breakpad",
    "--metrics-recording-only",
    # Nobody looks at it, and it is to go on all the same.
    "--autoplay-policy=no-user-gesture-required",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)


def installed() -> bool:
    """Whether the browser is there."""
    return shutil.which(BROWSER) is not None


def command(address: str, server: str, profile: Path) -> list[str]:
    """The browser on a page.

    Args:
        address: Address of the page.
        server: IPv4 address of the video's server.
        profile: A folder that it may write to.
    """
    # It speaks with its page's server and the video's, and with nobody else; addresses are names.
    known = f"MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE {server}"
    own = (f"--host-resolver-rules={known}", f"--user-data-dir={profile}")
    return [BROWSER, *_SWITCHES, *own, address]


@asynccontextmanager
async def browsing(
    address: str, server: str, log: IO[bytes]
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A browser on a page, until the end of the block.

    Args:
        address: Address of the page.
        server: IPv4 address of the video's server.
        log: Gets what the browser says.
    """
    whose: dict[str, Any] = {}
    with TemporaryDirectory(prefix="docsis-player-", ignore_cleanup_errors=True) as folder:
        if os.geteuid() == 0:
            user = pwd.getpwnam(_USER)
            os.chown(folder, user.pw_uid, user.pw_gid)
            whose = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        process = await asyncio.create_subprocess_exec(
            *command(address, server, Path(folder)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Nothing of ours that its user may not see.
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": folder, "LANG": "C.UTF-8"},
            cwd="/",
            # Its processes are a group, which ends as a whole.
            start_new_session=True,
            **whose,
        )
        try:
            yield process
        finally:
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(_END_SECONDS):
            await process.wait()
    # Those of the group that did not listen.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
