# SPDX-License-Identifier: Apache-2.0
"""What a result depends on beside its inputs: code, compiled pipeline, and the switch or the world.

Results with the same digest may be put together, and one that is there need not be made again.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from docsis_experiments.experiment.canonical import canonical
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import P4_BUILD, ROOT, switch_binary
from docsis_testbed.versions import package

StageName = Literal["mininet", "virtual"]

_CODE = (
    ROOT / "control_plane" / "docsis_control",
    ROOT / "experiments" / "docsis_experiments",
    ROOT / "mininet" / "docsis_testbed",
)


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
    """What makes a result, by what it is called: a hash of each, or its version.

    The same for all of a process, which runs the code that it has once loaded.

    Raises:
        TestbedError: A file cannot be read.
    """
    code = [path for folder in _CODE for path in folder.rglob("*.py")]
    pipeline = [path for path in P4_BUILD.rglob("*") if path.is_file()]
    return {
        "code": _hash((path.relative_to(ROOT).as_posix(), path) for path in sorted(code)),
        "pipeline": _hash((path.relative_to(ROOT).as_posix(), path) for path in sorted(pipeline)),
        "switch" if stage == "mininet" else "world": _hash(
            (path.name, path) for path in _built(stage)
        ),
        "numpy": package("numpy"),
    }


def _hash(files: Iterable[tuple[str, Path]]) -> str:
    found = hashlib.sha256()
    for name, path in files:
        _add(found, name, path)
    return found.hexdigest()


def _add(found: hashlib._Hash, name: str, path: Path) -> None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
    found.update(f"\n{name} {len(content)}\n".encode())
    found.update(content)


def _built(stage: StageName) -> Iterable[Path]:
    """What is compiled for a machine; nothing where it is not there, and then nothing runs."""
    if stage == "mininet":
        try:
            return [switch_binary()]
        except TestbedError:
            return []
    try:
        import docsis_world
    except ImportError:
        return []
    return sorted(Path(docsis_world.__file__).parent.glob("*.so"))
