# SPDX-License-Identifier: Apache-2.0
"""Finds the controllers of this user and asks them for their status."""

import json
from pathlib import Path

from docsis_control.local_socket import ControllerError, ask, default_folder, running
from docsis_control.status.model import SCHEMA_VERSION, Status, decode


class StatusError(Exception):
    """There is no status; the message says why and what to do."""


def find_controllers(folder: Path | None = None) -> dict[int, Path]:
    """The sockets of the controllers that run, by process id.

    Args:
        folder: Folder in which to look; `default_folder` unless given.
    """
    return running(folder or default_folder())


def fetch(pid: int | None = None, folder: Path | None = None) -> Status:
    """The status of the controller that runs.

    Args:
        pid: Which one, where there are several.
        folder: Folder in which to look; `default_folder` unless given.

    Raises:
        StatusError: None runs, several do, or it does not answer.
    """
    try:
        return _parse(*ask(b"", pid=pid, folder=folder))
    except ControllerError as error:
        raise StatusError(str(error)) from None


def _parse(data: bytes, path: Path) -> Status:
    try:
        content = json.loads(data)
    except ValueError:
        raise StatusError(f"{path}: the controller ended before it had answered") from None
    if isinstance(content, dict) and set(content) == {"error"}:
        raise StatusError(f"the controller cannot tell its status: {content['error']}")
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version != SCHEMA_VERSION:
        raise StatusError(
            f"{path}: the controller speaks version {version} of the status and this program "
            f"{SCHEMA_VERSION}; use the two of one version"
        )
    try:
        return decode(data)
    except ValueError as error:
        raise StatusError(f"{path}: answers with something else: {error}") from None
