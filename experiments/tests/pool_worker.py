# SPDX-License-Identifier: Apache-2.0
"""A worker of a pool that dies; its process imports what is here, and nothing of a run."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection


def die(connection: Connection, scratch: str) -> None:
    """Is killed as soon as it has something to do."""
    del scratch
    connection.recv_bytes()
    os._exit(9)
