# SPDX-License-Identifier: Apache-2.0
"""Makes what is committed of exercises in P4: the skeleton, the solution and the typical mistakes,
compiled, so that they run where p4c is missing.

    python -m docsis_labs.p4.committing [NUMBER...]

compiles what has changed with the p4c on PATH; all that the sources have no longer is removed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docsis_labs.exercise import P4, Exercise
from docsis_labs.exercises import exercises
from docsis_labs.p4.compiling import MANIFEST
from docsis_testbed.errors import TestbedError
from docsis_testbed.p4build import Compiler, find_compiler, without_machine_paths

_ENDINGS: Final = (".json", ".p4info.txtpb")


@dataclass(frozen=True)
class Source:
    """A program that is committed.

    Attributes:
        stem: Stem of the compiled files.
        path: The P4 file.
    """

    stem: str
    path: Path

    @property
    def digest(self) -> str:
        """The hash by which the program is found."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()


def sources(exercise: Exercise) -> Iterator[Source]:
    """An exercise's programs: skeleton, solution, and mistakes by their ids."""
    for file in exercise.files:
        if file.kind is not P4:
            continue
        yield Source("skeleton", exercise.path / file.name)
        yield Source("solution", exercise.path / "solution" / file.name)
        for folder in sorted((exercise.path / "mistakes").iterdir()):
            if (folder / file.name).is_file():
                yield Source(folder.name, folder / file.name)


def problems(exercise: Exercise) -> list[str]:
    """Lists what differs from the sources, a sentence each."""
    folder = exercise.path / "compiled"
    found: list[str] = []
    expected: set[str] = set()
    manifest = _manifest(folder)
    for source in sources(exercise):
        entry = manifest["programs"].get(source.digest)
        expected.add(source.digest)
        if entry is None or entry["name"] != source.stem:
            found.append(f"{source.path} has changed since it was compiled")
            continue
        for name, digest in entry["outputs_sha256"].items():
            if not (folder / name).is_file() or _digest(folder / name) != digest:
                found.append(f"{folder / name} is not what the compiler wrote")
    for digest, entry in manifest["programs"].items():
        if digest not in expected:
            found.append(f"{folder} has {entry['name']}, whose source is gone")
    return found


def make(exercise: Exercise, compiler: Compiler) -> int:
    """Compiles what has changed, and writes the manifest.

    Returns:
        How many programs were compiled.

    Raises:
        TestbedError: One does not compile.
    """
    folder = exercise.path / "compiled"
    folder.mkdir(exist_ok=True)
    known = _manifest(folder)
    old = known["programs"] if known["p4c"] == compiler.version else {}
    programs: dict[str, Any] = {}
    count = 0
    for source in sources(exercise):
        entry = old.get(source.digest)
        if entry is None or entry["name"] != source.stem or not _there(folder, entry):
            entry = _compile(source, folder, compiler)
            count += 1
        programs[source.digest] = entry
    names = {name for entry in programs.values() for name in entry["outputs_sha256"]}
    for file in folder.iterdir():
        if file.name not in names | {MANIFEST}:
            file.unlink()
    manifest = {"p4c": compiler.version, "programs": programs}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    return count


def _compile(source: Source, folder: Path, compiler: Compiler) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "out.json"
        info = Path(scratch) / "out.p4info.txt"
        # With relative names, so that no path of this machine is in the output.
        result = subprocess.run(
            [
                str(compiler.command),
                *("--arch", "v1model", "--std", "p4-16"),
                *("--p4runtime-files", str(info)),
                *("-o", str(made), source.path.name),
            ],
            cwd=source.path.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            raise TestbedError(f"{source.path}: p4c failed:\n{result.stderr.strip()}")
        code = json.loads(without_machine_paths(made.read_text(), source.stem))
        # p4c indents, which is more than half of it.
        texts = (json.dumps(code, separators=(",", ":")) + "\n", info.read_text())
    files = [folder / f"{source.stem}{ending}" for ending in _ENDINGS]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    return {"name": source.stem, "outputs_sha256": {file.name: _digest(file) for file in files}}


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _there(folder: Path, entry: dict[str, Any]) -> bool:
    return all(
        (folder / name).is_file() and _digest(folder / name) == digest
        for name, digest in entry["outputs_sha256"].items()
    )


def _manifest(folder: Path) -> dict[str, Any]:
    file = folder / MANIFEST
    if not file.is_file():
        return {"p4c": None, "programs": {}}
    manifest: dict[str, Any] = json.loads(file.read_text())
    return manifest


def main(arguments: Sequence[str] | None = None) -> None:
    """Compiles the exercises whose numbers are the arguments, or all."""
    parser = argparse.ArgumentParser(description="Compiles the programs that exercises come with.")
    parser.add_argument(
        "number", nargs="*", type=int, help="An exercise, as 3. The default is all of them."
    )
    numbers = parser.parse_args(arguments).number
    unknown = sorted(set(numbers) - set(exercises()))
    if unknown:
        parser.error(
            f"there is no exercise {', '.join(map(str, unknown))}; there are "
            f"{', '.join(map(str, sorted(exercises())))}"
        )
    compiler = find_compiler()
    if compiler is None or compiler.command.name != "p4c-bm2-ss":
        raise SystemExit("no P4 compiler: p4c-bm2-ss is not on PATH")
    chosen = set(numbers) or set(exercises())
    for number, exercise in exercises().items():
        if number in chosen and any(file.kind is P4 for file in exercise.files):
            count = make(exercise, compiler)
            print(f"exercise {number}: {count} programs compiled")


if __name__ == "__main__":
    main()
