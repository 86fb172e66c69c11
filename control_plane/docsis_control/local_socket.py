# SPDX-License-Identifier: Apache-2.0
"""Unix sockets in a folder of the user's, by which the user's processes reach a controller.

A controller has one for each thing that can be asked of it, named by its process.
A connection is one exchange: the client says what it wants and ends its sending,
the controller answers and closes.
"""

import asyncio
import contextlib
import os
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import Final

_SUFFIX: Final = ".sock"
_SECONDS: Final = 10.0
"""How long an answer may take."""
_LARGEST: Final = 64 * 1024 * 1024
"""Bytes of an answer; far above what the pipeline's sizes allow."""
_BACKLOG: Final = 16

_CLIENT_SECONDS: Final = 5.0
"""How long a client may take to say what it wants, and to take the answer."""

Respond = Callable[[bytes], Awaitable[bytes]]
"""The answer to a request."""


class Service(StrEnum):
    """The services of a controller or a run; a socket's name without the process."""

    STATUS = "controller"
    CHANGES = "changes"
    HEALTH = "health"
    TRAFFIC = "traffic"


class ControllerError(Exception):
    """No controller answers; the message says why and what to do."""


class UnansweredError(ControllerError):
    """The controller may have heard the request, and has not answered it."""


def default_folder() -> Path:
    """The testbed's folder for root, the user's runtime folder for others."""
    user = os.geteuid()
    if user == 0:
        return Path("/run/docsis-p4")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "docsis-p4"
    return Path(tempfile.gettempdir()) / f"docsis-p4-{user}"


def own_pid() -> int:
    """This process's id as others read it in /proc.

    In a PID namespace of a run it has another, which means nothing to those outside, or somebody
    else.
    """
    return int(os.readlink("/proc/self"))


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


def socket_of(folder: Path, pid: int, service: Service = Service.STATUS) -> Path:
    """The socket of the controller with that process id."""
    return folder / f"{service}-{pid}{_SUFFIX}"


def sockets(folder: Path, service: Service = Service.STATUS) -> dict[int, Path]:
    """The sockets that are there, by process id; one whose controller was killed may be among."""
    found = {}
    prefix = f"{service}-"
    for path in sorted(folder.glob(f"{prefix}*{_SUFFIX}")):
        digits = path.name.removeprefix(prefix).removesuffix(_SUFFIX)
        if digits.isascii() and digits.isdigit():
            found[int(digits)] = path
    return found


def remove_dead(folder: Path) -> None:
    """Removes the sockets of processes that are gone."""
    for service in Service:
        for pid, path in sockets(folder, service).items():
            if not _lives(pid, path):
                path.unlink(missing_ok=True)


def _lives(pid: int, path: Path) -> bool:
    # One that is not seen may be in another PID namespace; then it answers nevertheless.
    return Path(f"/proc/{pid}").exists() or _answers(path)


async def _read(reader: asyncio.StreamReader, most: int) -> bytes:
    data = bytearray()
    while chunk := await reader.read(1 << 16):
        data += chunk
        if len(data) > most:
            raise OSError("the request is too long")
    return bytes(data)


async def _serve(
    respond: Respond,
    most: int,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    try:
        async with asyncio.timeout(_CLIENT_SECONDS):
            request = await _read(reader, most) if most else b""
        writer.write(await respond(request))
        async with asyncio.timeout(_CLIENT_SECONDS):
            await writer.drain()
    except (OSError, TimeoutError):
        # The client went away or sleeps: its loss.
        writer.transport.abort()
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def listening(
    respond: Respond, folder: Path, service: Service = Service.STATUS, *, most: int = 0
) -> AsyncIterator[Path]:
    """Serves in the block, at a socket named by this process, whom only its user may connect to.

    Args:
        respond: Makes the answer of one connection.
        folder: Folder in which controllers are looked for.
        service: The service that the socket is for.
        most: Bytes of a request; 0 where nothing needs to be said, and nothing is read.

    Raises:
        OSError: There can be no socket there.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _serve(respond, most, reader, writer)

    prepare(folder)
    remove_dead(folder)
    path = socket_of(folder, own_pid(), service)
    # An earlier process with this id may have left its socket.
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            listener.bind(str(path))
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
        # Nobody can connect before it listens, so there is no moment with other permissions.
        path.chmod(0o600)
        async with await asyncio.start_unix_server(serve, sock=listener, backlog=_BACKLOG):
            yield path
    finally:
        listener.close()
        path.unlink(missing_ok=True)


def running(folder: Path, service: Service = Service.STATUS) -> dict[int, Path]:
    """The sockets of the controllers that run, by process id."""
    return {pid: path for pid, path in sockets(folder, service).items() if _lives(pid, path)}


def ask(
    request: bytes,
    service: Service = Service.STATUS,
    pid: int | None = None,
    folder: Path | None = None,
) -> tuple[bytes, Path]:
    """The answer of the controller that runs, and the socket that it came from.

    Args:
        request: The request.
        service: The service that is asked.
        pid: Which controller, where there are several.
        folder: Folder in which to look; `default_folder` unless given.

    Raises:
        ControllerError: None runs, several do, or it does not answer.
    """
    folder = folder or default_folder()
    found = running(folder, service)
    if not found:
        raise _nothing_runs(folder)
    if pid is None:
        if len(found) > 1:
            found = {pid: path for pid, path in found.items() if _answers(path)} or found
        if len(found) > 1:
            raise ControllerError(
                f"several controllers run, processes {', '.join(map(str, found))}; "
                "choose one with --pid"
            )
        (pid,) = found
    elif pid not in found:
        raise ControllerError(
            f"process {pid} is no running controller; there are {', '.join(map(str, found))}"
        )
    try:
        return _exchange(found[pid], request), found[pid]
    except ConnectionRefusedError:
        # Left by one that was killed, whose id another process has now.
        raise _nothing_runs(folder) from None


def _nothing_runs(folder: Path) -> ControllerError:
    return ControllerError(
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


def _exchange(path: Path, request: bytes) -> bytes:
    data = bytearray()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(_SECONDS)
            client.connect(str(path))
            # A server that needs no request, or not all of it, may have answered and closed.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
            while chunk := client.recv(1 << 16):
                data += chunk
                if len(data) > _LARGEST:
                    raise ControllerError(f"{path}: answers with more than {_LARGEST} bytes")
    except TimeoutError:
        raise UnansweredError(
            f"{path}: the controller does not answer within {_SECONDS:.0f} s"
        ) from None
    except ConnectionRefusedError:
        raise
    except OSError as error:
        raise UnansweredError(
            f"{path}: the controller ended or refuses: {error.strerror or error}"
        ) from None
    return bytes(data)
