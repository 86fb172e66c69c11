# SPDX-License-Identifier: Apache-2.0
"""Where controllers of this user are found: one Unix socket each, in a folder of the user's."""

import os
import stat
import tempfile
from pathlib import Path
from typing import Final

_PREFIX: Final = "controller-"
_SUFFIX: Final = ".sock"


def default_folder() -> Path:
    """The testbed's folder for root, the user's runtime folder for others."""
    user = os.geteuid()
    if user == 0:
        return Path("/run/docsis-p4")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "docsis-p4"
    return Path(tempfile.gettempdir()) / f"docsis-p4-{user}"


def prepare(folder: Path) -> None:
    """Makes the folder.

    Raises:
        OSError: It cannot be made, or is not this user's alone to write to: in a folder that
            others share, somebody else could have put it there.
    """
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    found = folder.lstat()
    if (
        not stat.S_ISDIR(found.st_mode)
        or found.st_uid != os.geteuid()
        or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise OSError(0, "is not a folder that only this user may write to", str(folder))


def socket_of(folder: Path, pid: int) -> Path:
    """The socket of the controller with that process id."""
    return folder / f"{_PREFIX}{pid}{_SUFFIX}"


def sockets(folder: Path) -> dict[int, Path]:
    """The sockets that are there, by process id; one whose controller was killed may be among."""
    found = {}
    for path in sorted(folder.glob(f"{_PREFIX}*{_SUFFIX}")):
        digits = path.name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
        if digits.isascii() and digits.isdigit():
            found[int(digits)] = path
    return found


def remove_dead(folder: Path) -> None:
    """Removes the sockets of processes that are gone."""
    for pid, path in sockets(folder).items():
        if not Path(f"/proc/{pid}").exists():
            path.unlink(missing_ok=True)
