# SPDX-License-Identifier: Apache-2.0
"""The congestion controls that the kernel offers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from docsis_testbed.errors import TestbedError

CONGESTION_CONTROL: Final = "cubic"
"""Named at every connection: a system's default may be another one, and a kernel
may refuse to change the default of a namespace."""

AVAILABLE: Final = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def check_available(names: Iterable[str], available: Path = AVAILABLE) -> None:
    """Refuse to go on without one of them, after asking for its module.

    Raises:
        TestbedError: the kernel does not have it.
    """
    for name in sorted(names):
        if name in available.read_text().split():
            continue
        if shutil.which("modprobe"):
            subprocess.run(["modprobe", "--quiet", f"tcp_{name}"], check=False, capture_output=True)
        if name not in available.read_text().split():
            raise TestbedError(f"this kernel has no TCP congestion control {name}; load tcp_{name}")
