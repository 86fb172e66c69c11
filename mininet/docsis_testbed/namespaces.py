# SPDX-License-Identifier: Apache-2.0
"""Namespaces: a new one, and things made in those of other processes, where they stay."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from docsis_testbed.interrupts import interrupts_deferred

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000

_MS_NOSUID: Final = 2
_MS_NODEV: Final = 4
_MS_NOEXEC: Final = 8
_MS_REC: Final = 16384
_MS_SLAVE: Final = 1 << 19

T = TypeVar("T")


def made_in(pid: int, make: Callable[[], T]) -> T:
    """Calls `make` in the network namespace of a process, and returns its result, mostly a socket.

    Raises:
        OSError: the namespace cannot be entered, or `make` raised it.
    """
    descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        return made_with(descriptor, CLONE_NEWNET, make)
    finally:
        os.close(descriptor)


def made_with(namespace: int, kind: int, make: Callable[[], T]) -> T:
    """Calls `make` with another namespace, and returns its result; it may start no thread.

    Args:
        namespace: A descriptor of it. Of a PID namespace, processes that are started are in it.
        kind: CLONE_NEWNET or CLONE_NEWPID.
        make: Function that is called.

    Raises:
        OSError: the namespace cannot be entered, or `make` raised it.
    """
    return _made_behind(lambda: enter(namespace, kind), make)


def made_apart(kind: int, make: Callable[[], T]) -> T:
    """Calls `make` with a new namespace, which is gone when nothing is left in it.

    Args:
        kind: CLONE_NEWNET or CLONE_NEWPID.
        make: Function that is called.

    Raises:
        OSError: there is no new namespace to be had, or `make` raised it.
    """
    return _made_behind(lambda: unshare(kind), make)


def _made_behind(door: Callable[[], None], make: Callable[[], T]) -> T:
    """Calls `make` in a thread that has gone through a door before, and returns its result.

    An interrupt waits for the thread's end: its caller's clean-up would miss what it still makes.
    """
    made: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        # A namespace is a property of the thread; this one ends at once.
        try:
            door()
            made.append(make())
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    with interrupts_deferred():
        thread.start()
        thread.join()
    if failed:
        raise failed[0]
    return made[0]


def unshare(kind: int) -> None:
    """Give this thread, or with CLONE_NEWPID its next children, a namespace of its own.

    Raises:
        OSError: it is not permitted, or the kernel has no such namespaces.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(kind) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter(namespace: int, kind: int) -> None:
    """Move this thread, or with CLONE_NEWPID its next children, to a namespace.

    Raises:
        OSError: it cannot be entered.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, kind) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount_proc(pid: int) -> None:
    """Mount /proc, of this process's PID namespace, in the mount namespace of another process.

    For a process without threads. No program does this: there may be hundreds of hosts.

    Raises:
        OSError: it is not permitted, or that process has no mount namespace of its own.
    """
    here = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    there = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    try:
        if os.path.samestat(os.fstat(here), os.fstat(there)):
            raise OSError(errno.EBUSY, "it would be everybody's /proc")
        enter(there, CLONE_NEWNS)
        try:
            # Nothing that is mounted there is seen elsewhere.
            _mount(None, b"/", None, _MS_REC | _MS_SLAVE)
            _mount(b"proc", b"/proc", b"proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
        finally:
            enter(here, CLONE_NEWNS)
    finally:
        os.close(here)
        os.close(there)


def _mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source, target, kind, ctypes.c_ulong(flags), None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def network_namespace() -> tuple[int, int]:
    """Identifies the network namespace of this thread: while that exists, no other has the same."""
    found = os.stat("/proc/thread-self/ns/net")
    return found.st_dev, found.st_ino
