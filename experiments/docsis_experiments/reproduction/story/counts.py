# SPDX-License-Identifier: Apache-2.0
"""Counts the registered results and their outcomes, so that a reader can add them up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.catalogue.rule import Kind
from docsis_experiments.reproduction.judge.verdict import Standing, Verdict

_WITHOUT_OUTCOME: Final = (Kind.DEFINITION, Kind.IRREPRODUCIBLE)
"""The kinds of results that are not judged: they have to hold, or nothing can be run."""

_OUTCOMES: Final = (
    Verdict.REPRODUCED,
    Verdict.REPRODUCED_WITHOUT_MAC,
    Verdict.CONSISTENT,
    Verdict.CONTRADICTED,
    Verdict.UNDECIDED,
)


@dataclass(frozen=True)
class Counts:
    """The counts of a results.json.

    Attributes:
        rows: Its rows, by their ids.
    """

    rows: Mapping[str, Mapping[str, Any]]

    @property
    def registered(self) -> int:
        """How many results the catalogue has."""
        return len(registered_rules())

    @property
    def definitions(self) -> int:
        """How many of them have to hold."""
        return self._of_kind(Kind.DEFINITION)

    @property
    def impossible(self) -> int:
        """How many of them cannot be reproduced."""
        return self._of_kind(Kind.IRREPRODUCIBLE)

    @property
    def judged(self) -> int:
        """How many of them get an outcome once they have run."""
        return self.registered - self.definitions - self.impossible

    @property
    def verdicts(self) -> int:
        """How many outcomes are verdicts."""
        return self._outcomes(Standing.VERDICT)

    @property
    def provisional(self) -> int:
        """How many outcomes are provisional."""
        return self._outcomes(Standing.PROVISIONAL)

    @property
    def without(self) -> int:
        """How many have no outcome yet."""
        return self.judged - self.verdicts - self.provisional

    @property
    def absent(self) -> list[str]:
        """The results of the catalogue that the results.json does not have at all."""
        return sorted(set(registered_rules()) - set(self.rows))

    def of(self, paper: str, *outcomes: str) -> int:
        """How many judged results of a paper have one of these outcomes."""
        return sum(self.rows[name]["state"] in outcomes for name in self._judged_of(paper))

    def without_of(self, paper: str) -> int:
        """How many of a paper have no outcome yet."""
        rules = registered_rules().values()
        judged = sum(rule.paper == paper and rule.kind not in _WITHOUT_OUTCOME for rule in rules)
        return judged - self.of(paper, *_OUTCOMES)

    def _judged_of(self, paper: str) -> list[str]:
        return [
            name
            for name, rule in registered_rules().items()
            if rule.paper == paper and rule.kind not in _WITHOUT_OUTCOME and name in self.rows
        ]

    def _of_kind(self, kind: Kind) -> int:
        return sum(rule.kind is kind for rule in registered_rules().values())

    def _outcomes(self, standing: Standing) -> int:
        rules = registered_rules()
        return sum(
            row["state"] in _OUTCOMES and row["standing"] == standing
            for name, row in self.rows.items()
            if name in rules and rules[name].kind not in _WITHOUT_OUTCOME
        )
