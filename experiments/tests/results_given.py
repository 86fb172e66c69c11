# SPDX-License-Identifier: Apache-2.0
"""Results of a row's works that no run has made: synthetic outcomes, for tests of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from docsis_control.state.counters import SERVICE_FLOW_COUNTERS
from docsis_experiments.measurement.reading import Reading
from docsis_experiments.reproduction.row import Asked, Computation, Draws, Row, Run
from docsis_experiments.runs.outcome import PROBABILITIES, Group, Outcome
from docsis_experiments.runs.unit import Unit


def about(value: float, rel: float | None = None, abs: float | None = None) -> Any:
    """See `pytest.approx`; it stands where a number does."""
    return pytest.approx(value, rel=rel, abs=abs)


@dataclass
class Given:
    """See `docsis_experiments.reproduction.row.Results`."""

    of_runs: dict[str, dict[int, Outcome]] = field(default_factory=dict)
    of_draws: dict[str, dict[int, Mapping[str, object]]] = field(default_factory=dict)
    of_computations: dict[str, dict[int, Mapping[str, float]]] = field(default_factory=dict)

    def runs(self, label: str) -> Mapping[int, Outcome]:
        return self.of_runs.get(label, {})

    def draws(self, label: str) -> Mapping[int, Mapping[str, object]]:
        return self.of_draws.get(label, {})

    def computed(self, label: str) -> Mapping[int, Mapping[str, float]]:
        return self.of_computations.get(label, {})


def given(
    row: Row,
    asked: Asked,
    run: Callable[[Run], Outcome] | None = None,
    draws: Callable[[Draws], Mapping[str, object]] | None = None,
    compute: Callable[[Computation], Mapping[str, float]] | None = None,
) -> Given:
    """Makes the results of a row's works, as these say."""
    found = Given()
    for work in row.works(asked):
        match work:
            case Run():
                assert run is not None
                found.of_runs.setdefault(work.label, {})[work.unit.seed] = run(work)
            case Draws():
                assert draws is not None
                found.of_draws.setdefault(work.label, {})[work.seed] = draws(work)
            case Computation():
                of = work.compute(work.seed) if compute is None else compute(work)
                found.of_computations.setdefault(work.label, {})[work.seed] = of
    return found


def outcome(
    unit: Unit,
    groups: Mapping[str, Group],
    value: Callable[[dict[str, Any]], float],
    counters: Mapping[str, int] | None = None,
) -> Outcome:
    """An outcome of a unit.

    Args:
        unit: What it is of.
        groups: By name.
        value: What each quantity is, by its keys as a file has them.
        counters: Those of the service flow that are not 0.
    """
    return Outcome(
        key="",
        run=unit.label,
        number=unit.seed,
        manager=unit.label,
        management="{}",
        buffer_ms=0.0,
        seconds=1.0,
        groups=groups,
        quantities={
            key: Reading(value(quantity.model_dump(mode="json", exclude_none=True)), "")
            for key, quantity in unit.measured.items()
        },
        counters=dict.fromkeys(SERVICE_FLOW_COUNTERS, 0) | dict(counters or {}),
        updates=0,
        missed=0,
        lateness_ms=0.0,
        valid=True,
        withheld="",
        faults=(),
        digest="",
    )


def even(low: float, high: float, *, packets: int = 1000, loss: float = 0.0) -> Group:
    """A group whose latency is even between two values."""
    table = np.quantile([low, high], PROBABILITIES)
    mean = (low + high) / 2
    return Group(
        {"packets": float(packets), "loss": loss, "latency mean": mean},
        tuple(float(value) for value in table),
    )
