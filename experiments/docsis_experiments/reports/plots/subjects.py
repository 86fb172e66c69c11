# SPDX-License-Identifier: Apache-2.0
"""The inputs of plots, by the kind of result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.experiment.models import Scenario
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.populations.figures import column
from docsis_experiments.reports.plots.look import STYLES, style

if TYPE_CHECKING:
    from docsis_experiments.comparison.reading import Result
    from docsis_experiments.populations.table import ResultOfTest
    from docsis_experiments.runs.outcome import Outcome

Summary = Mapping[str, Any]
"""Content of summary.json."""

_INTERACTIVE: Final = ("voip", "game")


@dataclass(frozen=True)
class Runs:
    """One run of each queue manager.

    Attributes:
        scenario: What was run.
        records: In the order in which they ran.
    """

    scenario: Scenario
    records: Sequence[RunRecord]

    def only(self, places: Sequence[int]) -> Runs:
        """Some of them, by their places."""
        return Runs(self.scenario, [self.records[place] for place in places])

    @property
    def seen(self) -> bool:
        """Whether packets were looked at: of a load of all service flows none is."""
        return any(one.sent_s.size for record in self.records for one in record.packets.values())

    @property
    def looks(self) -> list[dict[str, Any]]:
        """Colour and line of each run: of its manager as in all figures, where that tells."""
        looks = [STYLES.get(record.preset) if record.preset else None for record in self.records]
        if None in looks or len(set(looks)) < len(looks):
            return [style(index) for index in range(len(looks))]
        return [{"color": one.colour, "linestyle": one.line} for one in looks if one is not None]

    @property
    def target_ms(self) -> float | None:
        """The latency target, where all runs that have one have the same."""
        found = {one.latency_target_ms for one in self.records if one.latency_target_ms is not None}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class Repeated:
    """Runs from several seeds, or repeated in Mininet.

    Attributes:
        summary: Content of summary.json.
        outcomes: Outcomes of all runs; those that are withheld do not count.
    """

    summary: Summary
    outcomes: Sequence[Outcome]


@dataclass(frozen=True)
class Swept:
    """One experiment under many conditions.

    Attributes:
        summary: Content of summary.json.
    """

    summary: Summary


@dataclass(frozen=True)
class Populated:
    """Tests of a population.

    Attributes:
        tests: What came of them.
    """

    tests: Sequence[ResultOfTest]

    def values(self, arm: str, name: str, tier: str | None = None) -> npt.NDArray[np.float64]:
        """A value of each test that has it, by its name among `figures.VALUES`.

        Args:
            arm: Arm of the tests.
            name: Name of the value.
            tier: Only this one's subscribers; all unless given.
        """
        chosen = (one for one in self.tests if one.arm == arm and tier in (None, one.tier))
        return np.asarray(column(chosen, name), np.float64)


@dataclass(frozen=True)
class Compared:
    """Several results over each other.

    Attributes:
        summary: Content of summary.json.
        results: By the names that the summary has for them.
    """

    summary: Summary
    results: Mapping[str, Result]


def called(summary: Summary) -> dict[str, str]:
    """Names each result of a comparison: by its title, unless another has the same."""
    titles = [result["title"] for result in summary["results"]]
    distinct = len(set(titles)) == len(titles)
    return {
        result["name"]: result["title"] if distinct else result["name"]
        for result in summary["results"]
    }


def shown_groups(scenario: Scenario) -> list[str]:
    """Groups whose latency is shown: what people wait for, or else everything."""
    waited = [group.name for group in scenario.traffic if group.kind in _INTERACTIVE]
    return waited or groups_with_packets(scenario)


def groups_with_packets(scenario: Scenario) -> list[str]:
    """Groups of which packets are looked at, so that they have latency and loss."""
    return [group.name for group in scenario.traffic if Trace.PACKETS in group.leaves()]
