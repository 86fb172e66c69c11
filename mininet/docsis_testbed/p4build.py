# SPDX-License-Identifier: Apache-2.0
"""Compile the P4 programs, and tell whether the committed output is current.

p4src/build/ is committed, so that the project runs where p4c is not
installed. manifest.json beside the output records the compiler's version and
the SHA-256 of every source and of every output file.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import P4SRC

_TOP_FOLDERS = (".", "bench")
"""Folders of p4src/ whose .p4 files are programs; others are included by them."""

_UNKNOWN = "unknown"
_VERSION_SECONDS = 20.0
"""Time to tell a version, after which a compiler counts as one that hangs."""

_VERSION = re.compile(r"\d+\.\d+\.\d+(?:\.\d+)?")
# Declarations of v1model.p4 and core.p4 carry the path of the compiler's
# include folder, which differs from machine to machine.
_SYSTEM_INCLUDE = re.compile(r'"[^"\n]*?/(p4include/[^"\n]+\.p4)"')
_ABSOLUTE_PATH = re.compile(r'"(/[^"\n]*\.p4)"')


@dataclass(frozen=True)
class Compiler:
    """A P4 compiler with the bmv2 back end."""

    command: Path
    version: str


def find_compiler() -> Compiler | None:
    """The compiler on PATH: p4c-bm2-ss, else the driver p4c, else None."""
    for name in ("p4c-bm2-ss", "p4c"):
        path = shutil.which(name)
        if path is None:
            continue
        return Compiler(Path(path), _version(path))
    return None


def _version(command: str) -> str:
    """The version that a compiler tells; "unknown" where it tells none, or not in time."""
    try:
        result = subprocess.run(
            [command, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            check=False,
            timeout=_VERSION_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return _UNKNOWN
    match = _VERSION.search(result.stdout + result.stderr)
    return match.group() if match else _UNKNOWN


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sources(p4src: Path = P4SRC) -> list[Path]:
    """Every P4 source below p4src/, sorted, output folder excluded."""
    build = p4src / "build"
    return sorted(p for p in p4src.rglob("*.p4") if build not in p.parents)


def hashes(files: Iterable[Path], base: Path) -> dict[str, str]:
    """Map each file's path relative to `base` (with forward slashes) to its SHA-256."""
    return {p.relative_to(base).as_posix(): sha256(p) for p in files}


def programs(p4src: Path = P4SRC) -> list[str]:
    """Every program p4src/<name>.p4, compiled to <name>.json and <name>.p4info.txtpb."""
    tops = [p for folder in _TOP_FOLDERS for p in sorted((p4src / folder).glob("*.p4"))]
    return [p.relative_to(p4src).with_suffix("").as_posix() for p in tops]


def output_names(p4src: Path = P4SRC) -> list[str]:
    """File names that a compilation leaves in the build folder."""
    return [f"{program}{ext}" for program in programs(p4src) for ext in (".json", ".p4info.txtpb")]


def compile_programs(
    compiler: Compiler,
    out_dir: Path,
    p4src: Path = P4SRC,
    names: Iterable[str] | None = None,
) -> None:
    """Compile every program, or those named, into `out_dir`, which must exist.

    The compiler runs in p4src/ with relative names, so that no path of this
    machine ends up in the output.

    Raises:
        TestbedError: the compiler failed (its messages are in the error) or
            the output names an absolute path.
    """
    for program in programs(p4src) if names is None else names:
        (out_dir / program).parent.mkdir(exist_ok=True)
        # p4c tells the P4Info's format from the suffix, and older versions
        # do not know .txtpb.
        p4info = out_dir / f"{program}.p4info.txt"
        code = out_dir / f"{program}.json"
        arguments = ["--std", "p4-16", "--p4runtime-files", str(p4info), f"{program}.p4"]
        if compiler.command.name == "p4c":
            arguments = [
                *("--target", "bmv2", "--arch", "v1model"),
                *("-o", str(code.parent)),
                *arguments,
            ]
        else:
            arguments = ["--arch", "v1model", "-o", str(code), *arguments]
        result = subprocess.run(
            [str(compiler.command), *arguments],
            cwd=p4src,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            raise TestbedError(f"p4src/{program}.p4: p4c failed:\n{result.stderr.strip()}")
        if result.stderr.strip():
            print(result.stderr.strip())
        p4info.rename(out_dir / f"{program}.p4info.txtpb")
        (out_dir / f"{program}.p4i").unlink(missing_ok=True)  # the driver's preprocessed copy
        code.write_text(without_machine_paths(code.read_text(), program))


def without_machine_paths(text: str, program: str) -> str:
    """Compiled JSON without the compiler's include folder.

    Raises:
        TestbedError: another absolute path is in it.
    """
    text = _SYSTEM_INCLUDE.sub(r'"\1"', text)
    left = _ABSOLUTE_PATH.search(text)
    if left:
        raise TestbedError(
            f"p4src/{program}.p4: the compiled JSON names the absolute path {left.group(1)}; "
            "include files by relative names"
        )
    return text


def build(p4src: Path = P4SRC) -> dict[str, Any]:
    """Compile to p4src/build/ and record the manifest, which is returned.

    The build folder changes only when every program compiled.

    Raises:
        TestbedError: no compiler on PATH, or it failed.
    """
    compiler = find_compiler()
    if compiler is None:
        raise TestbedError(
            "no P4 compiler: neither p4c-bm2-ss nor p4c is on PATH; install p4c, "
            "or use the committed p4src/build/ as it is"
        )
    build_dir = p4src / "build"
    build_dir.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        compile_programs(compiler, out, p4src)
        for name in output_names(p4src):
            (build_dir / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(out / name, build_dir / name)
    manifest = {
        "p4c": compiler.version,
        "sources_sha256": hashes(sources(p4src), p4src),
        "outputs_sha256": hashes((build_dir / name for name in output_names(p4src)), build_dir),
    }
    (build_dir / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def staleness(p4src: Path = P4SRC) -> list[str]:
    """Lists what no longer matches the manifest, one sentence each; empty when all does."""
    path = p4src / "build" / "manifest.json"
    try:
        manifest = json.loads(path.read_text())
        recorded_sources: dict[str, str] = manifest["sources_sha256"]
        recorded_outputs: dict[str, str] = manifest["outputs_sha256"]
    except FileNotFoundError:
        return ["p4src/build/manifest.json is missing"]
    except (json.JSONDecodeError, KeyError, TypeError):
        return ["p4src/build/manifest.json is not a manifest"]
    found = hashes(sources(p4src), p4src)
    problems = [f"p4src/{name} is not in the manifest" for name in found.keys() - recorded_sources]
    problems += [f"p4src/{name} is gone" for name in recorded_sources.keys() - found]
    problems += [
        f"p4src/{name} changed after the last compilation"
        for name, digest in found.items()
        if name in recorded_sources and recorded_sources[name] != digest
    ]
    for name in output_names(p4src):
        output = p4src / "build" / name
        if not output.is_file():
            problems.append(f"p4src/build/{name} is missing")
        elif recorded_outputs.get(name) != sha256(output):
            problems.append(f"p4src/build/{name} is not what the compiler wrote")
    return sorted(problems)


def require_current(p4src: Path = P4SRC) -> None:
    """Refuse to go on with stale compiled P4.

    Raises:
        TestbedError: naming the first mismatch and the mending command.
    """
    problems = staleness(p4src)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise TestbedError(
            f"stale P4 build: {problems[0]}{more}; run `make p4` with p4c on PATH, "
            "or check out p4src/ again"
        )


def check(p4src: Path = P4SRC) -> str:
    """Check the manifest; with the same p4c on PATH also rebuild and compare.

    Returns:
        One sentence saying what was compared.

    Raises:
        TestbedError: something does not match.
    """
    require_current(p4src)
    recorded: str = json.loads((p4src / "build" / "manifest.json").read_text())["p4c"]
    compiler = find_compiler()
    if compiler is None:
        return f"sources and output match the manifest (p4c {recorded}; no p4c here to rebuild)"
    if compiler.version != recorded:
        return (
            f"sources and output match the manifest; not rebuilt, because the output is "
            f"from p4c {recorded} and PATH has {compiler.version}"
        )
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        compile_programs(compiler, out, p4src)
        for name in output_names(p4src):
            if sha256(out / name) != sha256(p4src / "build" / name):
                raise TestbedError(
                    f"p4src/build/{name} differs from what p4c {compiler.version} makes "
                    "of the sources; run `make p4`"
                )
    return f"sources and output match the manifest, and p4c {recorded} reproduces the output"
