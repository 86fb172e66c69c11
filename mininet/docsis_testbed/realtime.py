# SPDX-License-Identifier: Apache-2.0
"""Programs that must not wait for a time slice run under SCHED_RR.

A modem's transmitter and a probe's clock are hardware in reality: no compiler
run beside them delays them. A shaper that is woken some milliseconds late
cannot make up for it at a peak rate that is 25% above the sustained one, and
a probe that is woken late measures the scheduler. What runs under SCHED_RR
here sleeps between packets, so it leaves the processors to the load.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Sequence
from typing import Final

SWITCH_PRIORITY: Final = 5
PROBE_PRIORITY: Final = 4


@functools.cache
def permitted() -> bool:
    """Whether this machine lets us: not every container does."""
    try:
        trial = subprocess.run(
            ["chrt", "--rr", str(SWITCH_PRIORITY), "true"], capture_output=True, check=False
        )
    except OSError:
        return False
    return trial.returncode == 0


def real_time(command: Sequence[str], priority: int) -> list[str]:
    """The command under SCHED_RR where that is permitted, else as it is.

    Args:
        command: A program and its arguments.
        priority: 1 (low) to 99.
    """
    if not permitted():
        return list(command)
    # chrt(1) replaces itself by the command: the process id stays.
    return ["chrt", "--rr", str(priority), *command]
