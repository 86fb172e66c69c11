# SPDX-License-Identifier: Apache-2.0
"""Paths of the project's tree.

The testbed runs from a checkout (it needs topologies/, p4src/build/ and the
switch built from switch/), so paths hang on the root of the checkout.
"""

from __future__ import annotations

import os
from pathlib import Path

from docsis_testbed.errors import TestbedError

ROOT = Path(__file__).resolve().parents[2]
P4SRC = ROOT / "p4src"
P4_BUILD = P4SRC / "build"
P4_MANIFEST = P4_BUILD / "manifest.json"
TEST_PROGRAMS = ROOT / "switch" / "crates" / "v1model" / "tests" / "programs"
TOPOLOGIES = ROOT / "topologies"
RESULTS = ROOT / "results"
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
    else:
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "switch" / "target"))
        path = target / "release" / "docsis-switch"
    if not path.is_file():
        raise TestbedError(f"{path}: the switch is not built; run `make setup`")
    return path
