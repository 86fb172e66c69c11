# SPDX-License-Identifier: Apache-2.0
"""Versions of everything that a result depends on."""

from __future__ import annotations

import json
import platform
import re
import subprocess
from collections.abc import Sequence
from importlib import metadata

from docsis_control.project_files import INSTALLED
from docsis_testbed.paths import P4_MANIFEST, ROOT, switch_binary

_VERSION = re.compile(r"\d+\.\d+[\w.\-+]*")


def collect(target: str) -> dict[str, str]:
    """Version by program. What cannot be told is "unknown"."""
    versions = {
        "docsis-p4": package("docsis-p4"),
        "source": _source(),
        "p4c": p4c(),
        "iperf3": _said(["iperf3", "--version"]),
        "irtt": _said(["irtt", "version"]),
        "mininet": _said(["mn", "--version"]),
        "finsy": package("finsy"),
        "grpcio": package("grpcio"),
        "numpy": package("numpy"),
        "python": platform.python_version(),
        "kernel": platform.release(),
    }
    if target == "embedded":
        versions["docsis-switch"] = _said([str(switch_binary()), "--version"])
    else:
        versions["simple_switch_grpc"] = _said(["simple_switch_grpc", "--version"])
    return versions


def package(name: str) -> str:
    """The version of an installed Python package."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"


def _said(command: Sequence[str]) -> str:
    try:
        result = subprocess.run(
            list(command), capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    match = _VERSION.search(result.stdout + result.stderr)
    return match.group() if match else "unknown"


def _source() -> str:
    if INSTALLED:
        # Whatever repository is around the installed packages, it is not this project's.
        return "unknown"
    try:
        result = subprocess.run(
            ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return "unknown"
    return result.stdout.strip() or "unknown"


def p4c() -> str:
    """The version of the compiler that made the committed programs."""
    try:
        version: str = json.loads(P4_MANIFEST.read_text())["p4c"]
    except (OSError, json.JSONDecodeError, KeyError):
        return "unknown"
    return version
