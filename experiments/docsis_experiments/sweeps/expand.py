# SPDX-License-Identifier: Apache-2.0
"""From a sweep to its points, in a fixed order. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from docsis_control.config.models import KeyedError
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.models import Run
from docsis_experiments.sweeps.axes import AXES, Condition, rate_of, scenario_with
from docsis_experiments.sweeps.models import Sweep


@dataclass(frozen=True)
class Point:
    """A place on all axes: what is played there from every seed.

    Attributes:
        manager: Name of the queue manager, or what the file calls it.
        numbers: By axis: the value as a number in the axis' unit; axes that are swept alone.
        written: The same for people.
        condition: What is played.
    """

    manager: str
    numbers: Mapping[str, float]
    written: Mapping[str, str]
    condition: Condition

    @property
    def words(self) -> str:
        """For people: the manager and the value of each axis."""
        return ", ".join([self.manager, *self.written.values()])


def count(sweep: Sweep, base: Loaded) -> int:
    """Runs of a sweep, without making them."""
    product = len(_managers(sweep, base)) * len(sweep.seeds)
    for axis in AXES.values():
        product *= max(1, len(axis.keys(sweep.axes)))
    return product


def points(sweep: Sweep, base: Loaded) -> list[Point]:
    """All points: managers innermost, then the axes from the last to the first.

    Args:
        sweep: Its file.
        base: The experiment that it names.

    Raises:
        KeyedError: A value is not possible with this experiment; the key is from the sweep's root.
    """
    return list(_points(sweep, _shortened(sweep, base)))


def _shortened(sweep: Sweep, base: Loaded) -> Condition:
    """The experiment with the sweep's times, without what is expected at other points."""
    times = {
        key: value
        for key, value in sweep.model_dump(mode="json", exclude_none=True).items()
        if key in ("ramp_up", "measured")
    }
    plain = base.scenario.model_copy(update={"expectations": ()})
    try:
        return Condition(scenario_with(plain, times), base.topology)
    except KeyedError as error:
        key = next(iter(times), "experiment") if error.key not in times else error.key
        raise KeyedError(key, f"the experiment's {error.key}: {error}") from None


def _managers(sweep: Sweep, base: Loaded) -> tuple[Run, ...]:
    return sweep.axes.managers or base.scenario.all_runs


def _points(sweep: Sweep, start: Condition) -> Iterator[Point]:
    swept = {name: axis.keys(sweep.axes) for name, axis in AXES.items()}
    swept = {name: values for name, values in swept.items() if values}
    runs = sweep.axes.managers or start.scenario.all_runs
    for chosen in itertools.product(*swept.values()):
        for run in runs:
            played = start.scenario.played(run)
            alone = played.model_copy(update={"runs": (run,), "grid": None})
            condition = Condition(alone, start.topology)
            for name, (key, value) in zip(swept, chosen, strict=True):
                try:
                    condition = AXES[name].apply(condition, value)
                except KeyedError as error:
                    what = f"{error.key}: {error}" if error.key else str(error)
                    raise KeyedError(f"axes.{key}", what) from None
            rate = rate_of(condition)
            yield Point(
                run.name,
                {
                    name: AXES[name].number(value, rate)
                    for name, (_, value) in zip(swept, chosen, strict=True)
                },
                {
                    name: AXES[name].written(value)
                    for name, (_, value) in zip(swept, chosen, strict=True)
                },
                condition,
            )
