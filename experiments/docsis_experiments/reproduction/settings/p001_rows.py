# SPDX-License-Identifier: Apache-2.0
"""Makes rows of 001: the settings that they run, and numbers formed within each seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from docsis_experiments.reproduction.settings import rows_of_settings
from docsis_experiments.reproduction.settings.p001_levels import (
    LARGEST,
    MININET_BUFFERS,
    buffers,
)
from docsis_experiments.reproduction.settings.p001_outcomes import mean_ms
from docsis_experiments.reproduction.settings.p001_readings import (
    Reading,
    propagation_ms,
    reading,
)
from docsis_experiments.reproduction.settings.p001_units import Setting, runs
from docsis_experiments.reproduction.settings.rows_of_settings import Making
from docsis_experiments.runs.outcome import Outcome


@dataclass
class Measuring(rows_of_settings.Measuring[Setting, Reading]):
    """The measurements of a row's runs; those in Mininet are of fewer buffers."""

    def buffers(self, least: int = 0, most: int = LARGEST) -> tuple[int, ...]:
        """Those that were run, within bounds that are included."""
        if self.mininet:
            return tuple(buffer for buffer in MININET_BUFFERS if least <= buffer <= most)
        return buffers(self.level, least, most)

    def latency_ms(self, outcome: Outcome, which: str = "all", round_trip_ms: float = 50) -> float:
        """Mean latency of "game", "uploads" or "all", with the propagation of the reading."""
        return mean_ms(outcome, which) + propagation_ms(self.reading, round_trip_ms)

    def added_ms(self, round_trip_ms: float = 50) -> float:
        """The time that the reading adds to a time from host to host."""
        return propagation_ms(self.reading, round_trip_ms)


row: Final = Making(Reading.FIRST, reading, runs, Measuring).row
"""Makes a row of 001; see `Making.row`."""
