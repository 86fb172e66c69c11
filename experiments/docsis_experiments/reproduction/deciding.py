# SPDX-License-Identifier: Apache-2.0
"""Finds the reading that decides a row of results.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from docsis_experiments.reproduction.catalogue.rule import FIRST
from docsis_experiments.reproduction.judge.verdict import Standing, Verdict
from docsis_experiments.runs.sources import StageName

STAGES: Final[tuple[StageName, ...]] = ("virtual", "mininet")
"""The stages; virtual time, which decides, is first."""

Data = dict[str, Any]
"""results.json, or a part of it."""


def is_whole(reading: Mapping[str, Any]) -> bool:
    """Whether all that a reading needs was there, and could be judged."""
    return bool(
        reading["there"] == reading["works"]
        and reading["standing"] != Standing.NONE.value
        and any(part["verdict"] != Verdict.NOT_RUN.value for part in reading["parts"])
    )


def deciding(readings: Iterable[Data]) -> Data | None:
    """The reading that decides a row, None of a row that has no first one.

    It is a first reading: one that is whole rather than another, and else in virtual time.
    """
    first = [one for one in readings if one["reading"] == FIRST]
    return min(first, key=lambda one: (not is_whole(one), STAGES.index(one["stage"])), default=None)
