# SPDX-License-Identifier: Apache-2.0
"""Requests of users are taken, or refused in a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from toy_rows.made import catalogue, toys

from docsis_experiments.reproduction import asking
from docsis_experiments.reproduction.request import Request
from docsis_experiments.reproduction.row import Asked, Level, Row
from docsis_testbed.errors import TestbedError


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    return toys(tmp_path_factory.mktemp("toys"))


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ((), list(catalogue())),
        (("001", "000-A1", "000-A1"), ["000-A1", "001-C1", "001-C2", "001-D1"]),
        (("000-X1", "000-B1"), ["000-B1", "000-X1"]),
    ],
)
def test_rows_and_papers(rows: dict[str, Row], names: tuple[str, ...], found: list[str]) -> None:
    assert asking.chosen(names, rows, catalogue()) == found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("001-C9", "001-C9: the catalogue has no such row or paper; the rows of 001 are 001-C1, "),
        ("004", "004: the catalogue has no such row or paper; there are the papers 000, 001 and"),
        ("001-D1", "001-D1: is in the catalogue, and nothing measures it yet"),
        ("000-X1", "000-X1: is in the catalogue, and is not reproducible: it has nothing to be"),
    ],
)
def test_what_there_is_not(rows: dict[str, Row], name: str, words: str) -> None:
    with pytest.raises(TestbedError) as refused:
        asking.chosen([name], rows, catalogue())
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("level", "reading", "seeds", "asked"),
    [
        (Level.SMOKE, 1, None, (901,)),
        (Level.STUDY, 1, None, (1, 2, 3)),
        (Level.STUDY, 1, 5, (1, 2, 3, 4, 5)),
        (Level.FULL, 1, None, (1, 2, 3)),
        (Level.FULL, 2, None, (1, 2)),
    ],
)
def test_seeds(
    rows: dict[str, Row], level: Level, reading: int, seeds: int | None, asked: tuple[int, ...]
) -> None:
    found = asking.asked(rows["000-A2"], catalogue()["000-A2"], level, reading, seeds)
    assert found == Asked(level, reading, asked)


def test_readings(rows: dict[str, Row]) -> None:
    row = rows["000-A2"]
    assert list(asking.readings(row, Level.STUDY, None)) == [1]
    assert list(asking.readings(row, Level.STUDY, 9)) == [1, 2]
    assert list(asking.readings(row, Level.FULL, None)) == [1, 2]
    assert list(asking.readings(row, Level.FULL, 1)) == [1]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(level=Level.FULL, seeds=3), "--seeds has no place at --level full"),
        (Request(level=Level.STUDY, seeds=6), "--seeds 6: a study has 3 to 5"),
        (Request(level=Level.STUDY, readings=0), "--readings 0: must be 1 at least"),
        (Request(level=Level.STUDY, stage="mininet"), "--level study has no place beside --stage"),
        (Request(level=Level.SMOKE, publish=Path("x")), "--publish has no place at --level smoke"),
    ],
)
def test_what_contradicts_itself(request_: Request, words: str) -> None:
    with pytest.raises(TestbedError, match=words):
        request_.check()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("000-A2", "000-A2: the catalogue has it in virtual time alone; in Mininet there are "),
        ("000-A1", "000-A1: its runs in Mininet are not there yet"),
    ],
)
def test_a_stage_that_cannot_do_a_row(rows: dict[str, Row], name: str, words: str) -> None:
    asking.check_stage([name], "virtual", rows, catalogue())
    with pytest.raises(TestbedError, match=words):
        asking.check_stage([name], "mininet", rows, catalogue())


def test_of_a_paper_those_rows_are_played_that_mininet_has(rows: dict[str, Row]) -> None:
    a1 = replace(rows["000-A1"], mininet=lambda asked: ())
    there = {**rows, "000-A1": a1}
    names = ["000-A1", "000-A2"]
    assert asking.playable(names, "virtual", there, catalogue()) == names
    assert asking.playable(names, "mininet", there, catalogue()) == ["000-A1"]
    with pytest.raises(TestbedError, match=r"none of 000-A2 can be played in Mininet; there are"):
        asking.playable(["000-A2"], "mininet", there, catalogue())
