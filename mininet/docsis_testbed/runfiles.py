# SPDX-License-Identifier: Apache-2.0
"""The files of a run in its folder: the lock, the keeper's socket, and what it has beside it.

A run's processes end with their PID namespace, and the interfaces of its hosts with theirs. What is
left to be recorded are interfaces of the namespace in which the run was started: by name and index,
because the kernel uses both again and neither alone is proof that an interface is ours. The run's
scratch folder, which is elsewhere because it may grow, by path and inode for the same reason. And
the settings of the machine that a run changes, with what they were before.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from docsis_testbed import real_time_settings
from docsis_testbed.errors import TestbedError
from docsis_testbed.namespaces import network_namespace
from docsis_testbed.run_sockets import remove_sockets

LOCK: Final = "lock"
STATE: Final = "run.json"
SOCKET: Final = "run.sock"


@dataclass(frozen=True)
class InterfaceId:
    """A network interface of the namespace in which the testbed was started."""

    name: str
    index: int


@dataclass(frozen=True)
class FolderId:
    """A folder, by its path and by its device and inode."""

    path: str
    device: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """The folder that is there now."""
        found = path.stat()
        return cls(str(path), found.st_dev, found.st_ino)

    @property
    def exists(self) -> bool:
        """Whether exactly this folder is still there: no link to one, and no other."""
        try:
            found = os.lstat(self.path)
        except OSError:
            return False
        return stat.S_ISDIR(found.st_mode) and (found.st_dev, found.st_ino) == (
            self.device,
            self.inode,
        )


@dataclass
class State:
    """The things that a run has made and not yet removed, and that no namespace of its takes along.

    Attributes:
        command: Command that the user started, for messages.
        network_namespace: The device and inode of the one in which it was started.
        interfaces: Interfaces that it made there.
        real_time: Settings of real time before the run changed them, by their file.
        scratch: Its folder for what is not kept, or None.
    """

    command: str
    network_namespace: tuple[int, int]
    interfaces: list[InterfaceId] = field(default_factory=list)
    real_time: dict[str, int] = field(default_factory=dict)
    scratch: FolderId | None = None

    def write(self, folder: Path) -> None:
        """Put it into a run's folder, in place of what was there."""
        scratch = folder / f"{STATE}.tmp"
        # Without deep copies: it is written again for everything that is made.
        scratch.write_text(json.dumps(vars(self), default=vars))
        scratch.replace(folder / STATE)


def load(folder: Path) -> State | None:
    """Reads the record in a run's folder; None when there is none.

    Raises:
        TestbedError: the file there is none of ours.
    """
    path = folder / STATE
    try:
        data = json.loads(path.read_text())
        device, inode = data["network_namespace"]
        real_time = data.get("real_time", {})
        scratch = data.get("scratch")
        return State(
            command=str(data["command"]),
            network_namespace=(int(device), int(inode)),
            interfaces=[InterfaceId(str(i["name"]), int(i["index"])) for i in data["interfaces"]],
            real_time={str(name): int(value) for name, value in real_time.items()},
            scratch=None
            if scratch is None
            else FolderId(str(scratch["path"]), int(scratch["device"]), int(scratch["inode"])),
        )
    except FileNotFoundError:
        return None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TestbedError(
            f"{path}: not a state file of ours ({error}); look at it and delete it"
        ) from None


def interface_index(name: str) -> int | None:
    """Index of an interface in this namespace; None when there is none."""
    try:
        return socket.if_nametoindex(name)
    except OSError:
        return None


def remove_interfaces(state: State) -> list[str]:
    """Delete exactly the recorded interfaces, as far as they are still there.

    Returns:
        What was removed, in words.

    Raises:
        TestbedError: it cannot be done, or not from here.
    """
    if state.interfaces and tuple(state.network_namespace) != network_namespace():
        names = ", ".join(interface.name for interface in state.interfaces)
        raise TestbedError(
            f"docsis-p4 {state.command} was killed and left interfaces ({names}) in the network "
            "namespace in which it was started; run `docsis-p4 stop` there, or, where that "
            "namespace is gone, delete the record"
        )
    return [f"interface {one.name}" for one in state.interfaces if remove_interface(one)]


def remove_interface(interface: InterfaceId) -> bool:
    """Delete an interface of this namespace, and say whether it was still there.

    Raises:
        TestbedError: it cannot be deleted.
    """
    if interface_index(interface.name) != interface.index:
        return False  # gone with its peer's namespace, or not ours
    # Here, as it takes a while to import: most processes have nothing to remove.
    from docsis_testbed.netlink import delete_link, reason

    try:
        # By index: the name may be another's by now.
        delete_link(interface.index)
    except OSError as error:
        if interface_index(interface.name) == interface.index:
            raise TestbedError(
                f"interface {interface.name} cannot be deleted ({reason(error)}); "
                f"run `ip link delete dev {interface.name}` yourself"
            ) from None
        return False
    return True


def put_back_settings(state: State) -> list[str]:
    """Set the machine's settings to what they were before the run.

    Returns:
        What was done, in words.
    """
    done = real_time_settings.put_back(real_time_settings.settings(), state.real_time)
    return [f"{name} (it is {state.real_time[name]} again)" for name in done]


def remove_scratch(state: State) -> list[str]:
    """Delete exactly the recorded scratch folder, if it is still there.

    Returns:
        What was removed, in words.

    Raises:
        TestbedError: it cannot be deleted.
    """
    scratch = state.scratch
    if scratch is None or not scratch.exists:
        return []
    # A run and its keepers may do this at once.
    shutil.rmtree(scratch.path, ignore_errors=True)
    if scratch.exists:
        raise TestbedError(
            f"{scratch.path}: this folder of docsis-p4 {state.command} cannot be deleted; see what "
            f"`rm -r {scratch.path}` says"
        )
    return [f"folder {scratch.path}"]


def clear_files(folder: Path) -> list[str]:
    """Remove what is recorded in a run's folder, and then the record.

    Returns:
        What was removed, in words.

    Raises:
        TestbedError: something cannot be removed; the record stays.
    """
    state = load(folder)
    removed = []
    if state is not None:
        removed += put_back_settings(state) + remove_interfaces(state) + remove_scratch(state)
    if any(folder.glob("*-*.sock")):
        # Here, as it takes a while to import: one of a controller that was killed, most likely.
        from docsis_control.local_socket import remove_dead

        remove_dead(folder)
    remove_sockets(folder)
    for name in (STATE, SOCKET):
        (folder / name).unlink(missing_ok=True)
    return removed
