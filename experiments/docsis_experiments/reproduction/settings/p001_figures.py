# SPDX-License-Identifier: Apache-2.0
"""Points of 001's figures: a queue manager with a buffer, under ten uploads and the game.

Rows that look at the same figure take its points from here, and so share its runs.
"""

from __future__ import annotations

from typing import Any

from docsis_experiments.reproduction.settings.p001_collision import colliding
from docsis_experiments.reproduction.settings.p001_units import MEGABIT, Setting


def drop_tail(buffer: int, **changes: Any) -> Setting:
    """The setting of figure 2; at 1 Mbps that of figure 3."""
    return Setting("drop-tail", buffer, **changes)


def sfq(buffer: int) -> Setting:
    """The setting of figure 5: each session has a queue of its own."""
    return Setting("sfq", buffer, apart=True)


def sfq_forced(buffer: int) -> Setting:
    """The setting of figure 7: the game is in the queue of the first upload."""
    return colliding(Setting("sfq-forced", buffer))


def lred(buffer: int, **changes: Any) -> Setting:
    """The setting of figure 11."""
    return Setting("lred", buffer, **changes)


def sfq_lred(buffer: int) -> Setting:
    """The setting of figure 14."""
    return Setting("sfq-lred", buffer)


def sfq_lred_200(buffer: int) -> Setting:
    """The setting of figure 16."""
    return Setting("sfq-lred-200", buffer)


ONE_MEGABIT = MEGABIT
"""bit/s of figures 3 and 13."""
