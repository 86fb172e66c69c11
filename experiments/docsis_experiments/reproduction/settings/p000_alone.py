# SPDX-License-Identifier: Apache-2.0
"""Rows of 000 that have a scenario of their own: queue managers under some traffic, by seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from docsis_control.queue_managers.management import QueueManagement
from docsis_control.topology.models import Topology
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.reproduction.row import Asked, Level, Results, Run
from docsis_experiments.reproduction.settings.p000_loads import Congestion, tcp
from docsis_experiments.reproduction.settings.p000_told import value_of
from docsis_experiments.reproduction.settings.p000_units import unit

_SHORTEST: Final = 2.0
"""Seconds of a measured time at smoke."""


@dataclass(frozen=True)
class Case:
    """A run of a row, but for its seed.

    Attributes:
        label: What the row calls it.
        management: Its queue manager.
        topology: The home.
        traffic: Groups, as a scenario's file has them.
        quantities: What is measured.
        ramp_up, measured: Seconds.
        smoke: Seconds of the measured time at smoke; a twentieth unless given.
        congestion: TCP's.
        keys: More of the scenario, such as the channel.
    """

    label: str
    management: QueueManagement
    topology: Topology
    traffic: Sequence[Mapping[str, Any]]
    quantities: Sequence[Quantity]
    ramp_up: float
    measured: float
    smoke: float | None = None
    congestion: Congestion = Congestion.RENO
    keys: Mapping[str, Any] = field(default_factory=dict)

    def run(self, level: Level, seed: int) -> Run:
        """Its run of a seed, shorter at smoke."""
        ramp_up, measured = self.ramp_up, self.measured
        if level is Level.SMOKE:
            shorter = max(_SHORTEST, measured / 20) if self.smoke is None else self.smoke
            ramp_up = ramp_up * min(1.0, shorter / measured)
            measured = shorter
        return Run(
            self.label,
            unit(
                seed,
                self.label,
                self.management,
                self.topology,
                self.traffic,
                self.quantities,
                ramp_up=_seconds(ramp_up),
                measured=_seconds(measured),
                keys={**tcp(self.congestion), **self.keys},
            ),
        )

    def managed(self, label: str, management: QueueManagement) -> Case:
        """The same with another queue manager."""
        return replace(self, label=label, management=management)


def works(asked: Asked, cases: Iterable[Case]) -> Iterable[Run]:
    """The runs of all cases, those of one seed together."""
    chosen = list(cases)
    return (case.run(asked.level, seed) for seed in asked.seeds for case in chosen)


def values(
    asked: Asked,
    results: Results,
    label: str,
    metric: str,
    of: Sequence[str],
    statistic: str = "mean",
    during: tuple[float, float] | None = None,
) -> dict[int, float]:
    """The values of a quantity, by each seed that is there."""
    runs = results.runs(label)
    return {
        seed: value_of(runs[seed], metric, of, statistic, during)
        for seed in asked.seeds
        if seed in runs
    }


def _seconds(value: float) -> str:
    return f"{round(value * 1e3)} ms"
