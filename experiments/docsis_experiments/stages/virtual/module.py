# SPDX-License-Identifier: Apache-2.0
"""The extension module that runs virtual worlds, which has to be built first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from docsis_control.project_files import how_to_get
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_world import World

LARGEST_SEED = 2**64 - 1


def check_seed(seed: int) -> int:
    """The seed, if it is one.

    Raises:
        TestbedError: It is out of range.
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise TestbedError(f"--seed {seed}: a seed is a number from 0 to 2^64-1 ({LARGEST_SEED})")
    return seed


def check_built() -> None:
    """Refuse to go on without the module.

    Raises:
        TestbedError: It cannot be loaded.
    """
    try:
        import docsis_world  # noqa: F401
    except ImportError as error:
        raise TestbedError(
            f"the virtual world is not built ({error}); {how_to_get('make setup-virtual')}"
        ) from None


def empty_world(seed: int) -> World:
    """A world at time 0 with nothing in it."""
    check_built()
    from docsis_world import World

    return World(seed)


@contextmanager
def in_words() -> Iterator[None]:
    """Turns a world's refusals and failures into the words of other failures of a run.

    Raises:
        TestbedError: With the world's own sentence.
    """
    from docsis_world import RpcError, WorldError

    try:
        yield
    except (WorldError, RpcError) as error:
        raise TestbedError(f"the virtual world: {error}") from error
