# SPDX-License-Identifier: Apache-2.0
"""The results of a row's works, read from where they are kept when the row asks for them.

Nothing is held: a row that pools thousands of runs asks for the runs of one label at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docsis_experiments.reproduction.planned import Entry, PlannedRow
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.runs.outcome import Outcome


class KeptResults:
    """See `row.Results`."""

    def __init__(self, planned: PlannedRow, shelf: Shelf) -> None:
        """Args: the row with its works, and where what came of them is kept."""
        self._shelf = shelf
        self._entries: dict[str, list[Entry]] = {}
        for entry in planned.entries:
            self._entries.setdefault(entry.label, []).append(entry)
        self.read: set[str] = set()
        self.withheld: dict[str, str] = {}

    def runs(self, label: str) -> Mapping[int, Outcome]:
        """See `Results`; what came of runs that get no verdict is left out."""
        found: dict[int, Outcome] = {}
        for entry in self._entries.get(label, []):
            outcome = self._shelf.outcome(entry.key)
            if outcome is None:
                continue
            self.read.add(entry.key)
            if outcome.withheld:
                self.withheld[entry.key] = f"{label}, seed {entry.seed}: {outcome.withheld}"
                continue
            found[entry.seed] = outcome
        return found

    def draws(self, label: str) -> Mapping[int, Mapping[str, object]]:
        """See `Results`."""
        return self._reports(label)

    def computed(self, label: str) -> Mapping[int, Mapping[str, float]]:
        """See `Results`."""
        return self._reports(label)

    def _reports(self, label: str) -> Mapping[int, Mapping[str, Any]]:
        found: dict[int, Mapping[str, Any]] = {}
        for entry in self._entries.get(label, []):
            report = self._shelf.report(entry.key)
            if report is not None:
                self.read.add(entry.key)
                found[entry.seed] = report
        return found
