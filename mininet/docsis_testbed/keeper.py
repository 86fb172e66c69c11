# SPDX-License-Identifier: Apache-2.0
"""Two small programs that end a run's processes with it, whatever ends the run.

    the run (docsis-p4 demo, run, ...)         in the caller's namespaces
      |- keeper                                 waits for the run's end, or for `docsis-p4 stop`
      |    `- init                              process 1 of the run's PID namespace
      `- switches, controller, shells, ...      all else that the run starts, in that namespace

When process 1 of a PID namespace ends, the kernel kills all that is in it: children, their
children, and what a user left in a host. Nothing needs to be listed or looked for. The run holds
one end of a socket, the lifeline, that closes however the run ends, SIGKILL included; so does the
keeper of another that init reads. The keeper then removes the interfaces that the run has recorded
and that no namespace takes along. Should the keeper be killed first, init does it, and so does the
run; should all three be killed at once, the processes are gone all the same, and the next
`docsis-p4` removes the interfaces.

All three hold the run's lock, so whoever has the lock knows that nothing is left of the run.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from docsis_testbed.namespaces import CLONE_NEWPID, enter, mount_proc, unshare
from docsis_testbed.runfiles import SOCKET, clear_files

READY: Final = b"ready"
CLEAR: Final = b"clear"
"""Kill everything in the namespace but init."""
CLEARED: Final = b"cleared"
PROC: Final = b"proc "
"""And a process, which gets a /proc of the namespace in its mounts; the caller's number of it."""
MOUNTED: Final = b"mounted"
END: Final = b"end"
STOP: Final = b"stop"
"""Somebody wants the run to end: passed on to it, and answered."""
KILL: Final = b"kill"
"""Somebody has waited long enough for that."""
ASKED: Final = b"asked"
FAILED: Final = b"failed: "

LONGEST: Final = 256
"""Bytes of a message."""

_DEATH_SECONDS: Final = 10.0
"""How long the kernel may take to end a namespace. It waits for parents outside to notice."""

_MOST_CLIENTS: Final = 16
_POLL_MILLISECONDS: Final = 2


class _Keeper:
    """The process between a run and the init of its namespace."""

    def __init__(self, folder: Path, lifeline: socket.socket) -> None:
        self._folder = folder
        self._lifeline = lifeline
        self._owner = os.pidfd_open(os.getppid())
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = folder / SOCKET
        path.unlink(missing_ok=True)
        self._listener.bind(str(path))
        path.chmod(0o600)
        self._listener.listen()
        self._listener.setblocking(False)
        self._clients: dict[int, socket.socket] = {}
        self._pid, self._init = self._start_init()
        self._init_end = os.pidfd_open(self._pid)

    def _start_init(self) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        own = os.open("/proc/self/ns/pid", os.O_RDONLY)
        unshare(CLONE_NEWPID)
        pid = os.fork()
        if pid == 0:
            ours.close()
            self._lifeline.close()
            self._listener.close()
            os.close(self._owner)
            try:
                _init(self._folder, theirs)
            finally:
                os._exit(0)
        theirs.close()
        # A process with children in another PID namespace can start no thread.
        enter(own, CLONE_NEWPID)
        os.close(own)
        return pid, ours

    def keep(self) -> None:
        """Serve until the run is over."""
        # Not yet waited for, so the id is init's. The descriptor stays what it is.
        namespace = os.open(f"/proc/{self._pid}/ns/pid", os.O_RDONLY)
        try:
            socket.send_fds(self._lifeline, [READY], [namespace])
        except OSError:
            # The run was interrupted before.
            return
        finally:
            os.close(namespace)
        poller = select.poll()
        for end in (self._lifeline, self._init, self._listener):
            poller.register(end, select.POLLIN)
        while True:
            for descriptor, _ in poller.poll():
                if descriptor == self._lifeline.fileno():
                    message = _receive(self._lifeline)
                    if message in (b"", END):
                        return
                    _send(self._init, message)
                elif descriptor == self._init.fileno():
                    message = _receive(self._init)
                    if not message:
                        return
                    _send(self._lifeline, message)
                elif descriptor == self._listener.fileno():
                    with suppress(OSError):
                        client, _ = self._listener.accept()
                        client.setblocking(False)
                        if len(self._clients) >= _MOST_CLIENTS:
                            client.close()
                            continue
                        self._clients[client.fileno()] = client
                        poller.register(client, select.POLLIN)
                else:
                    poller.unregister(descriptor)
                    self._serve(self._clients.pop(descriptor))

    def _serve(self, client: socket.socket) -> None:
        with client:
            message = _receive(client)
            if message == STOP and _send(self._lifeline, STOP):
                _send(client, ASKED)
            elif message == KILL:
                # Its end closes the lifeline.
                signal.pidfd_send_signal(self._owner, signal.SIGKILL)
                _send(client, ASKED)

    def end(self) -> None:
        """End the namespace, then remove what is recorded beside it."""
        self._listener.close()
        self._init.close()
        # The kernel ends a namespace when parents outside have noticed: the run, which may live.
        self._lifeline.close()
        poller = select.poll()
        poller.register(self._init_end, select.POLLIN)
        if poller.poll(_DEATH_SECONDS * 1000):
            os.waitpid(self._pid, 0)
        clear_files(self._folder)


def _init(folder: Path, keeper: socket.socket) -> None:
    """Process 1: orphans are its, and what it leaves alive the kernel kills."""
    # A process that ignores it need not wait for its children.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while message := _receive(keeper):
        if message == CLEAR:
            _kill_all(keeper)
            _send(keeper, CLEARED)
        elif message.startswith(PROC):
            try:
                mount_proc(int(message.removeprefix(PROC)))
            except OSError as error:
                _send(keeper, FAILED + str(error.strerror).encode()[: LONGEST - len(FAILED)])
            else:
                _send(keeper, MOUNTED)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # The keeper may have been killed.
    clear_files(folder)


def _kill_all(keeper: socket.socket) -> None:
    """SIGKILL for everything else in the namespace, until nothing or no keeper is left."""
    closed = select.poll()
    # No events are asked for, so poll() tells only that the keeper has closed its end.
    closed.register(keeper, 0)
    with suppress(ProcessLookupError):
        while True:
            # In a namespace, -1 is all of its processes but the first.
            os.kill(-1, signal.SIGKILL)
            # Processes that the run started stay until it has waited for them.
            if closed.poll(_POLL_MILLISECONDS):
                return


def _receive(end: socket.socket) -> bytes:
    """A message; empty when nobody is left at the other end."""
    try:
        return end.recv(LONGEST)
    except OSError:
        return b""


def _send(end: socket.socket, message: bytes) -> bool:
    """Whether a process is left to get it."""
    try:
        return end.send(message) == len(message)
    except OSError:
        return False


def main(arguments: list[str]) -> int:
    """Keep one run: FOLDER, and the descriptor of the lifeline; the lock's is only held."""
    # These are for the run, which tells what becomes of it, and whose end is this one's.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    lifeline = socket.socket(fileno=int(arguments[1]))
    try:
        keeper = _Keeper(Path(arguments[0]), lifeline)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _send(lifeline, FAILED + f"{error.strerror}{where}".encode()[: LONGEST - len(FAILED)])
        return 1
    try:
        keeper.keep()
    finally:
        keeper.end()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
