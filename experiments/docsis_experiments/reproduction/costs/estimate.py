# SPDX-License-Identifier: Apache-2.0
"""The costs of each row, and of all of them together. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from docsis_experiments.reproduction.costs.features import Reader
from docsis_experiments.reproduction.costs.model import Model
from docsis_experiments.reproduction.planned import Plan


@dataclass(frozen=True)
class RowCost:
    """The costs of a row, in core-seconds.

    Attributes:
        id: The row's id.
        works: How many works all of its readings need.
        alone: If it were asked for alone and nothing were there.
        shared: The part of it that other rows need, too.
        missing: What is still to be made of it.
        problem: Why its works cannot be told; "" where they can.
    """

    id: str
    works: int
    alone: float
    shared: float
    missing: float
    problem: str


@dataclass(frozen=True)
class Estimate:
    """The costs of all rows, in core-seconds.

    Attributes:
        rows: Each, in their order.
        seconds: The seconds of each work, by key.
        total: The seconds of all works; those that rows share count once.
        missing: The seconds of those that are still to be made.
    """

    rows: tuple[RowCost, ...]
    seconds: Mapping[str, float]
    total: float
    missing: float


def estimate(plan: Plan, missing: frozenset[str], model: Model) -> Estimate:
    """Estimates the costs of rows.

    Args:
        plan: What they ask for.
        missing: Keys of what is not there.
        model: What works cost.
    """
    read = Reader()
    seconds = {key: model.seconds(read.of(work)) for key, work in plan.works.items()}
    keys: dict[str, set[str]] = {}
    problems: dict[str, str] = {}
    for planned in plan.rows:
        keys.setdefault(planned.row.id, set()).update(planned.keys)
        if planned.problem:
            problems.setdefault(planned.row.id, planned.problem)
    needed: dict[str, int] = {}
    for ids in keys.values():
        for key in ids:
            needed[key] = needed.get(key, 0) + 1
    rows = tuple(
        RowCost(
            name,
            len(own),
            sum(seconds[key] for key in own),
            sum(seconds[key] for key in own if needed[key] > 1),
            sum(seconds[key] for key in own & missing),
            problems.get(name, ""),
        )
        for name, own in keys.items()
    )
    return Estimate(
        rows, seconds, sum(seconds.values()), sum(seconds[key] for key in missing & seconds.keys())
    )


def core_time(seconds: float) -> str:
    """Core-seconds for people."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
