# SPDX-License-Identifier: Apache-2.0
"""Finds the controllers of this user and asks them for their status."""

import json
import socket
from pathlib import Path
from typing import Final

from docsis_control.status.model import SCHEMA_VERSION, Status, decode
from docsis_control.status.place import default_folder, sockets

_SECONDS: Final = 10.0
_LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a document; far above what the pipeline's sizes allow."""


class StatusError(Exception):
    """There is no status; the message says why and what to do."""


def find_controllers(folder: Path | None = None) -> dict[int, Path]:
    """The sockets of the controllers that run, by process id.

    Args:
        folder: Where to look; `default_folder` unless given.
    """
    return {
        pid: path
        for pid, path in sockets(folder or default_folder()).items()
        if Path(f"/proc/{pid}").exists()
    }


def fetch(pid: int | None = None, folder: Path | None = None) -> Status:
    """The status of the controller that runs.

    Args:
        pid: Which one, where there are several.
        folder: Where to look; `default_folder` unless given.

    Raises:
        StatusError: None runs, several do, or it does not answer.
    """
    folder = folder or default_folder()
    running = find_controllers(folder)
    if not running:
        raise _nothing_runs(folder)
    if pid is None:
        if len(running) > 1:
            running = {pid: path for pid, path in running.items() if _answers(path)} or running
        if len(running) > 1:
            raise StatusError(
                f"several controllers run, processes {', '.join(map(str, running))}; "
                "choose one with --pid"
            )
        (pid,) = running
    elif pid not in running:
        raise StatusError(
            f"process {pid} is no running controller; there are {', '.join(map(str, running))}"
        )
    try:
        return _parse(_read(running[pid]), running[pid])
    except ConnectionRefusedError:
        # Left by one that was killed, whose id another process has now.
        raise _nothing_runs(folder) from None


def _nothing_runs(folder: Path) -> StatusError:
    return StatusError(
        f"no controller runs (looked in {folder}); start the system with `docsis-p4 run`, "
        "or a controller with `docsis-p4 controller`"
    )


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_SECONDS)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def _read(path: Path) -> bytes:
    data = bytearray()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(_SECONDS)
            client.connect(str(path))
            while chunk := client.recv(1 << 16):
                data += chunk
                if len(data) > _LARGEST:
                    raise StatusError(f"{path}: answers with more than {_LARGEST} bytes")
    except TimeoutError:
        raise StatusError(
            f"{path}: the controller does not answer within {_SECONDS:.0f} s"
        ) from None
    except ConnectionRefusedError:
        raise
    except OSError as error:
        raise StatusError(
            f"{path}: the controller ended or refuses: {error.strerror or error}"
        ) from None
    return bytes(data)


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
