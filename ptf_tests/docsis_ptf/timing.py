# SPDX-License-Identifier: Apache-2.0
"""The bounds within which the wire may differ from a schedule that a switch keeps late.

design.md, "Time": everything leaves a switch at its due time, at which the buckets' inequalities
hold exactly. A frame is seen on the wire up to L later, so over a time from t1 to t2 the wire shows
at most (t2 - t1 + L) R / 8 + B, and at least what (t2 - t1 - L) is worth. L is measured in the same
run, so no tolerance stands for a busy machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from docsis_control.tm.lateness import Lateness
from docsis_ptf.sleeper import Machine

# A frame is due at a whole nanosecond, and tokens are counted in parts of a byte.
ROUNDING_NS: Final = 1_000


@dataclass(frozen=True)
class Timing:
    """How late things were while something was measured.

    Attributes:
        switch: Lateness of the frames that left the switch meanwhile; None where it does not tell.
        machine: Lateness of this machine, as a program that sleeps measured it.
    """

    switch: Lateness | None
    machine: Machine

    @property
    def late_ns(self) -> int:
        """The most by which a frame came to the wire after it was due.

        The embedded switch takes the time behind the system call that sends, so it is no estimate.
        Of another target this machine's own timers have to say it.
        """
        return self.machine.most_ns if self.switch is None else self.switch.most_ns

    @property
    def jumped_ns(self) -> int:
        """The time that the switch was too late to make up for, and earned nothing for."""
        return 0 if self.switch is None else self.switch.jumped_ns

    @property
    def early_ns(self) -> int:
        """The most by which two frames can be closer together than they were due."""
        return self.late_ns + ROUNDING_NS

    @property
    def longer_ns(self) -> int:
        """The most by which two frames can be further apart than their rates make them."""
        return self.late_ns + self.jumped_ns + ROUNDING_NS

    def __str__(self) -> str:
        if self.switch is None:
            return f"the switch does not tell how late it was; {self.machine}"
        p99, most = self.switch.quantile_ns(0.99) / 1e6, self.switch.most_ns / 1e6
        jumps = f", jumping over {self.jumped_ns / 1e6:.2f} ms" if self.switch.jumps else ""
        return (
            f"the switch was {p99:.2f} ms late at p99, {most:.2f} ms at the most{jumps};"
            f" {self.machine}"
        )
