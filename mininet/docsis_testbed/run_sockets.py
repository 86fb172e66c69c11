# SPDX-License-Identifier: Apache-2.0
"""The sockets of a run's switches, in the folder of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from docsis_testbed.paths import RUN_STATE

SOCKETS: Final = RUN_STATE / "p4runtime"
"""Folder of the sockets, which the switches make, and which nobody but their user may enter."""

SUFFIX: Final = ".sock"


def remove_sockets(folder: Path) -> None:
    """Remove the sockets of switches that were killed, and their folder, from a run's folder."""
    sockets = folder / SOCKETS.name
    if sockets.is_symlink() or not sockets.is_dir():
        return
    for path in sockets.glob(f"*{SUFFIX}"):
        if path.is_socket() and not path.is_symlink():
            path.unlink(missing_ok=True)
    if not any(sockets.iterdir()):
        sockets.rmdir()
