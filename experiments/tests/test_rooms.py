# SPDX-License-Identifier: Apache-2.0
"""Packages that must not know each other."""

from __future__ import annotations

import subprocess
import sys

IMPORTED = """\
import importlib, pkgutil, sys
import docsis_experiments.runs.play
import docsis_experiments.stages.virtual as room
for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
    importlib.import_module(module.name)
print(*sorted(name for name in sys.modules if name.split(".")[0] == "mininet"))
print(*sorted(name for name in sys.modules if name.startswith("docsis_experiments.")))
"""


def test_virtual_time_imports_nothing_of_mininet() -> None:
    said = subprocess.run(
        [sys.executable, "-c", IMPORTED], check=True, capture_output=True, text=True, timeout=60
    ).stdout.splitlines()
    assert said[0] == ""
    assert "docsis_experiments.stages.virtual.traffic" in said[1].split()
