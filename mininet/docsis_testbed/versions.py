# SPDX-License-Identifier: Apache-2.0
"""Versions of everything that a result depends on."""

from __future__ import annotations

import functools
import json
import platform
import re
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from docsis_control.project_files import INSTALLED
from docsis_testbed.paths import P4_MANIFEST, ROOT, switch_binary

UNKNOWN: Final = "unknown"
"""Stands for a version that cannot be told."""

_SECONDS: Final = 10.0
"""Longest time that a program may take to tell its version."""

_ASKS: Final[Mapping[str, str]] = {"irtt": "version"}
"""What asks a program for its version, where that is not `--version`."""

_VERSION = re.compile(r"\d+\.\d+[\w.\-+]*")


def collect(target: str) -> dict[str, str]:
    """Returns the version of each program; one that cannot be told is "unknown"."""
    versions = {
        "docsis-p4": package("docsis-p4"),
        "source": _source(),
        "p4c": p4c(),
        "iperf3": told("iperf3"),
        "irtt": told("irtt"),
        "mininet": told("mn"),
        "finsy": package("finsy"),
        "grpcio": package("grpcio"),
        "numpy": package("numpy"),
        "python": platform.python_version(),
        "kernel": platform.release(),
    }
    if target == "embedded":
        versions["docsis-switch"] = told(str(switch_binary()))
    else:
        versions["simple_switch_grpc"] = told("simple_switch_grpc")
    return versions


def program() -> str:
    """The program's name and version, with the commit where it runs from a clone."""
    version, commit = package("docsis-p4"), _source()
    return f"docsis-p4 {version}" if commit == UNKNOWN else f"docsis-p4 {version} ({commit})"


@functools.cache
def package(name: str) -> str:
    """The version of an installed Python package.

    It is looked up once: what has been imported stays as it is, and the files are slow to read.
    """
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return UNKNOWN


def told(program: str) -> str:
    """The version that a program tells.

    Args:
        program: Its name, or its path.

    Returns:
        "unknown" where it is not there, tells none, or takes longer than ten seconds.
    """
    asks = _ASKS.get(Path(program).name, "--version")
    try:
        result = subprocess.run(
            [program, asks],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return UNKNOWN
    match = _VERSION.search(result.stdout + result.stderr)
    return match.group() if match else UNKNOWN


def _source() -> str:
    # A repository around installed packages, or further up, is another project's.
    if INSTALLED or not (ROOT / ".git").exists():
        return UNKNOWN
    try:
        result = subprocess.run(
            ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
            timeout=_SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return UNKNOWN
    return result.stdout.strip() or UNKNOWN


def p4c() -> str:
    """The version of the compiler that made the committed programs."""
    try:
        version: str = json.loads(P4_MANIFEST.read_text())["p4c"]
    except (OSError, json.JSONDecodeError, KeyError):
        return UNKNOWN
    return version
