# SPDX-License-Identifier: Apache-2.0
"""The share of a second that the kernel leaves to programs under SCHED_RR.

Linux stops all of them on a processor that they have had for 95% of a second, up to 50 ms long
(`kernel.sched_rt_runtime_us`, sched(7)). Two switches at 200 Mbit/s with their hosts come that far
on two processors, and a switch that stops for 20 ms makes its time jump: the run has no verdict.
With 99% the longest stop is 10 ms, and a machine on which such a program ran wild could still be
used to end it.

A kernel that shares real time among control groups (CONFIG_RT_GROUP_SCHED) goes by the root group's
setting instead, which may not be more than the other. Both are the whole machine's, so a run puts
them back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SHARE: Final = 0.99
_UNLIMITED: Final = -1
_KERNEL: Final = Path("/proc/sys/kernel")
_MOUNTS: Final = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class Setting:
    """A setting of the machine.

    Attributes:
        runtime: File with the microseconds of a period that programs under SCHED_RR may have.
        period: File with the microseconds of a period.
    """

    runtime: Path
    period: Path

    def read(self) -> tuple[int, int] | None:
        """Reads the share and what a run needs, microseconds; None without such a setting."""
        try:
            return int(self.runtime.read_text()), int(_SHARE * int(self.period.read_text()))
        except (OSError, ValueError):
            return None

    def put(self, value: int) -> bool:
        """Sets it; whether that was permitted: not in every container is it."""
        try:
            self.runtime.write_text(f"{value}\n")
        except OSError:
            return False
        return True


def settings(kernel: Path = _KERNEL, mounts: Path = _MOUNTS) -> Sequence[Setting]:
    """This machine's settings, in the order in which they can be raised.

    Args:
        kernel: The folder of the kernel's settings.
        mounts: The file that lists what is mounted.
    """
    found = [Setting(kernel / "sched_rt_runtime_us", kernel / "sched_rt_period_us")]
    for line in mounts.read_text().splitlines():
        mount, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", maxsplit=2)
        if kind == "cgroup" and "cpu" in options.split(","):
            root, point = mount.split(" ")[3:5]
            if root == "/":
                group = Path(point)
                found.append(Setting(group / "cpu.rt_runtime_us", group / "cpu.rt_period_us"))
    return found


def wanted(of: Sequence[Setting]) -> dict[str, int]:
    """The values of settings that a run has to raise: microseconds, by their file."""
    before = {}
    for setting in of:
        read = setting.read()
        if read is not None and read[0] != _UNLIMITED and read[0] < read[1]:
            before[str(setting.runtime)] = read[0]
    return before


def raise_them(of: Sequence[Setting], before: Mapping[str, int]) -> None:
    """Raises those that `wanted` has named, as far as it is permitted."""
    for setting in of:
        read = setting.read()
        if read is not None and str(setting.runtime) in before:
            setting.put(read[1])


def put_back(of: Sequence[Setting], before: Mapping[str, int]) -> list[str]:
    """Sets them to what they were, but for those that somebody has set to something else meanwhile.

    Args:
        of: This machine's settings. Nothing else is written, whatever `before` names.
        before: The values that `wanted` has returned.

    Returns:
        The files of those that were changed.
    """
    done = []
    for setting in reversed(of):
        read, value = setting.read(), before.get(str(setting.runtime))
        if value is not None and read is not None and read[0] == read[1] and setting.put(value):
            done.append(str(setting.runtime))
    return done
