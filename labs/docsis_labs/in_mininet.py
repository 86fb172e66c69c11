# SPDX-License-Identifier: Apache-2.0
"""Exercises about the product itself, in Mininet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from docsis_testbed.errors import TestbedError


def run(topology: Path, management: str) -> None:
    """Builds a topology in Mininet, with its command line, until the user leaves it.

    Args:
        topology: The file.
        management: Queue management of the upstream service flows: a preset, or a file.

    Raises:
        TestbedError: It did not end well; why was printed.
    """
    command = Path(sys.executable).with_name("docsis-p4")
    arguments = ["run", "--topology", str(topology), "--aqm", management]
    status = subprocess.run([str(command), *arguments], check=False).returncode
    if status != 0:
        raise TestbedError(f"`docsis-p4 {' '.join(arguments)}` ended with status {status}")
