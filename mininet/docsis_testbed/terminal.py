# SPDX-License-Identifier: Apache-2.0
"""The terminal that commands print to."""

from __future__ import annotations

from rich.console import Console


def terminal(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Makes a console that prints text as it is.

    Labels, titles and paths come from users' files, and Rich would take `[old]` in one of them
    for markup: leave it out, or fail.

    Args:
        stderr: Prints to standard error.
        quiet: Prints nothing.
    """
    return Console(markup=False, stderr=stderr, quiet=quiet)
