# SPDX-License-Identifier: Apache-2.0
"""Loads all code that makes a result before the first one is made, and hashes it.

Some modules are imported within functions: the law of a queue manager when it is first played, for
instance. If such a file were changed between two runs of a process, the second run would have the
new law, and its key would have the hash of the old one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TypeVar

from docsis_experiments.runs import closure, sources
from docsis_testbed.errors import TestbedError

T = TypeVar("T")


@functools.cache
def parts() -> Mapping[str, str]:
    """The parts that make the result of a run in virtual time, of a process that has loaded them.

    Whoever plays calls this first. It takes some tenths of a second once, and then nothing.

    Raises:
        TestbedError: Something was changed since this process hashed it, or cannot be read.
    """
    return _loaded(
        sources.roots("virtual"),
        lambda: sources.parts("virtual"),
        lambda: sources.parts_now("virtual"),
    )


@functools.cache
def of(module: str) -> str:
    """A hash of a module and of all that it imports, of a process that has loaded them.

    Raises:
        TestbedError: Something was changed since this process hashed it, or cannot be read.
    """
    return _loaded((module,), lambda: sources.code(module), lambda: sources.code_now(module))


def _loaded(roots: tuple[str, ...], hashed: Callable[[], T], now: Callable[[], T]) -> T:
    # What is changed while it is loaded may be loaded from either version, so it is hashed twice.
    found = hashed()
    closure.load(*roots)
    if now() != found:
        raise TestbedError(sources.CHANGED)
    return found
