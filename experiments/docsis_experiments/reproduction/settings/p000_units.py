# SPDX-License-Identifier: Apache-2.0
"""From a home, its traffic and a queue manager to the unit of work that any process can play."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from docsis_control.queue_managers.management import QueueManagement, as_written
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.experiment.resolve import resolved
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.runs.unit import Unit

_NAME: Final = "paper-000"
"""The name of every scenario: what is told apart by a name would be run twice."""


def unit(
    seed: int,
    label: str,
    management: QueueManagement,
    topology: Topology,
    traffic: Sequence[Mapping[str, Any]],
    quantities: Iterable[Quantity],
    *,
    ramp_up: str,
    measured: str,
    keys: Mapping[str, Any],
) -> Unit:
    """A run. Rows that ask for the same one get the same unit, and it is played once.

    Args:
        seed: The seed of all that is random.
        label: What the queue manager is called.
        management: It.
        topology: The home.
        traffic: Groups, as a scenario's file has them.
        quantities: What is measured.
        ramp_up: Traffic before the measured time.
        measured: The measured time.
        keys: More of the scenario: TCP, the channel.

    Raises:
        ValueError: They do not go together.
    """
    scenario = Scenario.model_validate(
        {
            "name": _NAME,
            "title": _NAME,
            "topology": f"{_NAME}.yaml",
            "direction": "upstream",
            "ramp_up": ramp_up,
            "measured": measured,
            "runs": [{"label": label, "manager": as_written(management)}],
            "traffic": list(traffic),
            **keys,
        }
    )
    loaded = Loaded(resolved(scenario, topology), topology)
    [run] = loaded.scenario.all_runs
    return replace(Unit.of(loaded, run, seed), quantities=_keys(tuple(quantities)))


@functools.lru_cache(maxsize=256)
def _keys(quantities: tuple[Quantity, ...]) -> tuple[str, ...]:
    return tuple(sorted({quantity.key for quantity in quantities}))


def quantity(
    metric: str,
    of: Sequence[str],
    statistic: str = "mean",
    during: tuple[float, float] | None = None,
    bound_ms: float | None = None,
) -> Quantity:
    """A quantity; times are seconds of the measured time."""
    given: dict[str, Any] = {"metric": metric, "of": list(of), "statistic": statistic}
    if during is not None:
        start, end = (f"{round(second * 1e9)} ns" for second in during)
        given["during"] = {"start": start, "end": end}
    if bound_ms is not None:
        given["bound"] = f"{round(bound_ms * 1e6)} ns"
    return Quantity.model_validate(given)
