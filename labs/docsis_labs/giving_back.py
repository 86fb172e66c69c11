# SPDX-License-Identifier: Apache-2.0
"""Gives what root has made in a user's folder back to the user who called sudo."""

from __future__ import annotations

import os
from pathlib import Path


def give_back(folder: Path) -> None:
    """Makes a folder, with all that is in it, belong to the user who called sudo.

    It stays as it is unless root runs this for a user to whom the folder above belongs.
    """
    user, group = (os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID"))
    if os.geteuid() != 0 or not user.isdecimal() or not group.isdecimal():
        return
    if folder.parent.stat().st_uid != int(user) or folder.is_symlink() or not folder.exists():
        return
    os.lchown(folder, int(user), int(group))
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.lchown(Path(place, name), int(user), int(group))
