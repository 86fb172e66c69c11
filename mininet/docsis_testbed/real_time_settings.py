# SPDX-License-Identifier: Apache-2.0
"""Sets how long the kernel lets programs under SCHED_RR run, and puts that back (sched(7)).

Linux stops all of them on a processor that they have had for 95% of a second, up to 50 ms long
(`kernel.sched_rt_runtime_us`). Two switches at 200 Mbit/s with their hosts come that far on two
processors, and a switch that stops for 20 ms makes its time jump: the run has no verdict. With 99%
the longest stop is 10 ms, and a machine on which such a program ran wild could still be used to end
it. A kernel that shares real time among control groups (CONFIG_RT_GROUP_SCHED) goes by the root
group's setting instead, which may not be more than the other.

Programs of one priority take turns of 100 ms (`kernel.sched_rr_timeslice_ms`). Where there are more
switches than processors, one that has much to do keeps another one waiting for so long that its
time jumps. Turns of 4 ms let five of them share a processor.

The settings are the whole machine's, so a run puts them back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SHARE: Final = 0.99
_UNLIMITED: Final = -1
_TURN_MS: Final = 4
_KERNEL: Final = Path("/proc/sys/kernel")
_MOUNTS: Final = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class Setting:
    """A setting of the machine.

    Attributes:
        file: Its file, with a number.
        needed: What a run needs instead of a number; the same one where that will do.
    """

    file: Path
    needed: Callable[[int], int]

    def read(self) -> int | None:
        """Reads the number; None without such a setting."""
        return _number(self.file)

    def put(self, value: int) -> bool:
        """Sets it; whether that was permitted: not in every container is it."""
        try:
            self.file.write_text(f"{value}\n")
        except OSError:
            return False
        return True


def share(runtime: Path, period: Path) -> Setting:
    """The share of a period that programs under SCHED_RR may have.

    Args:
        runtime: File with its microseconds.
        period: File with the microseconds of the period.
    """

    def needed(value: int) -> int:
        whole = _number(period)
        return value if whole is None or value == _UNLIMITED else max(value, int(_SHARE * whole))

    return Setting(runtime, needed)


def turn(file: Path) -> Setting:
    """The turn of one of several programs of one priority, in milliseconds."""
    return Setting(file, lambda value: min(value, _TURN_MS))


def settings(kernel: Path = _KERNEL, mounts: Path = _MOUNTS) -> Sequence[Setting]:
    """This machine's settings, in the order in which they can be changed.

    Args:
        kernel: The folder of the kernel's settings.
        mounts: The file that lists what is mounted.
    """
    found = [
        turn(kernel / "sched_rr_timeslice_ms"),
        share(kernel / "sched_rt_runtime_us", kernel / "sched_rt_period_us"),
    ]
    for line in mounts.read_text().splitlines():
        mount, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", maxsplit=2)
        if kind == "cgroup" and "cpu" in options.split(","):
            root, point = mount.split(" ")[3:5]
            if root == "/":
                group = Path(point)
                found.append(share(group / "cpu.rt_runtime_us", group / "cpu.rt_period_us"))
    return found


def unfit(of: Sequence[Setting]) -> dict[str, int]:
    """The numbers of settings that a run has to change, by their file."""
    before = {}
    for setting in of:
        value = setting.read()
        if value is not None and setting.needed(value) != value:
            before[str(setting.file)] = value
    return before


def change(of: Sequence[Setting], before: Mapping[str, int]) -> None:
    """Changes those that `unfit` has named, as far as it is permitted."""
    for setting in of:
        value = before.get(str(setting.file))
        if value is not None:
            setting.put(setting.needed(value))


def put_back(of: Sequence[Setting], before: Mapping[str, int]) -> list[str]:
    """Sets them to what they were, but for those that somebody has set to something else meanwhile.

    Args:
        of: This machine's settings. Nothing else is written, whatever `before` names.
        before: The numbers that `unfit` has returned.

    Returns:
        The files of those that were changed.
    """
    done = []
    for setting in reversed(of):
        value = before.get(str(setting.file))
        if value is not None and setting.read() == setting.needed(value) and setting.put(value):
            done.append(str(setting.file))
    return done


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
