# SPDX-License-Identifier: Apache-2.0
"""The inputs of a result beside those of the run: code, compiled pipeline, switch or world; in
Mininet the kernel and the programs that make traffic, too.

Results with the same digest may be put together, and one that is there need not be made again.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal

from docsis_experiments.experiment.canonical import canonical
from docsis_experiments.runs import closure, programs
from docsis_experiments.runs.file_hashes import FileHashes, hash_of
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import P4_BUILD, ROOT, switch_binary
from docsis_testbed.versions import package

StageName = Literal["mininet", "virtual"]

CHANGED: Final = (
    "a program that makes traffic, the code, the pipeline, the switch or the world was changed "
    "while runs went on; undo the change, or run this again with what is there now"
)
"""Told of a result that another version has made than the one that was asked."""

_FILES: Final = FileHashes()

_ROOTS: Final[Mapping[StageName, Callable[[], Iterable[str]]]] = {
    "virtual": lambda: ["docsis_experiments.runs.play"],
    # Its programs are processes of their own, which no import tells: whole packages count.
    "mininet": lambda: [
        "docsis_experiments.runs.outcome",
        *(
            name
            for package in (
                "docsis_control",
                "docsis_testbed",
                "docsis_experiments.stages",
                "docsis_experiments.traffic",
                "docsis_experiments.measurement",
            )
            for name in closure.modules(package)
        ),
    ],
}
"""Modules that make the outcome of a run; with all that they import, and nothing else, so that what
only judges or shows outcomes changes no key."""


def roots(stage: StageName) -> tuple[str, ...]:
    """The modules that make the outcome of a run, by their full names; all their imports count."""
    return tuple(_ROOTS[stage]())


def digest(inputs: Mapping[str, Any], stage: StageName) -> str:
    """SHA-256 over inputs and all that makes a result of them, hexadecimal.

    Files are read, so that changes in no commit count, and a switch that was not built again.

    Args:
        inputs: What is played, for JSON.
        stage: Where.

    Raises:
        TestbedError: A file cannot be read.
    """
    return hashlib.sha256(f"{canonical(inputs)}\n{canonical(parts(stage))}".encode()).hexdigest()


@functools.cache
def parts(stage: StageName) -> Mapping[str, str]:
    """The parts that make a result, by name: a hash of each, or its version.

    The same for all of a process, which runs the code that it has once loaded: `loaded_code.parts`
    sees to it that it loads no other later, `unchanged` that what it starts is no other, and
    `pipeline_unchanged` that worlds are built with no other pipeline.

    Raises:
        TestbedError: A file cannot be read.
    """
    return parts_now(stage)


@contextmanager
def unchanged(stage: StageName) -> Iterator[None]:
    """Refuses a result that is made in the block where files are not those that its key names.

    A run in Mininet starts the switch, the controller and the senders that are there at that time.

    Args:
        stage: Where it is made.

    Raises:
        TestbedError: Before the block or after it, something is not what `parts` has.
    """
    with _refused_unless(lambda: parts_now(stage) == parts(stage)):
        yield


@contextmanager
def pipeline_unchanged() -> Iterator[None]:
    """Refuses what the block makes in virtual time if the pipeline was changed.

    Every world reads the compiled pipeline anew when it is built.

    Raises:
        TestbedError: Before the block or after it, the pipeline is not what keys have.
    """
    with _refused_unless(lambda: pipeline_now() == pipeline() == parts("virtual")["pipeline"]):
        yield


@contextmanager
def switch_unchanged() -> Iterator[None]:
    """Refuses draws that are made in the block where switch or pipeline are not as they were.

    A draw starts the switch that is there at that time, which reads the pipeline.

    Raises:
        TestbedError: Before the block or after it, one is not what `switch` or `pipeline` has.
    """
    with _refused_unless(lambda: (switch_now(), pipeline_now()) == (switch(), pipeline())):
        yield


@contextmanager
def _refused_unless(same: Callable[[], bool]) -> Iterator[None]:
    _check(same())
    yield
    _check(same())


def _check(same: bool) -> None:
    if not same:
        raise TestbedError(CHANGED)


def parts_now(stage: StageName) -> Mapping[str, str]:
    """The parts that make a result, hashed from the files as they are now.

    Raises:
        TestbedError: A file cannot be read.
    """
    own = {"world": world()}
    if stage == "mininet":
        own = {"switch": switch_now(), **programs.of_every_run()}
    return {
        "code": code_now(*roots(stage)),
        "pipeline": pipeline_now(),
        **own,
        # The world computes with the C library's powers and logarithms.
        "libc": " ".join(platform.libc_ver()),
        "python": python(),
        "numpy": package("numpy"),
    }


@functools.cache
def code(*roots: str) -> str:
    """The same as `code_now`, for all of a process as it was first.

    Raises:
        TestbedError: A file cannot be read.
    """
    return code_now(*roots)


def code_now(*roots: str) -> str:
    """A hash of some modules of the project and of all that they import.

    Raises:
        TestbedError: A file cannot be read.
    """
    files = set(closure.closure(*roots).values())
    return hash_of(sorted((closure.place_in_clone(path), path) for path in files))


@functools.cache
def pipeline() -> str:
    """The same as `pipeline_now`, for all of a process as it was first.

    Raises:
        TestbedError: A file cannot be read.
    """
    return pipeline_now()


def pipeline_now() -> str:
    """A hash of the compiled P4 programs.

    Raises:
        TestbedError: A file cannot be read.
    """
    files = [path for path in P4_BUILD.rglob("*") if path.is_file()]
    return _FILES.of((path.relative_to(ROOT).as_posix(), path) for path in sorted(files))


@functools.cache
def switch() -> str:
    """The same as `switch_now`, for all of a process as it was first.

    Raises:
        TestbedError: It cannot be read.
    """
    return switch_now()


def switch_now() -> str:
    """A hash of the switch that is built; of nothing where none is, and then nothing runs.

    Raises:
        TestbedError: It cannot be read.
    """
    try:
        built = [switch_binary()]
    except TestbedError:
        built = []
    return _FILES.of((path.name, path) for path in built)


def python() -> str:
    """The version of Python without its patch level, such as "3.11".

    From 3.12 on `sum` of floats rounds in another way, which changes last digits of results.
    """
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def world() -> str:
    """A hash of what the virtual world was built of; empty where there is none.

    Worlds of the same sources play the same, on whatever machine and in whatever folder they were
    compiled: their results may be put together.
    """
    try:
        import docsis_world
    except ImportError:
        return ""
    return docsis_world.SOURCES
