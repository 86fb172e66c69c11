# SPDX-License-Identifier: Apache-2.0
"""A time of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """A time of a run, nanoseconds of the wall clock or of the virtual one."""

    start_ns: int
    end_ns: int
