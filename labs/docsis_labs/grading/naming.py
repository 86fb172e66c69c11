# SPDX-License-Identifier: Apache-2.0
"""Names the submissions of a class after the folders that were given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from docsis_testbed.errors import TestbedError


def submissions(paths: Sequence[Path]) -> tuple[Mapping[str, Path], list[Path]]:
    """Tells folders of submissions from stray files, and names each by its last part.

    Where all paths end alike, as those of submissions/*/3-token-bucket do, the part in which they
    differ is the name.

    Args:
        paths: Paths as the user gave them.

    Returns:
        The folders by the submissions' names, and what is no folder.

    Raises:
        TestbedError: Something is not there, there is no folder, or two have the same name.
    """
    missing = [str(path) for path in paths if not os.path.lexists(path)]
    if missing:
        raise TestbedError(f"{', '.join(missing)}: there is no such folder; nothing was graded")
    # A link may lead to somebody else's submission, so it counts as a file.
    folders = [path for path in paths if path.is_dir() and not path.is_symlink()]
    others = [path for path in paths if path not in folders]
    if not folders:
        raise TestbedError(
            f"{', '.join(map(str, others))}: not a folder (nor is a link to one); give the folder "
            "of each submission"
        )
    named: dict[str, Path] = {}
    for folder, name in zip(folders, _names(folders), strict=True):
        if not name:
            raise TestbedError(f"{folder} has no name; give the folder of each submission")
        if name in named:
            raise TestbedError(
                f"{named[name]} and {folder} would both be the submission {name}; grade them "
                "apart, or rename one of the folders"
            )
        named[name] = folder
    return named, others


def _names(folders: Sequence[Path]) -> list[str]:
    """The last part of each path, without the ending that several paths have in common."""
    parts = [Path(os.path.abspath(folder)).parts[1:] for folder in folders]
    if len(parts) > 1 and len(set(parts)) == len(parts):
        while all(parts) and len({part[-1] for part in parts}) == 1:
            parts = [part[:-1] for part in parts]
    return [part[-1] if part else "" for part in parts]
