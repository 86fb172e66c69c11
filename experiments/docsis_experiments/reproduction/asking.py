# SPDX-License-Identifier: Apache-2.0
"""The request as data: rows by what a user calls them, levels, seeds and readings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from docsis_experiments.reproduction.judge.row import seeds_that_count
from docsis_experiments.reproduction.row import TRIAL_SEEDS, Asked, Level, Row
from docsis_experiments.runs.sources import StageName
from docsis_testbed.errors import TestbedError

STUDY_SEEDS: Final = (3, 5)
"""Least and most at `study` (catalogue, section 13)."""

_SHOWN: Final = 12
"""Ids that a sentence bears."""


class Registered(Protocol):
    """The catalogue's numbers of runs of a row."""

    @property
    def id(self) -> str:
        """The row's id."""

    @property
    def seeds(self) -> int:
        """How many the first reading has at `full`."""

    @property
    def other_seeds(self) -> int:
        """How many others have."""

    @property
    def mininet(self) -> bool:
        """Whether it is marked with µ."""

    @property
    def mininet_runs(self) -> int:
        """How often it runs in Mininet."""


def chosen(
    names: Sequence[str], rows: Mapping[str, Row], registered: Mapping[str, Registered]
) -> list[str]:
    """Ids of the catalogue that a user means, each once, in the catalogue's order.

    Args:
        names: Papers ("001") and rows ("001-F5a"); all rows of the catalogue where there are none.
        rows: Those that can be measured.
        registered: The catalogue.

    Raises:
        TestbedError: There is no such paper or row.
    """
    if not names:
        return list(registered)
    papers = list(dict.fromkeys(name.partition("-")[0] for name in registered))
    found: set[str] = set()
    for name in names:
        if name in registered:
            if name not in rows and len(names) == 1:
                # What is asked for alone, and cannot be had, is an error; among others it is told.
                raise TestbedError(f"{name}: is in the catalogue, and {why_not(registered[name])}")
            found.add(name)
        elif name in papers:
            found |= {one for one in registered if one.startswith(f"{name}-")}
        else:
            paper = name.partition("-")[0]
            near = [one for one in registered if one.startswith(f"{paper}-")]
            known = f"the rows of {paper} are {_listed(near)}" if near else (
                f"there are the papers {', '.join(papers)} and their rows, as {_first(registered)}"
            )  # fmt: skip
            raise TestbedError(f"{name}: the catalogue has no such row or paper; {known}")
    return [name for name in registered if name in found]


def why_not(rule: object) -> str:
    """Why a row of the catalogue has nothing to be run, as the end of a sentence."""
    kind = getattr(rule, "kind", "")
    if str(kind) == "X":
        return "is not reproducible: it has nothing to be run"
    return "nothing measures it yet"


def asked(
    row: Row, rule: Registered, level: Level, reading: int, seeds: int | None = None
) -> Asked:
    """Makes the request for a row.

    Args:
        row: The row.
        rule: What the catalogue has of it.
        level: How much.
        reading: Which one.
        seeds: How many instead, of a study or an extension.
    """
    if level is Level.SMOKE:
        return Asked(level, reading, TRIAL_SEEDS[:1])
    # Where each seed is a test of its own, a study has as many as its row says.
    if level is Level.STUDY and (seeds is None or row.study_seeds > STUDY_SEEDS[1]):
        seeds = row.study_seeds
    if seeds is None:
        seeds = rule.seeds if reading == 1 else rule.other_seeds
    return Asked(level, reading, seeds_that_count(seeds))


def repetitions(rule: Registered) -> tuple[int, ...]:
    """Numbers of the runs in Mininet."""
    return seeds_that_count(rule.mininet_runs)


def readings(row: Row, level: Level, asked_for: int | None) -> range:
    """The readings that are run: the first, at `full` all, or as many as are asked for."""
    most = asked_for or (row.readings if level is Level.FULL else 1)
    return range(1, min(most, row.readings) + 1)


def check_seeds(seeds: int | None, level: Level) -> None:
    """Refuses numbers of seeds that the catalogue does not have.

    Raises:
        TestbedError: The level has another number.
    """
    if seeds is None:
        return
    low, high = STUDY_SEEDS
    if level is not Level.STUDY:
        raise TestbedError(
            f"--seeds has no place at --level {level}: the catalogue says how many there are; "
            "leave it out"
        )
    if not low <= seeds <= high:
        raise TestbedError(f"--seeds {seeds}: a study has {low} to {high}")


def playable(
    names: Sequence[str],
    stage: StageName,
    rows: Mapping[str, Row],
    registered: Mapping[str, Registered],
) -> list[str]:
    """Those of the rows that a stage can do.

    Raises:
        TestbedError: There is none.
    """
    if stage == "virtual":
        return list(names)
    found = [
        name
        for name in names
        if registered[name].mininet and name in rows and rows[name].mininet is not None
    ]
    if not found:
        raise TestbedError(
            f"none of {_listed(names)} can be played in Mininet; there are "
            f"{_listed([one for one, rule in registered.items() if rule.mininet])}"
        )
    return found


def check_stage(
    names: Iterable[str],
    stage: StageName,
    rows: Mapping[str, Row],
    registered: Mapping[str, Registered],
) -> None:
    """Refuses rows by name that a stage cannot do.

    Raises:
        TestbedError: Which, and why.
    """
    if stage == "virtual":
        return
    for name in names:
        if not registered[name].mininet:
            marked = [one for one, rule in registered.items() if rule.mininet]
            raise TestbedError(
                f"{name}: the catalogue has it in virtual time alone; in Mininet there are "
                f"{_listed(marked)}"
            )
        if name not in rows or rows[name].mininet is None:
            raise TestbedError(f"{name}: its runs in Mininet are not there yet")


def _first(registered: Mapping[str, Registered]) -> str:
    return next(iter(registered), "001-F5a")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
