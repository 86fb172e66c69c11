# SPDX-License-Identifier: Apache-2.0
"""The limits of a program of somebody else."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of one process in a sandbox, and of those that it starts.

    Attributes:
        processor_seconds: Then it is killed.
        memory: Address space of each process, bytes.
        processes: How many, threads among them, itself among them.
        file_bytes: Largest file that it may write, where it may write any.
        open_files: How many at a time.
    """

    processor_seconds: int
    memory: int
    processes: int
    file_bytes: int
    open_files: int

    def document(self) -> dict[str, Any]:
        """As the starter reads it."""
        return asdict(self)


PYTHON = Limits(processor_seconds=5, memory=96 * MEGABYTE, processes=1, file_bytes=0, open_files=16)
"""Limits of a student's Python."""

COMPILER = Limits(
    processor_seconds=6,
    memory=256 * MEGABYTE,
    processes=8,
    file_bytes=8 * MEGABYTE,
    open_files=64,
)
"""Limits of p4c with a student's program."""
