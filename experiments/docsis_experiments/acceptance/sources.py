# SPDX-License-Identifier: Apache-2.0
"""What a run depends on, as a key: runs with the same key may be put together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from docsis_experiments.acceptance.cases import Case
from docsis_experiments.stages.virtual.versions import commit
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import P4_BUILD, ROOT, switch_binary

StageName = Literal["mininet", "virtual"]

_CODE = (
    ROOT / "control_plane" / "docsis_control",
    ROOT / "experiments" / "docsis_experiments",
    ROOT / "mininet" / "docsis_testbed",
)


def key(case: Case, stage: StageName) -> str:
    """The commit, and a digest over inputs, code, compiled pipeline and switch.

    The digest is there for changes that are in no commit, and for a switch that was not built
    again.
    """
    digest = hashlib.sha256(json.dumps(case.inputs, sort_keys=True).encode())
    files = [path for folder in _CODE for path in folder.rglob("*.py")]
    files += [path for path in P4_BUILD.rglob("*") if path.is_file()]
    for path in sorted(files):
        _add(digest, path.relative_to(ROOT).as_posix(), path)
    for path in _built(stage):
        _add(digest, path.name, path)
    return f"{commit(ROOT)}-{digest.hexdigest()[:10]}"


def _add(digest: hashlib._Hash, name: str, path: Path) -> None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
    digest.update(f"\n{name} {len(content)}\n".encode())
    digest.update(content)


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
