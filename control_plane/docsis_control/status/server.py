# SPDX-License-Identifier: Apache-2.0
"""Serves the status to processes of the same user: connect, read one JSON document to its end.

A Unix socket that only its owner may connect to. Whoever connects sends nothing,
so there is nothing to parse and nothing to get wrong.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

from docsis_control.local_socket import listening
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.status.model import Status, encode

_LOG: Final = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def serving(get: Callable[[], Awaitable[Status]], folder: Path) -> AsyncIterator[Path]:
    """Serves in the block, at a socket named by this process.

    Args:
        get: Gets the status.
        folder: Folder in which controllers are looked for.

    Raises:
        OSError: There can be no socket there.
    """

    async def document(_request: bytes) -> bytes:
        """The status as JSON, or an object with the one key "error"."""
        try:
            # Hundreds of service flows take longer to write down than the control loop can wait.
            return await asyncio.to_thread(encode, await get())
        except P4RuntimeError as error:
            return json.dumps({"error": str(error)}).encode()

    async with listening(document, folder) as path:
        _LOG.info("status at %s", path)
        yield path
