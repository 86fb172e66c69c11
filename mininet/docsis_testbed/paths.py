# SPDX-License-Identifier: Apache-2.0
"""Paths of the testbed's files, in a clone or where pip installed them.

What runs the switch takes a clone, because switch/ is built there.
"""

from __future__ import annotations

import os
from pathlib import Path

from docsis_control import project_files
from docsis_control.project_files import INSTALLED, how_to_get
from docsis_testbed.errors import TestbedError

ROOT = project_files.ROOT
P4SRC = ROOT / "p4src"
P4_BUILD = P4SRC / "build"
P4_MANIFEST = P4_BUILD / "manifest.json"
TEST_PROGRAMS = ROOT / "switch" / "crates" / "v1model" / "tests" / "programs"
TOPOLOGIES = ROOT / "topologies"
# Installed packages are no place for results, so these go to the current folder.
RESULTS = Path("results") if INSTALLED else ROOT / "results"
# The same folder as root's controllers have (docsis_control.local_socket, which takes too long to
# import for a path); a test compares the two.
RUN_STATE = Path("/run/docsis-p4")


def switch_binary() -> Path:
    """The `docsis-switch` binary; DOCSIS_SWITCH overrides the release build.

    Raises:
        TestbedError: the binary is not there.
    """
    override = os.environ.get("DOCSIS_SWITCH")
    if override:
        path = Path(override)
    elif INSTALLED:
        raise TestbedError(
            f"there is no switch here: it is built with Rust; {how_to_get('make setup')}, or name "
            "a docsis-switch with DOCSIS_SWITCH"
        )
    else:
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "switch" / "target"))
        path = target / "release" / "docsis-switch"
    if not path.is_file():
        raise TestbedError(f"{path}: the switch is not built; {how_to_get('make setup')}")
    return path
