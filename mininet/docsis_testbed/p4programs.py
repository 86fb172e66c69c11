# SPDX-License-Identifier: Apache-2.0
"""The switch's test programs: compile them, and tell whether what is committed is current.

Each <name>.p4 in the folder has p4c's <name>.json beside it, where a test needs
it <name>.p4info.txtpb, and mostly a test <name>.stf. manifest.json records the
compiler's version and the SHA-256 of all but the tests.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from docsis_testbed.errors import TestbedError
from docsis_testbed.p4build import Compiler, find_compiler, hashes, sha256, without_machine_paths
from docsis_testbed.paths import TEST_PROGRAMS

_MANIFEST = "manifest.json"


def _outputs(folder: Path, program: str) -> list[str]:
    names = [f"{program}.json"]
    p4info = f"{program}.p4info.txtpb"
    return [*names, p4info] if (folder / p4info).is_file() else names


def _programs(folder: Path) -> list[str]:
    return sorted(p.stem for p in folder.glob("*.p4"))


def _recorded(folder: Path) -> list[Path]:
    names = [n for p in _programs(folder) for n in (f"{p}.p4", *_outputs(folder, p))]
    return [folder / name for name in names]


def _compile(compiler: Compiler, folder: Path, program: str, out: Path) -> None:
    """Leave <program>.json and <program>.p4info.txtpb in `out`."""
    if compiler.command.name == "p4c":
        raise TestbedError("the test programs need p4c-bm2-ss on PATH, not only p4c")
    # p4c tells the P4Info's format from the suffix.
    p4info = out / f"{program}.p4info.txt"
    code = out / f"{program}.json"
    result = subprocess.run(
        [
            str(compiler.command),
            *("--std", "p4-16", "--arch", "v1model", "-o", str(code)),
            *("--p4runtime-files", str(p4info)),
            f"{program}.p4",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    # Without a P4Info that is asked for, what it cannot express is no failure.
    if not code.is_file() or (result.returncode != 0 and len(_outputs(folder, program)) > 1):
        raise TestbedError(f"{program}.p4: p4c failed:\n{result.stderr.strip()}")
    if p4info.is_file():
        p4info.rename(out / f"{program}.p4info.txtpb")
    code.write_text(without_machine_paths(code.read_text(), program))


def build(folder: Path = TEST_PROGRAMS) -> list[str]:
    """Compile every program and record the manifest; returns the files written.

    Raises:
        TestbedError: no compiler on PATH, or it failed; nothing has changed then.
    """
    compiler = find_compiler()
    if compiler is None:
        raise TestbedError("no P4 compiler: p4c-bm2-ss is not on PATH")
    written = []
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        for program in _programs(folder):
            _compile(compiler, folder, program, out)
        for program in _programs(folder):
            for name in _outputs(folder, program):
                shutil.copyfile(out / name, folder / name)
                written.append(name)
    manifest = {"p4c": compiler.version, "sha256": hashes(_recorded(folder), folder)}
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    return written


def staleness(folder: Path = TEST_PROGRAMS) -> list[str]:
    """Lists what does not match the manifest, one sentence each."""
    try:
        recorded: dict[str, str] = json.loads((folder / _MANIFEST).read_text())["sha256"]
    except (OSError, json.JSONDecodeError, KeyError, TypeError):
        return [f"{folder.name}/{_MANIFEST} is missing, or is no manifest"]
    there = {path.name: path for path in _recorded(folder)}
    problems = [f"{name} is not in the manifest" for name in there.keys() - recorded]
    problems += [f"{name} is gone" for name in recorded.keys() - there]
    for name, path in there.items():
        if not path.is_file():
            problems.append(f"{name} is missing")
        elif name in recorded and recorded[name] != sha256(path):
            problems.append(f"{name} changed after the last compilation")
    return sorted(problems)


def check(folder: Path = TEST_PROGRAMS) -> str:
    """Check the manifest; with the same p4c on PATH also rebuild and compare.

    Returns:
        One sentence saying what was compared.

    Raises:
        TestbedError: something does not match.
    """
    if problems := staleness(folder):
        raise TestbedError(f"stale test programs: {problems[0]}; run `make p4` with p4c on PATH")
    count = len(_programs(folder))
    recorded: str = json.loads((folder / _MANIFEST).read_text())["p4c"]
    compiler = find_compiler()
    if compiler is None or compiler.version != recorded or compiler.command.name == "p4c":
        return f"{count} test programs match the manifest (p4c-bm2-ss {recorded} is not here)"
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        for program in _programs(folder):
            _compile(compiler, folder, program, out)
            for name in _outputs(folder, program):
                if sha256(out / name) != sha256(folder / name):
                    raise TestbedError(
                        f"{name} is not what p4c {recorded} makes of {program}.p4; run `make p4`"
                    )
    return f"{count} test programs match the manifest, and p4c {recorded} reproduces them"
