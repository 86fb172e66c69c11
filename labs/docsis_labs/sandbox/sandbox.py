# SPDX-License-Identifier: Apache-2.0
"""A sandbox of bubblewrap: no network, no files but the system's libraries, no other processes.

bubblewrap gives a process namespaces of its own; the starter inside sets limits of processor time,
memory, processes and files. What is left to whoever starts it is the limit of wall time: killing
the process that `start` returns ends everything inside.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_labs.sandbox.limits import Limits
from docsis_testbed.errors import TestbedError

_STARTER: Final = Path(__file__).with_name("starter.py")
_INSIDE: Final = "/inside"
"""The folder that has the files which a program in a sandbox is given."""

_FIRST_USER: Final = 1_900_000_000
"""Users from here on have no accounts: the ranges that systemd and containers use end before."""

_SYSTEM: Final = (
    "/usr",
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/alternatives",
)
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/urandom")
_TRIAL_SECONDS: Final = 20

_ALLOW_USERS: Final = (
    "run as root, or allow user namespaces (on Ubuntu: sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0)"
)
_ALLOW_ROOT: Final = "run where root may make namespaces, which containers often forbid"
"""The next steps where bubblewrap is installed and refused."""


@dataclass(frozen=True)
class Sandbox:
    """How programs of others are started here.

    Attributes:
        bubblewrap: The program; None runs them with limits, but without a sandbox: only for
            somebody's own files.
    """

    bubblewrap: Path | None

    @property
    def is_one(self) -> bool:
        """Whether it is a sandbox, and not limits alone."""
        return self.bubblewrap is not None

    def start(
        self,
        program: Sequence[str],
        limits: Limits,
        *,
        files: Sequence[Path] = (),
        writable: Path | None = None,
        system: Sequence[Path] = (),
    ) -> subprocess.Popen[bytes]:
        """Starts a program with pipes at its standard input, output and error output.

        Args:
            program: Absolute path, and arguments. What is in `files` is called by `inside`.
            limits: What it may use.
            files: Files that it may read, by their names.
            writable: A folder in which it may write, and where it starts.
            system: More files and folders that it may read, at their own paths.
        """
        return subprocess.Popen(
            self._command(program, limits, files, writable, system),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
            start_new_session=True,
            cwd=writable or "/",
        )

    def inside(self, file: Path) -> str:
        """The path by which the program finds a file of `files`."""
        return f"{_INSIDE}/{file.name}" if self.is_one else str(file)

    def _command(
        self,
        program: Sequence[str],
        limits: Limits,
        files: Sequence[Path],
        writable: Path | None,
        system: Sequence[Path],
    ) -> list[str]:
        root = os.geteuid() == 0
        document = limits.document()
        document["user"] = _FIRST_USER + os.getpid() if self.is_one and root else None
        if not self.is_one:
            # A user's other processes would count.
            document["processes"] = None
        elif not root:
            # bubblewrap itself is one, of the same user in the same namespace.
            document["processes"] += 1
        starter = [python(), "-I", self.inside(_STARTER), json.dumps(document), *program]
        if self.bubblewrap is None:
            return starter
        return [
            str(self.bubblewrap),
            *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
            "--unshare-cgroup-try",
            # Root's starter becomes another user, for which it needs these two, and loses all.
            *(
                ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
                if root
                else ("--unshare-user", "--disable-userns")
            ),
            *("--die-with-parent", "--new-session", "--clearenv"),
            *("--setenv", "LC_ALL", "C.UTF-8", "--setenv", "PATH", "/usr/bin:/bin"),
            *("--hostname", "sandbox", "--perms", "0755", "--dir", _INSIDE),
            *_mounts([*_SYSTEM, *_python_folders(), *map(str, system)]),
            *("--perms", "0755", "--dir", "/dev"),
            *(word for device in _DEVICES for word in ("--dev-bind", device, device)),
            *(
                word
                for file in (_STARTER, *files)
                for word in ("--ro-bind", str(file), self.inside(file))
            ),
            *(("--bind", str(writable), str(writable)) if writable else ()),
            *("--remount-ro", "/"),
            *("--chdir", str(writable or "/")),
            "--",
            *starter,
        ]


def python() -> str:
    """The interpreter without the environment's packages."""
    return os.path.realpath(sys.executable)


def _python_folders() -> list[str]:
    """The folders of the interpreter and its library."""
    return [
        folder
        for folder in {sys.base_prefix, sys.base_exec_prefix, str(Path(python()).parent)}
        if not Path(folder).is_relative_to("/usr") and folder != "/"
    ]


def _mounts(paths: Sequence[str]) -> list[str]:
    """Links as links, all else to read."""
    words: list[str] = []
    for path in dict.fromkeys(paths):
        if os.path.islink(path):
            words += [*_parents(path), "--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            words += [*_parents(path), "--ro-bind", path, path]
    return words


def _parents(path: str) -> list[str]:
    """The folders above a path, which whoever the starter becomes may pass."""
    above = [str(folder) for folder in reversed(Path(path).parents)][1:]
    return [word for folder in above for word in ("--perms", "0755", "--dir", folder)]


@functools.cache
def why_not() -> str | None:
    """Why programs of others cannot be run here, and what to do; None where they can."""
    found = shutil.which("bwrap")
    if found is None:
        return "bubblewrap is not installed: apt-get install bubblewrap"
    trial = Sandbox(Path(found))
    limits = Limits(processor_seconds=5, memory=96 << 20, processes=1, file_bytes=0, open_files=16)
    with trial.start([python(), "-I", "-c", "print(7)"], limits) as process:
        try:
            output, errors = process.communicate(timeout=_TRIAL_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return (
                f"bubblewrap did not start a program within {_TRIAL_SECONDS} s: the machine may "
                "be busy, so try again"
            )
    if output != b"7\n":
        words = errors.decode(errors="replace").strip().splitlines() or ["it says nothing"]
        allow = _ALLOW_ROOT if os.geteuid() == 0 else _ALLOW_USERS
        return f"bubblewrap does not work here ({words[-1]}): {allow}"
    return None


def sandbox() -> Sandbox:
    """The sandbox for files of others.

    Raises:
        TestbedError: There is none here.
    """
    reason = why_not()
    if reason is not None:
        raise TestbedError(f"files of others are graded in a sandbox only, and {reason}")
    found = shutil.which("bwrap")
    assert found is not None
    return Sandbox(Path(found))


def own_files() -> Sandbox:
    """The sandbox, or none where there is none: for files of whoever runs this."""
    return Sandbox(None) if why_not() is not None else sandbox()
