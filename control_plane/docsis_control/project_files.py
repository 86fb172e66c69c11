# SPDX-License-Identifier: Apache-2.0
"""Places of the project's own files: in a clone, or beside the packages that pip installed.

An installed wheel has a folder with the files that commands read, laid out as in a clone:
topologies/, p4src/ and some more. What is built with Rust or runs Mininet takes a clone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_BESIDE: Final = Path(__file__).resolve().parents[1] / "docsis_p4_files"
_CLONE: Final = Path(__file__).resolve().parents[2]

INSTALLED: Final = _BESIDE.is_dir()
"""Whether pip installed this, and there is no clone around it."""

ROOT: Final = _BESIDE if INSTALLED else _CLONE
"""The folder that has topologies/, p4src/ and the like."""


def package_folder(name: str, place: str) -> Path:
    """Returns the folder of one of the project's packages.

    Args:
        name: Its name, which is the folder's when it is installed.
        place: The folder in a clone that the package's folder is in.
    """
    return _BESIDE.parent / name if INSTALLED else _CLONE / place / name


def how_to_get(command: str) -> str:
    """Returns what a user should do to get something that `make` sets up in a clone.

    Args:
        command: The command for the clone, as in "make setup".
    """
    if INSTALLED:
        return f"clone the project's repository and run `{command}` in the clone"
    return f"run `{command}`"
