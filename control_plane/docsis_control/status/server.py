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

_SEND_SECONDS: Final = 5.0
"""How long a reader may take."""

_LOG: Final = logging.getLogger(__name__)


class StatusServer:
    """Answers each connection with the status."""

    def __init__(self, get: Callable[[], Awaitable[Status]]) -> None:
        """Args: what gets the status."""
        self._get = get

    async def document(self) -> bytes:
        """The status as JSON, or an object with the one key "error"."""
        try:
            # Hundreds of service flows take longer to write down than the control loop can wait.
            return await asyncio.to_thread(encode, await self._get())
        except P4RuntimeError as error:
            return json.dumps({"error": str(error)}).encode()

    async def answer(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        try:
            writer.write(await self.document())
            await asyncio.wait_for(writer.drain(), _SEND_SECONDS)
        except (OSError, TimeoutError):
            # The reader went away or sleeps: its loss.
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


@contextlib.asynccontextmanager
async def serving(get: Callable[[], Awaitable[Status]], folder: Path) -> AsyncIterator[Path]:
    """Serves in the block, at a socket named by this process.

    Args:
        get: Gets the status.
        folder: Where controllers are looked for.

    Raises:
        OSError: There can be no socket there.
    """
    async with listening(StatusServer(get).answer, folder) as path:
        _LOG.info("status at %s", path)
        yield path
