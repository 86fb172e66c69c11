# SPDX-License-Identifier: Apache-2.0
"""From a student's P4 file to a program: committed ones by their hash, all others with p4c."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from docsis_labs.errors import SubmissionError
from docsis_labs.exercise import Exercise
from docsis_labs.p4.compiler_words import first_error
from docsis_labs.p4.program import Program
from docsis_labs.sandbox.limits import COMPILER
from docsis_labs.sandbox.sandbox import Sandbox
from docsis_testbed.p4build import Compiler, find_compiler

MANIFEST: Final = "manifest.json"
"""In an exercise's compiled/: {"p4c": VERSION, "programs": {SHA-256 of a source: {"name": STEM,
"outputs_sha256": {FILE: SHA-256}}}}; STEM.json and STEM.p4info.txtpb are beside it."""

COMPILER_MISSING: Final = (
    "there is no p4c here. `docsis-p4 lab doctor` says how to get it; "
    "the skeleton and the solution run without."
)

_WALL_SECONDS: Final = 60.0
"""A program is too slow by processor time alone. This ends a compiler that waits for something."""
_OUT_OF_TIME: Final = (-signal.SIGXCPU, 128 + signal.SIGXCPU)
"""How a compiler ends that used up its processor time: without a sandbox, and in one."""
_LONGEST: Final = 4 << 20
"""Bytes of each of p4c's files."""


def digest(source: str) -> str:
    """The hash by which a source's program is found."""
    return hashlib.sha256(source.encode()).hexdigest()


def program(exercise: Exercise, name: str, source: str, sandbox: Sandbox) -> Program:
    """A source's program.

    Args:
        exercise: Its exercise, whose committed programs are looked at first.
        name: Name of the file.
        source: What is in it.
        sandbox: Where p4c runs.

    Raises:
        SubmissionError: It does not compile; or there is no p4c, and it is graded by hand.
    """
    found = committed(exercise.path / "compiled", name, source)
    if found is not None:
        return found
    compiler = find_compiler()
    if compiler is None:
        raise SubmissionError("no-compiler", f"{name}: {COMPILER_MISSING}", by_hand=True)
    return compiled(compiler, name, source, sandbox)


def committed(folder: Path, name: str, source: str) -> Program | None:
    """A source's program in a folder of committed ones; None where there is none."""
    entry = _manifest(folder).get(digest(source))
    if entry is None:
        return None
    stem = str(entry["name"])
    return Program(
        name, (folder / f"{stem}.json").read_bytes(), (folder / f"{stem}.p4info.txtpb").read_bytes()
    )


@functools.cache
def _manifest(folder: Path) -> dict[str, dict[str, object]]:
    file = folder / MANIFEST
    if not file.is_file():
        return {}
    programs: dict[str, dict[str, object]] = json.loads(file.read_text())["programs"]
    return programs


def compiled(
    compiler: Compiler,
    name: str,
    source: str,
    sandbox: Sandbox,
    *,
    wall_seconds: float | None = None,
) -> Program:
    """Compiles a source with p4c in the sandbox.

    Args:
        compiler: The compiler, which gets the limits of `COMPILER`.
        name: The source file's name.
        source: Its text.
        sandbox: Where p4c runs.
        wall_seconds: How long p4c may take in all; `_WALL_SECONDS` unless given.

    Raises:
        SubmissionError: It does not compile.
    """
    seconds = _WALL_SECONDS if wall_seconds is None else wall_seconds
    with tempfile.TemporaryDirectory(prefix="docsis-lab-") as made:
        folder = Path(made)
        # The compiler is somebody else in the sandbox.
        folder.chmod(0o777)
        (folder / name).write_text(source)
        (folder / name).chmod(0o644)
        arguments = [
            str(compiler.command.resolve()),
            *(("--target", "bmv2") if compiler.command.name == "p4c" else ()),
            *("--arch", "v1model", "--std", "p4-16"),
            *("--p4runtime-files", "out.p4info.txt"),
            *("-o", "." if compiler.command.name == "p4c" else "out.json"),
            name,
        ]
        process = sandbox.start(
            arguments, COMPILER, writable=folder, system=_compiler_files(compiler)
        )
        with process:
            try:
                _, errors = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                # It leads a group of its own; without a sandbox what it started is in the group.
                os.killpg(process.pid, signal.SIGKILL)
                raise SubmissionError(
                    "too-slow",
                    f"{name}: p4c did not end within {seconds:.0f} s. Either this machine is "
                    "busy or p4c waits for something: try again.",
                    by_hand=True,
                ) from None
        if process.returncode in _OUT_OF_TIME:
            raise SubmissionError(
                "too-slow",
                f"{name}: p4c took more than {COMPILER.processor_seconds} s of processor time.",
            )
        if process.returncode != 0:
            raise SubmissionError("does-not-compile", first_error(name, errors))
        made_json = folder / (f"{Path(name).stem}.json" if arguments[-2] == "." else "out.json")
        return Program(name, _output(name, made_json), _output(name, folder / "out.p4info.txt"))


def _compiler_files(compiler: Compiler) -> list[Path]:
    """The files of an installation of p4c that is not the system's.

    What is above p4c's folder may be somebody's home, so only what p4c reads is named: itself and
    the programs that it calls, its include files and driver, and shared libraries.
    """
    command = compiler.command.resolve()
    if command.is_relative_to("/usr"):
        return []
    here, prefix = command.parent, command.parent.parent
    files = [
        command,
        *(file for file in sorted(here.glob("p4c*")) if file.is_file()),
        *(here / "p4include", here / "p4c_src"),
        *(prefix / "p4include", prefix / "share" / "p4c"),
        *(file for lib in ("lib", "lib64") for file in sorted((prefix / lib).glob("lib*.so*"))),
    ]
    return [file for file in dict.fromkeys(files) if file.exists()]


def _output(name: str, file: Path) -> bytes:
    if file.is_symlink() or not file.is_file() or file.stat().st_size > _LONGEST:
        raise SubmissionError("does-not-compile", f"{name}: p4c made no program of a usable size.")
    return file.read_bytes()
