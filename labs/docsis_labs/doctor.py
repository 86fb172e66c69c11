# SPDX-License-Identifier: Apache-2.0
"""Looks for everything that exercises need on this machine, and says how to get what is missing."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from docsis_labs.p4 import trial
from docsis_labs.sandbox import sandbox
from docsis_testbed.p4build import find_compiler

P4C = (
    "p4lang's official package: on Debian and Ubuntu add p4lang's repository as "
    "https://github.com/p4lang/p4c#installing-packaged-versions-of-p4c says, then apt-get install "
    "p4lang-p4c"
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for.

    Attributes:
        what: Its name.
        found: Whether it is there and works.
        text: What was found, or how to get it.
        needed_for: The exercises or commands that need it.
        in_exercises: Whether an exercise cannot be done without it.
    """

    what: str
    found: bool
    text: str
    needed_for: str
    in_exercises: bool = False


def findings() -> list[Finding]:
    """Looks for everything; p4c has to compile a trial program."""
    return [_world(), _sandbox(), _compiler(), _mininet()]


def _world() -> Finding:
    needed = "all exercises"
    try:
        from docsis_world import World
    except ImportError as error:
        return Finding("virtual time", False, f"{error}: run `make setup-virtual`", needed, True)
    if not hasattr(World, "collect"):
        words = "an old build: run `make setup-virtual`"
        return Finding("virtual time", False, words, needed, True)
    return Finding("virtual time", True, "docsis_world is built", needed, True)


def _sandbox() -> Finding:
    reason = sandbox.why_not()
    text = "programs of others are kept apart" if reason is None else reason
    if reason is not None:
        text += ". Without it only your own files are checked"
    return Finding("sandbox", reason is None, text, "lab grade")


def _compiler() -> Finding:
    compiler = find_compiler()
    needed = "exercises 3, 6, 7 and 8"
    if compiler is None:
        return Finding("p4c", False, P4C, needed, True)
    words = f"{compiler.command}, version {compiler.version}"
    reason = trial.why_not(compiler, sandbox.own_files())
    if reason is None:
        return Finding("p4c", True, f"{words}, compiles a trial program", needed, True)
    failed = f"{words}, fails with a trial program ({reason}); {P4C}"
    return Finding("p4c", False, failed, needed, True)


def _mininet() -> Finding:
    needed = "lab run --mininet, make run"
    if shutil.which("mnexec") is None:
        return Finding("Mininet", False, "run `make setup` as root", needed)
    if os.geteuid() != 0:
        how = 'installed, but it needs root: sudo env "PATH=$PATH" make run'
        return Finding("Mininet", False, how, needed)
    return Finding("Mininet", True, "installed", needed)
