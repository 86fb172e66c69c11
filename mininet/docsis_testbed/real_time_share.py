# SPDX-License-Identifier: Apache-2.0
"""How much of a second the kernel leaves to programs under SCHED_RR.

Linux stops all of them on a processor that they have had for 95% of a second, up to 50 ms long
(`kernel.sched_rt_runtime_us`, sched(7)). Two switches at 200 Mbit/s with their hosts come that far
on two processors, and a switch that stops for 20 ms makes its time jump: the run has no verdict.
With 99% the longest stop is 10 ms, and a machine on which such a program ran wild could still be
used to end it. The setting is the whole machine's, so a run puts it back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

SETTINGS: Final = Path("/proc/sys/kernel")
NAME: Final = "sched_rt_runtime_us"

_PERIOD: Final = "sched_rt_period_us"
_SHARE: Final = 0.99
_UNLIMITED: Final = -1


def wanted(settings: Path = SETTINGS) -> tuple[int, int] | None:
    """What the setting is, and what a run needs, both in microseconds.

    Args:
        settings: The folder of the kernel's settings.

    Returns:
        None where it is enough, or where this kernel has no such setting.
    """
    try:
        now = int((settings / NAME).read_text())
        needed = int(_SHARE * int((settings / _PERIOD).read_text()))
    except (OSError, ValueError):
        return None
    return None if now == _UNLIMITED or now >= needed else (now, needed)


def put(value: int, settings: Path = SETTINGS) -> bool:
    """Sets it, in microseconds; whether that was permitted: not in every container is it."""
    try:
        (settings / NAME).write_text(f"{value}\n")
    except OSError:
        return False
    return True


def put_back(before: int, settings: Path = SETTINGS) -> bool:
    """Sets it to what it was, unless somebody has set it to something else meanwhile.

    Args:
        before: In microseconds.
        settings: The folder of the kernel's settings.

    Returns:
        Whether it was changed.
    """
    try:
        now = int((settings / NAME).read_text())
        ours = int(_SHARE * int((settings / _PERIOD).read_text()))
    except (OSError, ValueError):
        return False
    return now == ours and now != before and put(before, settings=settings)
