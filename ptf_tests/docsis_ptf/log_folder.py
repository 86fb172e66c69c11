# SPDX-License-Identifier: Apache-2.0
"""The folder of PTF's logs. PTF removes all that is in it before it writes the first one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

NAME: Final = "ptf-logs"
"""Its name in the folder of the results; nobody keeps files of their own under this one."""
_MAIN: Final = "main.log"
"""PTF begins with this log, whatever it runs; the others are those of the tests."""


def of(results: Path) -> Path:
    """The folder of PTF's logs in a folder of results.

    ValueError: Something is there that PTF would remove and has not written.
    """
    folder = results / NAME
    # A link is left alone, too, wherever it leads.
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ValueError(
            f"{folder}: PTF's logs need a folder of this name, and this is none; move it away, or"
            " give another folder (--results)"
        )
    if folder.is_dir() and (foreign := _foreign(folder)):
        raise ValueError(
            f"{folder}: PTF empties this folder, and {foreign}; move it away, or give another"
            " folder (--results)"
        )
    return folder


def _foreign(folder: Path) -> str:
    """Says why a folder is not one of PTF's logs; empty if it is one, or has nothing in it."""
    there = sorted(folder.iterdir())
    for path in there:
        if path.suffix != ".log" or not path.is_file():
            return f"{path.name} in it is not one of PTF's logs"
    if there and folder / _MAIN not in there:
        return f"its logs are not PTF's: there is no {_MAIN}"
    return ""
