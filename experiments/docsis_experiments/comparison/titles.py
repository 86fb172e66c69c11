# SPDX-License-Identifier: Apache-2.0
"""The titles of results beside each other, and what tells equal ones apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from docsis_experiments.comparison.reading import Result

_STAMP: Final = re.compile(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-")
"""Begins the name of a folder of results."""


def titles(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """A title for each, no two the same.

    Equal titles get the conditions in which the results differ; where there are none the time that
    is in the folder's name, and at last the folder's name itself.

    Args:
        results: In their order.
        names: A name for each, no two the same.
    """
    found = [result.title for result in results]
    if _distinct(found):
        return found
    differing = [
        name
        for name in dict.fromkeys(name for result in results for name in result.conditions)
        if len({result.conditions.get(name) for result in results}) > 1
    ]
    found = [
        ", ".join([title, *(result.conditions.get(name, f"no {name}") for name in differing)])
        for title, result in zip(found, results, strict=True)
    ]
    if _distinct(found):
        return found
    timed = [f"{title}, {_time(name)}" for title, name in zip(found, names, strict=True)]
    if _distinct(timed):
        return timed
    return [f"{title}, {name}" for title, name in zip(found, names, strict=True)]


def _distinct(found: Sequence[str]) -> bool:
    return len(set(found)) == len(found)


def _time(name: str) -> str:
    """When a result was made; its folder's name where that does not say it."""
    stamp = _STAMP.match(name.rsplit("/", maxsplit=1)[-1])
    if stamp is None:
        return name
    year, month, day, hour, minute, second = stamp.groups()
    return f"{year}-{month}-{day} {hour}:{minute}:{second}"
